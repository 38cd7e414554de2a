#!/usr/bin/env python3
"""How time grows: with the order of a tensor, the size of its modes, the rank, the clients of a federation, and the threads;
and memory with size. Tensors have slowly decaying spectra.

Each curve changes one thing and keeps the others. "over floor" is the time over what reading and multiplying alone would take
(bench/engine.cpp); where it stays flat, time grows as the work does. Threads are limited by the set of processors a process may
use, so that the floor of one thread is that of one processor.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import json

from keep import keep_samples
from tensors import engine_result, make_tensor
from tt_svd import peak_bytes

ELEMENTS = 20  # 2^20 of them where the order changes
ORDERS = (2, 4, 5, 10, 20)
SIZES = (16, 32, 64, 128, 256, 400)
RANKS = (1, 2, 5, 10, 20, 50, 100)
CLIENTS = (1, 2, 4, 8, 16, 32, 64)
RANK = 10


def name_of(shape):
    return f"{shape[0]}^{len(shape)}" if len(set(shape)) == 1 and len(shape) > 3 else "x".join(map(str, shape))


def decomposed(options, shape, rank, cores=None):
    """Milliseconds of one tensor, over the floor, and the peak memory over the tensor's size."""
    with tempfile.TemporaryDirectory(prefix="couplet-bench-") as folder:
        path = os.path.join(folder, "x.npy")
        make_tensor(path, shape, "<f8", "slow")
        everywhere = os.sched_getaffinity(0)
        if cores:
            os.sched_setaffinity(0, set(sorted(everywhere)[:cores]))
        try:
            found = engine_result(options.engine, path, rank, options.seconds)
            size = os.path.getsize(path) - 128
            peak = peak_bytes(options.couplet, path, rank)
        finally:
            os.sched_setaffinity(0, everywhere)
        seconds = statistics.median(found["samples"])
        return {"shape": name_of(shape), "rank": rank, "milliseconds": 1e3 * seconds, "over_floor": seconds / found["floor_seconds"],
                "bytes": size, "peak_bytes": peak, "samples": found["samples"]}


def federated(options, clients):
    """Milliseconds of a federation of so many clients of 100x30x30 in one process."""
    with tempfile.TemporaryDirectory(prefix="couplet-bench-") as folder:
        subprocess.run([options.couplet, "data", "synthetic", f"{100 * clients}x30x30", "--clients", str(clients), "-o", folder,
                        "--force", "--quiet"], check=True, capture_output=True)
        files = [os.path.join(folder, f"client_{k}.npy") for k in range(1, clients + 1)]
        found = json.loads(subprocess.run([options.federation, str(RANK), str(options.seconds), *files], capture_output=True,
                                          text=True, check=True).stdout)
        milliseconds = 1e3 * statistics.median(found["samples"])
        return {"clients": clients, "milliseconds": milliseconds, "per_client": milliseconds / clients, "samples": found["samples"]}


def curves(options):
    """Name, what changes along it, and its points."""
    yield "order", "order", [{"x": order, **decomposed(options, (2 ** (ELEMENTS // order),) * order, RANK)} for order in ORDERS]
    yield "mode size", "size of each of three modes", [{"x": size, **decomposed(options, (size,) * 3, RANK)} for size in SIZES]
    yield "rank", "rank", [{"x": rank, **decomposed(options, (200, 100, 100), rank)} for rank in RANKS]
    yield "clients", "clients", [{"x": clients, **federated(options, clients)} for clients in CLIENTS]
    cores = len(os.sched_getaffinity(0))
    yield "threads", "threads", [{"x": count, **decomposed(options, (200, 300, 300), 50, count)} for count in range(1, cores + 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line, for peak memory and data")
    parser.add_argument("--engine", default="build/release/bench/bin/engine", help="the program that repeats a decomposition")
    parser.add_argument("--federation", default="build/release/bench/bin/federation", help="the program that repeats a federation")
    parser.add_argument("--output", default="build/bench/results/scaling.json", help="where every sample goes")
    parser.add_argument("--seconds", type=float, default=1.0, help="spent on each point, at least")
    options = parser.parse_args()
    report = {"cores": len(os.sched_getaffinity(0)), "curves": []}
    print(f"{report['cores']} cores; milliseconds, medians")
    for name, axis, points in curves(options):
        report["curves"].append({"name": name, "axis": axis, "points": points})
        for point in points:
            what = (f"{point['shape']:>12} rank {point['rank']:>3} {point['over_floor']:6.2f} over floor, peak "
                    f"{point['peak_bytes'] / 1e6:6.0f} MB for {point['bytes'] / 1e6:.1f} MB" if "shape" in point
                    else f"100x30x30 each, {point['per_client']:.3f} ms a client")
            print(f"{name:>10} {point['x']:>4} {point['milliseconds']:10.3f}  {what}", flush=True)
    keep_samples(options.output, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
