#!/usr/bin/env python3
"""Bytes, rounds and error of one job of four hospitals by real daemons: plain, masked, and masked under a budget. Synthetic data,
the diabetes survey and CMS SynPUF. Prints one JSON object; needs build/bin/couplet and COUPLET_DATA.

    bench/masked_jobs.py [--couplet PROGRAM] [--only NAME] [--runs MODE ...]"""
import argparse
import json
import pathlib
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
CLIENTS = ("a", "b", "c", "d")
DATA = {"synthetic": (15, ["synthetic", "200x30x30:noise=0.05"]),
        "diabetes": (50, ["diabetes", "--count", "1000"]), "cms": (50, ["ehr"])}
RUNS = {"plain": [], "masked": ["--secure", "--policy", "off"], "mu 4": ["--secure", "--mu", "4"], "mu 1": ["--secure", "--mu", "1"]}


def run(couplet, *words):
    done = subprocess.run([couplet, *map(str, words)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"couplet {' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def federate(couplet, folder, tensors, rank, flags):
    """The coordinator's JSON of one job, and the error of its features over all patients, from the clients' own."""
    run(couplet, "provision", "--network", "star", "--coordinator", f"127.0.0.1:{free_port()}", "--clients", ",".join(CLIENTS),
        "-o", folder)
    start = [couplet, "coordinator", "--kit", folder / "coordinator", "--rank", str(rank), "--deadline", "300s", "--json", *flags]
    processes = [subprocess.Popen(start, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)]
    for name, tensor in zip(CLIENTS, tensors):
        processes.append(subprocess.Popen([couplet, "client", "--kit", folder / name, "--data", tensor, "--policy", "off", "--json"],
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    said = []
    for process in processes:
        out, err = process.communicate()
        if process.returncode != 0:
            sys.exit(f"{process.args}: {err}")
        said.append(json.loads(out))
    return said


def error_of(couplet, features, whole):
    return json.loads(run(couplet, "project", features, whole, "--json"))["rse"]


def measure(couplet, folder, name, runs):
    rank, words = DATA[name]
    run(couplet, "data", *words, "--clients", len(CLIENTS), "-o", folder / "data")
    tensors = sorted((folder / "data").glob("client_*.npy"))
    found = {}
    for mode in runs:
        place = folder / mode.replace(" ", "-")
        coordinator, *clients = federate(couplet, place, tensors, rank, RUNS[mode])
        errors = [error_of(couplet, place / "coordinator" / "features.npz", tensor) for tensor in tensors]
        found[mode] = {"bytes_total": coordinator["bytes_total"], "bytes_overhead": coordinator.get("bytes_overhead"),
                       "rounds": coordinator["rounds"], "seconds": coordinator["seconds"]["total"],
                       "rse_mean_of_clients": sum(errors) / len(errors), "ranks": coordinator["ranks"],
                       "privacy": coordinator.get("privacy")}
    return {"rank": rank, "clients": len(CLIENTS), "runs": found}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default=str(ROOT / "build/bin/couplet"))
    parser.add_argument("--only", choices=DATA, action="append")
    parser.add_argument("--runs", choices=RUNS, nargs="+", default=list(RUNS))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        result = {name: measure(options.couplet, pathlib.Path(folder) / name, name, options.runs) for name in options.only or DATA}
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
