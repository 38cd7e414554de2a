#!/usr/bin/env python3
"""TT-SVD through Python: couplet.decompose side by side with TensorLy's tensor_train, in one process, on the same arrays.

Runs in an environment that has the wheel, NumPy and TensorLy (scripts/test-python makes build/python/venv). Samples of both
alternate, with a pause between them: OpenBLAS's threads go on looking for work for a tenth of a second after a call, on the cores
of whoever comes next. TensorLy computes with PyPI's NumPy at its better thread count. After the table: what a call through Python
costs beyond the C++ call, the median of many calls here against that of `couplet decompose --repeat` of the same wheel; and what
couplet's BLAS and NumPy's and SciPy's cost each other in one process, without pauses: couplet right after calls of both, NumPy's
product after couplet, and for comparison NumPy's SVD right after a call of SciPy, whose OpenBLAS is another.

    build/python/venv/bin/python bench/python.py [--quick] [--output FILE.json]
"""
import argparse
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import couplet

CASES = [("50x30x30", 20), ("250x20x24", 50), ("250x110x140", 100), ("1000x20x24", 50), ("1000x110x140", 100),
         ("200x300x300", 50), ("2^26", 1), ("2^26", 10)]
QUICK = [("50x30x30", 20), ("250x20x24", 50), ("1000x20x24", 50), ("2^16", 10)]
PAUSE = 0.3  # until the other's threads sleep
SECONDS = 3.0  # spent on each side of a case, at least; a call that takes longer runs once


def shape_of(name):
    return (2,) * int(name[2:]) if name.startswith("2^") else tuple(map(int, name.split("x")))


def theirs(x, rank):
    from tensorly.decomposition import tensor_train

    return tensor_train(x, rank=rank)


def error(train, x):
    """Relative error of a list of cores, by multiplying them out from the left."""
    whole = np.asarray(train[0]).reshape(-1, train[0].shape[-1])
    for core in train[1:]:
        whole = (whole @ np.asarray(core).reshape(core.shape[0], -1)).reshape(-1, core.shape[-1])
    return float(np.linalg.norm(whole.reshape(-1) - x.reshape(-1)) / np.linalg.norm(x))


def sample(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def compare(x, rank):
    from threadpoolctl import threadpool_limits

    ours, other = [], {}
    _, train = sample(lambda: couplet.decompose(x, max_rank=rank))
    threads = sorted({1, len(os.sched_getaffinity(0))})
    spent = 0.0
    while spent < SECONDS:
        for number in threads:
            with threadpool_limits(number):
                if not spent:
                    theirs(x[:1], 1)  # loads its modules
                seconds, cores = sample(lambda: theirs(x, rank))
            other.setdefault(number, []).append(seconds)
            spent += seconds
        time.sleep(PAUSE)
        batch = [sample(lambda: couplet.decompose(x, max_rank=rank))[0] for _ in range(6)]
        ours += batch[1:]  # the first wakes the cores
    best = min(statistics.median(seconds) for seconds in other.values())
    return {"couplet": statistics.median(ours), "tensorly": best, "ratio": best / statistics.median(ours),
            "error": error(train.cores, x), "error_tensorly": error(list(cores), x), "samples": ours, "samples_tensorly": other}


def overhead(name="50x30x30", rank=20, calls=3000):
    """Microseconds of a call through Python beyond the C++ call, medians, alternating."""
    x = np.random.default_rng(0).normal(size=shape_of(name))
    command = pathlib.Path(couplet.__file__).parent / "bin" / "couplet"
    here, there = [], []
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", x)
        for _ in range(5):
            there.append(json.loads(subprocess.run([command, "decompose", f"{folder}/x.npy", "--max-rank", str(rank), "--repeat",
                                                    str(calls), "--json", "--quiet"], text=True, capture_output=True,
                                                   check=True).stdout)["seconds"]["compute"])
            here.append(statistics.median(sample(lambda: couplet.decompose(x, max_rank=rank))[0] for _ in range(calls)))
    return {"python": statistics.median(here), "c++": statistics.median(there),
            "microseconds": 1e6 * statistics.median(a - b for a, b in zip(here, there))}


ALONE = """
import sys, time, statistics
import numpy as np
def median(call, times):
    samples = []
    for _ in range(times):
        between()
        start = time.perf_counter(); call(); samples.append(time.perf_counter() - start)
    return statistics.median(samples)
def between(): pass
a = np.random.default_rng(0).normal(size=(1200, 1200))
a @ a
before = median(lambda: a @ a, 15)
import couplet
x = np.random.default_rng(0).normal(size=(1000, 20, 24))
couplet.decompose(x, max_rank=50)
alone = median(lambda: couplet.decompose(x, max_rank=50), 60)
import scipy.linalg
def between(): scipy.linalg.qr(a[:200, :200]); a[:400] @ a
beside = median(lambda: couplet.decompose(x, max_rank=50), 60)
def between(): couplet.decompose(x, max_rank=50)
after = median(lambda: a @ a, 15)
def between(): time.sleep(0.3); svd()
m = x.reshape(1000, 480)
def svd(): np.linalg.svd(m, full_matrices=False)
svd_alone = median(svd, 8)
def between(): scipy.linalg.qr(a[:200, :200])
svd_beside = median(svd, 8)
print(before, after, alone, beside, svd_alone, svd_beside)
"""


def neighbours(rounds=5):
    """Ratios of medians: NumPy's product after couplet was loaded and used to before, couplet's TT-SVD between calls of
    NumPy and SciPy to without them, and NumPy's SVD after calls of SciPy to without them. Each round is a process of its own."""
    numpy_ratio, couplet_ratio, svd_ratio = [], [], []
    for _ in range(rounds):
        done = subprocess.run([sys.executable, "-c", ALONE], text=True, capture_output=True, check=True)
        before, after, alone, beside, svd_alone, svd_beside = map(float, done.stdout.split())
        numpy_ratio.append(after / before)
        couplet_ratio.append(beside / alone)
        svd_ratio.append(svd_beside / svd_alone)
    return {"numpy": statistics.median(numpy_ratio), "couplet": statistics.median(couplet_ratio), "svd": statistics.median(svd_ratio),
            "samples_numpy": numpy_ratio, "samples_couplet": couplet_ratio, "samples_svd": svd_ratio}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    report = {"machine": platform.processor() or platform.machine(), "cores": len(os.sched_getaffinity(0)),
              "numpy": np.__version__, "python": sys.version.split()[0], "blas": couplet._engine.blas(), "cases": {}}
    print("| tensor, rank | couplet | TensorLy | ratio | error | TensorLy's |\n|---|---|---|---|---|---|", flush=True)
    for name, rank in QUICK if options.quick else CASES:
        x = np.random.default_rng(0).normal(size=shape_of(name))
        row = report["cases"][f"{name}, {rank}"] = compare(x, rank)
        print(f"| {name}, {rank} | {1e3 * row['couplet']:.2f} ms | {1e3 * row['tensorly']:.1f} ms | {row['ratio']:.1f}x | "
              f"{row['error']:.6f} | {row['error_tensorly']:.6f} |", flush=True)
    row = report["overhead"] = overhead()
    print(f"\n50x30x30, rank 20: {1e6 * row['python']:.0f} us through Python, {1e6 * row['c++']:.0f} us in C++, "
          f"{row['microseconds']:.0f} us apart")
    row = report["neighbours"] = neighbours()
    print(f"beside NumPy's and SciPy's OpenBLAS: couplet takes {row['couplet']:.2f} of its time without them, NumPy's product "
          f"{row['numpy']:.2f} of its time before couplet was loaded; NumPy's SVD beside SciPy's {row['svd']:.2f} of its own")
    if options.output:
        options.output.write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
