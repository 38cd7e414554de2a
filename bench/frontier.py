#!/usr/bin/env python3
"""Error against bytes: is a method that trains ever ahead of Couplet? ECG, diabetes, synthetic data of order 3 and 4, CMS
health records; K = 4. Every method is run with each of the twelve tunings of its grid at each rank (couplet tune), and all
points of all their traces count, not only those of the best tuning. With --tune-on N the tunings are tried on N patients
only, and the best of them is run on all. A point is behind Couplet when a run of
`couplet simulate --bytes-total` has no more bytes and a smaller error. Whatever a point of another method is behind of
settles it too, so Couplet is run at the bytes of the points that no other method is ahead of.

The real data sets need COUPLET_DATA; what is missing is said and left out. Points below --least bytes are not looked at.
Every point goes to --output; the exit code is 0 also when some are ahead: they are an answer.
"""
import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

CLIENTS = 4
CASES = {"synthetic3": ["synthetic", "200x30x30"], "synthetic4": ["synthetic", "200x20x20x20"],
         "diabetes": ["diabetes", "--count", "1000"], "cms": ["ehr"], "ecg": ["ecg", "--count", "1000"],
         "small": ["synthetic", "120x15x14:rank=8"]}
SHOWN_PER_DECADE = 3
NOT_TUNED = {"clip", "noise"}  # for privacy; no grid has them


def couplet(options, arguments):
    done = subprocess.run([options.couplet, *arguments, "--json", "--quiet"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"couplet {' '.join(arguments)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def make_data(options, name, folder, count=None):
    """The clients' files; None, and what is missing is said, where there is no data."""
    recipe = list(CASES[name])
    if count and "--count" in recipe:
        recipe[recipe.index("--count") + 1] = str(count)
    made = subprocess.run([options.couplet, "data", *recipe, "--clients", str(CLIENTS), "-o", folder, "--force",
                           "--seed", str(options.seed)], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        print(f"\n{name}: left out: {made.stderr.strip()}")
        return None
    return sorted(glob.glob(f"{folder}/client_*.npy"))


def tune(options, files, rank, rounds):
    return couplet(options, ["tune", *files, "--rank", str(rank), "--rounds", str(rounds), "--cache", options.cache,
                             "--seed", str(options.seed)])["results"]


def run_tuned(options, files, rank, result):
    """A method on all patients with the best tuning of some of them, as a trial of couplet tune."""
    flags = [word for key, value in result["tuning"].items() if key not in NOT_TUNED for word in (f"--{key}", str(value))]
    done = couplet(options, ["simulate", *files, "--method", result["method"], "--rank", str(rank), "--rounds",
                             str(options.rounds), "--tolerance", "0", "--seed", str(options.seed), *flags])
    return {"tuning": done["tuning"], "rse": done["rse"], "rounds": done["rounds"], "bytes": done["bytes_total"],
            "seconds": done["seconds"]["total"], "trace": done["trace"]}


def trained_points(options, files, some, rank):
    """Every point of every trace, and the last one once more with the final fit, which costs no bytes."""
    if some:
        results = tune(options, some, rank, options.tune_rounds)
        for result in results:
            result["trials"], result["best"] = [run_tuned(options, files, rank, result)], 0
    else:
        results = tune(options, files, rank, options.rounds)
    points = []
    for result in results:
        for number, trial in enumerate(result["trials"]):
            if trial["rse"] is None:
                continue
            steps = [(p["round"], p["bytes"], p["rse"], p["seconds"]) for p in trial["trace"]]
            steps.append((trial["rounds"], trial["bytes"], trial["rse"], trial["seconds"]))
            points += [{"method": result["method"], "rank": rank, "trial": number, "best": number == result["best"],
                        "tuning": trial["tuning"], "round": r, "bytes": b, "rse": e, "seconds": s}
                       for r, b, e, s in steps if b >= options.least]
    return points


def lower_left(points):
    """Those that no other is ahead of, by bytes."""
    left = []
    for p in sorted(points, key=lambda p: (p["bytes"], p["rse"])):
        if not left or p["rse"] < left[-1]["rse"]:
            left.append(p)
    return left


def ours_at(options, files, budget):
    done = couplet(options, ["simulate", *files, "--bytes-total", str(int(budget)), "--seed", str(options.seed)])
    if done["bytes_total"] > budget:
        raise RuntimeError(f"{done['bytes_total']} bytes sent with a budget of {budget}")
    return {"bytes": done["bytes_total"], "rse": done["rse"], "bound": done["rel_error_bound"],
            "ranks": done["ranks"], "budget": budget}


def compare(options, files, points):
    """Couplet's runs at the bytes of the best points of others, and the points that it is not ahead of."""
    ours, ahead = [], []
    for p in lower_left(points):
        run = ours_at(options, files, p["bytes"])
        ours.append(run)
        if not any(o["bytes"] <= p["bytes"] and o["rse"] < p["rse"] for o in ours):
            ahead.append(dict(p, ours=run["rse"]))
    return ours, ahead


def some_of(frontier):
    """A few points of each decade of bytes, for the table."""
    shown, last = [], 0
    for p in frontier:
        if p["bytes"] >= last * 10 ** (1 / SHOWN_PER_DECADE) or p is frontier[-1]:
            shown.append(p)
            last = p["bytes"]
    return shown


def kilobytes(count):
    return f"{count / 1000:,.1f}" if count < 100_000 else f"{count / 1000:,.0f}"


def least(points, budget):
    return min((p["rse"] for p in points if p["bytes"] <= budget), default=None)


def print_case(case, points, ours):
    methods = sorted({p["method"] for p in points})
    print(f"\n### {case['name']}\n\n| kB in all | Couplet | " + " | ".join(methods) + " |")
    print("|---" * (len(methods) + 2) + "|")
    for p in some_of(lower_left(points)):
        cells = [least([q for q in points if q["method"] == m], p["bytes"]) for m in methods]
        print(f"| {kilobytes(p['bytes'])} | {least(ours, p['bytes']):.3g} | " +
              " | ".join("" if c is None else f"{c:.3g}" for c in cells) + " |")
    print(f"\n{len(points)} points of others, {len(case['ahead'])} ahead of Couplet", flush=True)
    for p in case["ahead"]:
        print(f"- {p['method']} at rank {p['rank']}, round {p['round']}: {p['rse']:.4g} with {p['bytes']:,.0f} bytes, "
              f"Couplet {p['ours']:.4g}; {p['tuning']}", flush=True)


def run_case(options, name, folder):
    files = make_data(options, name, f"{folder}/all")
    if files is None:
        return None
    some = make_data(options, name, f"{folder}/some", options.tune_on) if options.tune_on else None
    points = [p for rank in options.ranks for p in trained_points(options, files, some, rank)]
    ours, ahead = compare(options, files, points)
    case = {"name": name, "rounds": options.rounds, "ranks": options.ranks, "ahead": ahead, "ours": ours,
            "points": points}
    print_case(case, points, ours)
    return case


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line to measure")
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=[c for c in CASES if c != "small"])
    parser.add_argument("--ranks", nargs="+", type=int, default=[10, 20, 50], help="CP ranks of the others")
    parser.add_argument("--rounds", type=int, default=100, help="exchanges of a run")
    parser.add_argument("--tune-on", type=int, help="patients to try the tunings on (diabetes, ECG)")
    parser.add_argument("--tune-rounds", type=int, default=15, help="exchanges of those trials")
    parser.add_argument("--least", type=float, default=2000, help="bytes below which nothing is compared")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cache", default="build/bench/results/tuning.json", help="where the best tunings are kept")
    parser.add_argument("--output", default="build/bench/results/frontier.json", help="where every point goes")
    options = parser.parse_args()
    for path in (options.cache, options.output):
        pathlib.Path(path).parent.mkdir(parents=True, exist_ok=True)
    print(f"{len(os.sched_getaffinity(0))} cores, K = {CLIENTS}, CP ranks {options.ranks}, {options.rounds} rounds")
    report = []
    for name in options.cases:
        with tempfile.TemporaryDirectory(prefix="couplet-frontier-") as folder:
            case = run_case(options, name, folder)
        if case:
            report.append(case)
        pathlib.Path(options.output).write_text(json.dumps(report))
    print(f"\nevery point: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
