#!/usr/bin/env python3
"""The whole federation (all client work, merge and refit, K = 4, one process) beside a plain NumPy version of the same
algorithm, on the same files in one run. The real data sets need COUPLET_DATA; what is missing is said and left out.

Both read the files first and then run again and again in one process; medians count. "first" is what a single run of the
simulate verb reports as its total. Couplet's messages are quantised and coded, which NumPy's version does not do: "plain" is
couplet with messages of 64-bit numbers (--precision f64). NumPy runs with one thread and with all, as OpenBLAS configures itself and with the kernel
family couplet asks for; its best median counts.
"""
import argparse
import glob
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

from keep import keep_samples

CLIENTS = 4
CASES = [("synthetic 200x30x30", 20, ["synthetic", "200x30x30"]),
         ("diabetes 1000x20x24", 50, ["diabetes", "--count", "1000"]),
         ("ECG 1000x110x140", 100, ["ecg", "--count", "1000"])]


def cut(s, tail, cap):
    """Smallest rank whose discarded tail is within `tail`, at most `cap`, at least 1."""
    import numpy
    tails = numpy.sqrt(numpy.cumsum((s ** 2)[::-1]))[::-1]
    return max(1, min(cap, int((tails > tail).sum())))


def tensor_train(rows, features, delta):
    """Cores of rows (R x P) over the feature modes, cutting `delta` at every bond."""
    import numpy
    cores, rank, rest = [], rows.shape[0], rows
    for size in features[:-1]:
        u, s, vt = numpy.linalg.svd(rest.reshape(rank * size, -1), full_matrices=False)
        kept = cut(s, delta, len(s))
        cores.append(u[:, :kept].reshape(rank, size, kept))
        rest, rank = s[:kept, None] * vt[:kept], kept
    cores.append(rest.reshape(rank, features[-1], 1))
    return cores


def expand(cores):
    import numpy
    full = cores[-1].reshape(cores[-1].shape[0], -1)
    for core in cores[-2::-1]:
        full = (core.reshape(-1, core.shape[2]) @ full).reshape(core.shape[0], -1)
    return full


def federation(clients, rank, eps=0.01):
    """Two rounds: cores of U_k^T X_k up, shared cores down, refit. Returns the RSE."""
    import numpy
    features = clients[0].shape[1:]
    order = len(features) + 1
    uploads = []
    for x in clients:
        flat = x.reshape(x.shape[0], -1)
        u, s, vt = numpy.linalg.svd(flat, full_matrices=False)
        delta = eps / math.sqrt(order - 1) * numpy.linalg.norm(s)
        kept = cut(s, delta, rank)
        uploads.append(tensor_train(s[:kept, None] * vt[:kept], features, delta))
    stacked = numpy.concatenate([expand(cores) for cores in uploads])
    _, s, vt = numpy.linalg.svd(stacked, full_matrices=False)
    w = s[:rank, None] * vt[:rank]
    shared = expand(tensor_train(w, features, eps / math.sqrt(order - 2) * numpy.linalg.norm(w)))
    q, _ = numpy.linalg.qr(shared.T)
    error = norm = 0.0
    for x in clients:
        flat = x.reshape(x.shape[0], -1)
        personal = flat @ q
        norm += float((flat ** 2).sum())
        error += float((flat ** 2).sum()) - float((personal ** 2).sum())
    return error / norm


def worker(folder, rank, seconds):
    import numpy
    clients = [numpy.load(f"{folder}/client_{k}.npy") for k in range(1, CLIENTS + 1)]
    samples, start = [], time.perf_counter()
    while not samples or (time.perf_counter() - start < seconds and len(samples) < 31):
        before = time.perf_counter()
        rse = federation(clients, rank)
        samples.append(time.perf_counter() - before)
    print(json.dumps({"samples": samples, "rse": rse}))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line to measure")
    parser.add_argument("--machine", default="build/release/bench/bin/machine", help="the program that measures this machine")
    parser.add_argument("--federation", default="build/release/bench/bin/federation", help="the program that repeats in one process")
    parser.add_argument("--python", default=sys.executable, help="the Python that has NumPy")
    parser.add_argument("--output", default="build/bench/results/federation.json", help="where every sample goes")
    parser.add_argument("--worker", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return worker(options.worker[0], int(options.worker[1]), float(options.worker[2]))
    cores = len(os.sched_getaffinity(0))
    core_type = json.loads(subprocess.run([options.machine], capture_output=True, text=True, check=True).stdout)["blas_core"]
    report = {"cores": cores, "cases": []}
    print(f"{cores} cores, K = {CLIENTS}; milliseconds, medians")
    print(f"{'case':>22} {'R1':>4} {'couplet':>9} {'first':>9} {'plain':>9} {'numpy':>9} {'x':>6} {'plain x':>7} {'RSE':>10} {'numpy RSE':>10}  numpy threads, kernels")
    for name, rank, recipe in CASES:
        with tempfile.TemporaryDirectory(prefix="couplet-bench-") as folder:
            made = subprocess.run([options.couplet, "data", *recipe, "--clients", str(CLIENTS), "-o", folder, "--force"],
                                  capture_output=True, text=True, check=False)
            if made.returncode != 0:
                print(f"{name:>22}  left out: {made.stderr.strip()}")
                continue
            files = sorted(glob.glob(f"{folder}/client_*.npy"))
            runs = [json.loads(subprocess.run([options.couplet, "simulate", *files, "--rank", str(rank), "--json"],
                                              capture_output=True, text=True, check=True).stdout) for _ in range(9)]
            first = statistics.median(run["seconds"]["total"] for run in runs)
            repeated = json.loads(subprocess.run([options.federation, str(rank), "2", *files], capture_output=True,
                                                 text=True, check=True).stdout)
            ours = statistics.median(repeated["samples"])
            plain = json.loads(subprocess.run([options.federation, "--plain", str(rank), "2", *files], capture_output=True,
                                              text=True, check=True).stdout)
            uncoded = statistics.median(plain["samples"])
            peers = {}
            for core in ("as configured", core_type):
                for threads in sorted({1, cores}):
                    environment = {**os.environ, "OPENBLAS_NUM_THREADS": str(threads)}
                    if core != "as configured":
                        environment["OPENBLAS_CORETYPE"] = core
                    done = subprocess.run([options.python, __file__, "--worker", folder, str(rank), "2"],
                                          env=environment, capture_output=True, text=True, check=True)
                    peers[(threads, core)] = json.loads(done.stdout)
            best = min(peers, key=lambda key: statistics.median(peers[key]["samples"]))
            theirs = statistics.median(peers[best]["samples"])
            print(f"{name:>22} {rank:>4} {ours * 1e3:9.2f} {first * 1e3:9.2f} {uncoded * 1e3:9.2f} {theirs * 1e3:9.1f} {theirs / ours:6.1f} {theirs / uncoded:7.1f} {runs[0]['rse']:10.3e} "
                  f"{peers[best]['rse']:10.3e}  {best[0]}, {best[1]}", flush=True)
            report["cases"].append({"name": name, "rank": rank, "couplet": repeated, "plain": plain, "first_runs": runs,
                                    "numpy": [{"threads": key[0], "core": key[1], **value} for key, value in peers.items()]})
    keep_samples(options.output, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
