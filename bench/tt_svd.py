#!/usr/bin/env python3
"""TT-SVD side by side: couplet, the usual NumPy loop, and TensorLy's tensor_train, on the same files in one run.

NumPy is the distribution's, on the same OpenBLAS as couplet, with its better thread count. The column numpy is NumPy as it
is installed; "same kernels" is the better of that and NumPy with the kernel family couplet asks OpenBLAS for.
TensorLy runs in the best of these settings.
Peak memory is the resident size of a whole `couplet decompose` process, the mapped file included.
"""
import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time

from keep import keep_samples

CASES = [("50x30x30", 20), ("250x20x24", 50), ("250x110x140", 100), ("1000x20x24", 50), ("1000x110x140", 100),
         ("200x300x300", 50), ("2^26", 1), ("2^26", 10), ("2^26", 50)]
QUICK = [("50x30x30", 20), ("250x20x24", 50), ("1000x20x24", 50), ("2^16", 1), ("2^16", 10)]


def shape_of(name):
    if name.startswith("2^"):
        return (2,) * int(name[2:])
    return tuple(int(size) for size in name.split("x"))


def make_tensor(path, shape, dtype):
    """Gaussian noise: the flat spectrum that is hardest for every method that computes only a part of it."""
    import numpy
    rng = numpy.random.default_rng(0)
    flat = numpy.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape).reshape(-1)
    for first in range(0, flat.size, 1 << 22):
        part = flat[first:first + (1 << 22)]
        part[:] = rng.standard_normal(part.size)


def numpy_loop(x, max_rank):
    import numpy
    cores, rank, rest = [], 1, x
    for size in x.shape[:-1]:
        u, s, vt = numpy.linalg.svd(rest.reshape(rank * size, -1), full_matrices=False)
        kept = min(max_rank, len(s))
        cores.append(u[:, :kept].reshape(rank, size, kept))
        rest, rank = s[:kept, None] * vt[:kept], kept
    cores.append(rest.reshape(rank, x.shape[-1], 1))
    return cores


def worker(path, max_rank, seconds, which):
    """Runs one peer in this process until `seconds` are spent (at least once, after a warm-up when it is short)."""
    import numpy
    x = numpy.load(path)
    if which == "tensorly":
        import tensorly
        from tensorly.decomposition import tensor_train
        ranks = [1] + [max_rank] * (x.ndim - 1) + [1]
        run = lambda: tensor_train(tensorly.tensor(x), ranks)
    else:
        run = lambda: numpy_loop(x, max_rank)
    samples = []
    start = time.perf_counter()
    while not samples or (time.perf_counter() - start < seconds and len(samples) < 51):
        before = time.perf_counter()
        run()
        samples.append(time.perf_counter() - before)
    if len(samples) > 3:
        samples = samples[1:]
    print(json.dumps({"samples": samples}))


def run_peer(python, path, max_rank, seconds, which, environment):
    command = [python, __file__, "--worker", which, str(path), str(max_rank), str(seconds)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1:] or ["failed"]
    return json.loads(done.stdout)["samples"], None


def run_couplet(binary, path, max_rank, repeat):
    command = [binary, "decompose", path, "--max-rank", str(max_rank), "--repeat", str(repeat), "--json"]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def peak_bytes(binary, path, max_rank):
    process = subprocess.Popen([binary, "decompose", path, "--max-rank", str(max_rank), "--json"],
                               stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        raise SystemExit(f"{binary} failed on {path}")
    return usage.ru_maxrss * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line to measure")
    parser.add_argument("--machine", default="build/bench/bin/machine", help="the program that measures this machine")
    parser.add_argument("--python", default=sys.executable, help="the Python that has NumPy and TensorLy")
    parser.add_argument("--output", default="build/bench/results/tt_svd.json", help="where every sample goes")
    parser.add_argument("--case", action="append", help="only cases whose name contains this, for example 1000x or '2^26 rank 1'")
    parser.add_argument("--dtype", action="append", choices=["f8", "f4"], help="default: both")
    parser.add_argument("--quick", action="store_true", help="small cases only")
    parser.add_argument("--worker", nargs=4, metavar=("WHICH", "PATH", "RANK", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        which, path, rank, seconds = options.worker
        return worker(path, int(rank), float(seconds), which)

    cores = len(os.sched_getaffinity(0))
    cases = [case for case in (QUICK if options.quick else CASES)
             if not options.case or any(part in f"{case[0]} rank {case[1]}" for part in options.case)]
    report = {"cores": cores, "cpu": platform.processor() or platform.machine(), "cases": []}
    print(f"{cores} cores; times in milliseconds, medians; x = peer / couplet; read = couplet / one read of the tensor")
    header = (f"{'case':>14} {'rank':>4} {'type':>4} {'couplet':>9} {'read':>6} {'peak':>6} {'numpy':>10} {'x':>7} "
              f"{'same kernels':>12} {'x':>7} {'tensorly':>10} {'x':>7}  {'error':>9}")
    print(header)
    for dtype in options.dtype or ["f8", "f4"]:
        for name, rank in cases:
            shape = shape_of(name)
            with tempfile.TemporaryDirectory(prefix="couplet-bench-") as folder:
                path = os.path.join(folder, "x.npy")
                make_tensor(path, shape, "<" + dtype)
                size = os.path.getsize(path) - 128
                machine = json.loads(subprocess.run([options.machine, str(size)], capture_output=True, text=True,
                                                    check=True).stdout)
                read = machine["read_seconds"][str(size)]
                budget = 2.0 if size < 5e7 else 0.0
                ours = run_couplet(options.couplet, path, rank, 51 if size < 5e6 else 11 if size < 5e7 else 5)
                peers = {}
                settings = [(threads, core) for core in ("as configured", machine["blas_core"])
                            for threads in sorted({1, cores})]
                if size > 3e8:  # minutes each: all threads only, where every setting was at its best in trials
                    settings = [(cores, core) for core in ("as configured", machine["blas_core"])]
                for threads, core in settings:
                    environment = {"OPENBLAS_NUM_THREADS": str(threads)}
                    if core != "as configured":
                        environment["OPENBLAS_CORETYPE"] = core
                    samples, error = run_peer(options.python, path, rank, budget, "numpy", environment)
                    if error:
                        raise SystemExit(f"NumPy failed on {name}: {error}")
                    peers[(threads, core)] = samples
                medians = {key: statistics.median(samples) for key, samples in peers.items()}
                installed = min(value for key, value in medians.items() if key[1] == "as configured")
                best = min(medians, key=medians.get)
                environment = {"OPENBLAS_NUM_THREADS": str(best[0])}
                if best[1] != "as configured":
                    environment["OPENBLAS_CORETYPE"] = best[1]
                tensorly, why = run_peer(options.python, path, rank, budget, "tensorly", environment)
                peak = peak_bytes(options.couplet, path, rank) / size
                compute = ours["seconds"]["compute"]
                tensorly_time = statistics.median(tensorly) if tensorly else None
                print(f"{name:>14} {rank:>4} {dtype:>4} {compute * 1e3:9.2f} {compute / read:6.1f} "
                      f"{f'{peak:5.2f}x' if size >= 1e8 else '-':>6} {installed * 1e3:10.1f} {installed / compute:7.1f} "
                      f"{medians[best] * 1e3:12.1f} {medians[best] / compute:7.1f} "
                      + (f"{tensorly_time * 1e3:10.1f} {tensorly_time / compute:7.1f}" if tensorly else f"{'-':>10} {'-':>7}")
                      + f"  {ours['rel_error']:9.6f}", flush=True)
                report["cases"].append({
                    "name": name, "rank": rank, "dtype": dtype, "bytes": size, "read_seconds": read, "machine": machine,
                    "couplet": ours, "peak_over_size": peak, "tensorly": tensorly, "tensorly_error": why,
                    "numpy": [{"threads": key[0], "core": key[1], "samples": value} for key, value in peers.items()]})
    keep_samples(options.output, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
