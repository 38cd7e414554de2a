#!/usr/bin/env python3
"""Error against bytes and against seconds: every method at its best tuning, on ECG, diabetes, synthetic data of order 3
and 4, and CMS health records, K = 4. Tunes first (couplet tune, the same budget for all), then runs every method at
several round budgets and ctt at several ranks, and names the points that no point of ctt dominates. The real data sets
need COUPLET_DATA; what is missing is said and left out.

A point dominates another when it is at least as good in both coordinates and better in one. Bytes are exact; seconds are
those of one process on this machine (median of several runs), where messages cost nothing.
"""
import argparse
import glob
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

CLIENTS = 4
RANK = 20
ROUNDING = 1e-12  # errors below are equal
SAME = 1.001      # and so are those within this factor
CASES = {"synthetic3": ["synthetic", "200x30x30"], "synthetic4": ["synthetic", "200x20x20x20"],
         "diabetes": ["diabetes", "--count", "1000"], "cms": ["ehr"], "ecg": ["ecg", "--count", "1000"]}
OURS = [["--rank", "5"], ["--rank", "10"], ["--rank", "20"], ["--rank", "40"],
        ["--rank", "5", "--eps1", "0.1", "--eps2", "0.1"], ["--rank", "10", "--eps1", "0.1", "--eps2", "0.1"],
        ["--rank", "20", "--eps1", "0.1", "--eps2", "0.1"], ["--rank", "40", "--eps1", "0.1", "--eps2", "0.1"],
        ["--eps", "0.5"], ["--eps", "0.7"]]


def couplet(binary, arguments):
    done = subprocess.run([binary, *arguments, "--json", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"couplet {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def point(options, name, files, arguments):
    runs = [couplet(options.couplet, ["simulate", *files, *arguments]) for _ in range(options.repeat)]
    return {"name": name, "rse": runs[0]["rse"], "bytes": runs[0]["bytes_up"] + runs[0]["bytes_down"],
            "seconds": statistics.median(run["seconds"]["total"] for run in runs), "rounds": runs[0]["rounds"],
            "tuning": runs[0].get("tuning")}


def dominated(candidate, others, cost):
    def error(p):
        return max(p["rse"], ROUNDING)
    return any(error(o) <= SAME * error(candidate) and o[cost] <= candidate[cost] and
               (error(o) < error(candidate) or o[cost] < candidate[cost]) for o in others)


def marks(p, ours):
    """Whether ctt beats it at the bytes and at the seconds; local shares nothing, so that it is no competitor."""
    if p in ours or p["name"] == "local":
        return ["", ""]
    return ["yes" if dominated(p, ours, cost) else "**no**" for cost in ("bytes", "seconds")]


def run_case(options, name, recipe, folder):
    made = subprocess.run([options.couplet, "data", *recipe, "--clients", str(CLIENTS), "-o", folder, "--force"],
                          capture_output=True, text=True, check=False)
    if made.returncode != 0:
        print(f"\n{name}: left out: {made.stderr.strip()}")
        return None
    files = sorted(glob.glob(f"{folder}/client_*.npy"))
    tuned = couplet(options.couplet, ["tune", *files, "--rank", str(RANK), "--rounds", str(options.rounds),
                                      "--cache", options.cache])
    ours = [point(options, "ctt " + " ".join(a).replace("--", ""), files, a) for a in OURS]
    points = [point(options, m, files, ["--method", m, "--rank", str(RANK)])
              for m in ("centralized", "local", "fedsvd")]
    budgets = sorted({max(1, options.rounds // part) for part in (10, 3, 1)})
    for result in tuned["results"]:
        method = result["method"]
        points += [point(options, f"{method}, {rounds} rounds", files,
                         ["--method", method, "--rank", str(RANK), "--tuned", "--cache", options.cache, "--rounds",
                          str(rounds), "--tolerance", "0"]) for rounds in budgets]
    print(f"\n### {name}\n\n| method | RSE | bytes | seconds | rounds | beaten by ctt: bytes | seconds |")
    print("|---|---|---|---|---|---|---|")
    for p in ours + points:
        by_bytes, by_seconds = marks(p, ours)
        print(f"| {p['name']} | {p['rse']:.4g} | {p['bytes']:,.0f} | {p['seconds']:.3f} | {p['rounds']} | {by_bytes} | "
              f"{by_seconds} |", flush=True)
    for result in tuned["results"]:
        print(f"\n{result['method']}: " + ", ".join(f"{k} {v:g}" for k, v in result["tuning"].items()), end="")
    print(flush=True)
    return {"name": name, "ctt": ours, "others": points, "tuning": tuned["results"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line to measure")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--rounds", type=int, default=50, help="exchanges of a trial and of the longest run")
    parser.add_argument("--repeat", type=int, default=3, help="runs of a point, for the median of its seconds")
    parser.add_argument("--cache", default="build/bench/results/tuning.json", help="where the tunings are kept")
    parser.add_argument("--output", default="build/bench/results/pareto.json", help="where every point goes")
    options = parser.parse_args()
    for path in (options.cache, options.output):
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    print(f"{len(os.sched_getaffinity(0))} cores, K = {CLIENTS}, CP rank {RANK}, up to {options.rounds} rounds")
    report = []
    for name in options.cases:
        with tempfile.TemporaryDirectory(prefix="couplet-pareto-") as folder:
            case = run_case(options, name, CASES[name], folder)
            if case:
                report.append(case)
        pathlib.Path(options.output).write_text(json.dumps(report, indent=1))
    print(f"\nevery point: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
