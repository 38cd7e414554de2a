#!/usr/bin/env python3
"""TT-SVD side by side: couplet, the usual NumPy loop, and TensorLy's tensor_train, on the same files in one run.

Every case on noise, on a slowly and on a fast decaying spectrum, and real tensors where COUPLET_DATA is set. "floor" is couplet's
time over what reading and multiplying alone would take at this machine's measured speed; the shares behind it are those of
summarising, of eigenvectors and the rest, and of projecting. The column numpy is the distribution's NumPy as it is installed, on the same
OpenBLAS as couplet, with its better thread count; "best" is the best of that, of NumPy with the kernel family couplet asks OpenBLAS for,
and of PyPI's NumPy with its newer OpenBLAS. x is best over couplet. TensorLy runs in the best of these settings. "error" is couplet's, and over NumPy's at the same ranks.
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
from tensors import REAL, SPECTRA, engine_result, make_real, make_tensor, shape_of

CASES = [("50x30x30", 20), ("250x20x24", 50), ("250x110x140", 100), ("1000x20x24", 50), ("1000x110x140", 100),
         ("200x300x300", 50), ("2^26", 1), ("2^26", 10), ("2^26", 50)]
QUICK = [("50x30x30", 20), ("250x20x24", 50), ("1000x20x24", 50), ("2^16", 1), ("2^16", 10)]


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
        cores = run()
        samples.append(time.perf_counter() - before)
    if len(samples) > 3:
        samples = samples[1:]
    # Orthonormal cores before it: the last one has the norm of the whole.
    kept = float(numpy.linalg.norm(numpy.asarray(cores[-1], dtype=float))) ** 2
    norm2 = float(numpy.linalg.norm(x.reshape(-1).astype(float))) ** 2
    print(json.dumps({"samples": samples, "rel_error": max(0.0, 1 - kept / norm2) ** 0.5}))


def run_peer(python, path, max_rank, seconds, which, environment):
    command = [python, __file__, "--worker", which, str(path), str(max_rank), str(seconds)]
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines()[-1:] or ["failed"])[0]
    return json.loads(done.stdout), None


# A process begins with the peak of the one that starts it: in between is one that has nothing.
PEAK = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss * 1024)
sys.exit(status != 0)
"""


def peak_bytes(binary, path, max_rank):
    """Resident bytes of a whole `couplet decompose`, at most."""
    command = [sys.executable, "-I", "-c", PEAK, binary, "decompose", path, "--max-rank", str(max_rank), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{binary} failed on {path}: {done.stderr}")
    return int(done.stdout)


def settings_of(options, cores, size, blas_core):
    """Which Python, how many threads, and which kernel family NumPy is tried with."""
    pythons = [(options.python, family) for family in ("as configured", blas_core)]
    if options.pypi:  # its OpenBLAS is newer, and knows this machine's kernels by itself
        pythons.append((options.pypi, "as configured"))
    # Minutes each: all threads only, where every setting was at its best in trials.
    threads = [cores] if size > 3e8 else sorted({1, cores})
    return [(python, number, family) for python, family in pythons for number in threads]


def environment_of(setting):
    _, threads, core = setting
    return {"OPENBLAS_NUM_THREADS": str(threads), **({} if core == "as configured" else {"OPENBLAS_CORETYPE": core})}


def measure(options, path, rank, cores):
    """Everything about one file."""
    size = os.path.getsize(path) - 128
    budget = 2.0 if size < 5e7 else 0.0
    ours = engine_result(options.engine, path, rank, 3.0 if size < 5e7 else 6.0)
    peers = {}
    for setting in settings_of(options, cores, size, ours["blas_core"]):
        found, error = run_peer(setting[0], path, rank, budget, "numpy", environment_of(setting))
        if error:
            raise SystemExit(f"NumPy failed on {path}: {error}")
        peers[setting] = found
    medians = {key: statistics.median(found["samples"]) for key, found in peers.items()}
    best = min(medians, key=medians.get)
    tensorly, why = run_peer(best[0], path, rank, budget, "tensorly", environment_of(best))
    seconds = statistics.median(ours["samples"])
    return {"bytes": size, "couplet": ours, "seconds": seconds, "over_floor": seconds / ours["floor_seconds"],
            "peak_over_size": peak_bytes(options.couplet, path, rank) / size,
            "numpy_seconds": medians[best], "ratio": medians[best] / seconds,
            "numpy_as_installed": min(value for key, value in medians.items() if key[0] == options.python and key[2] == "as configured"),
            "numpy_rel_error": peers[best]["rel_error"], "tensorly": tensorly, "tensorly_error": why,
            "tensorly_seconds": statistics.median(tensorly["samples"]) if tensorly else None,
            "numpy": [{"python": key[0], "threads": key[1], "core": key[2], **found} for key, found in peers.items()]}


def line(name, rank, dtype, spectrum, case):
    phases = case["couplet"]["phases"]
    total = sum(phase["seconds"] for phase in phases.values())
    share = "/".join(f"{100 * phases.get(phase, {}).get('seconds', 0) / total:.0f}" for phase in ("summarise", "eigen", "project"))
    peak = f"{case['peak_over_size']:.2f}x" if case["bytes"] >= 1e8 else "-"
    tensorly = case["tensorly_seconds"]
    theirs = case["numpy_rel_error"]
    return (f"{name:>22} {rank:>4} {dtype:>4} {spectrum:>6} {case['seconds'] * 1e3:9.2f} {case['over_floor']:6.1f} {share:>9} {peak:>6} "
            f"{case['numpy_as_installed'] * 1e3:10.1f} {case['numpy_seconds'] * 1e3:12.1f} {case['ratio']:6.1f} "
            + (f"{tensorly * 1e3:9.1f} {tensorly / case['seconds']:6.1f}" if tensorly else f"{'-':>9} {'-':>6}")
            + f"  {case['couplet']['rel_error']:9.6f} {case['couplet']['rel_error'] / theirs if theirs else 1:7.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line, for peak memory and real data")
    parser.add_argument("--engine", default="build/release/bench/bin/engine", help="the program that repeats in one process")
    parser.add_argument("--python", default=sys.executable, help="the Python that has NumPy and TensorLy")
    parser.add_argument("--pypi", default="build/python/venv/bin/python", help="a Python with PyPI's NumPy and TensorLy; left out where it is not")
    parser.add_argument("--output", default="build/bench/results/tt_svd.json", help="where every sample goes")
    parser.add_argument("--case", action="append", help="only cases whose name contains this, for example 1000x or '2^26 rank 1'")
    parser.add_argument("--dtype", action="append", choices=["f8", "f4"], help="default: both")
    parser.add_argument("--spectrum", action="append", choices=SPECTRA, help="default: all three; of 2^26, noise")
    parser.add_argument("--quick", action="store_true", help="small cases only")
    parser.add_argument("--worker", nargs=4, metavar=("WHICH", "PATH", "RANK", "SECONDS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        which, path, rank, seconds = options.worker
        return worker(path, int(rank), float(seconds), which)

    if not os.path.exists(options.pypi):
        print(f"{options.pypi}: not there, so PyPI's NumPy is left out; scripts/test-python --collect-only makes it")
        options.pypi = None
    cores = len(os.sched_getaffinity(0))
    wanted = [(name, rank, dtype, spectrum, None) for dtype in options.dtype or ["f8", "f4"]
              for name, rank in (QUICK if options.quick else CASES)
              for spectrum in options.spectrum or (SPECTRA if name != "2^26" else ("noise",))]
    wanted += [(name, rank, "f8", "real", recipe) for name, rank, recipe in ([] if options.quick else REAL)]
    wanted = [case for case in wanted if not options.case or any(part in f"{case[0]} rank {case[1]}" for part in options.case)]
    report = {"cores": cores, "cpu": platform.processor() or platform.machine(), "cases": []}
    print(f"{cores} cores; times in milliseconds, medians; x = peer / couplet")
    print(f"{'case':>22} {'rank':>4} {'type':>4} {'of':>6} {'couplet':>9} {'floor':>6} {'s/e/p %':>9} {'peak':>6} {'numpy':>10} "
          f"{'best':>12} {'x':>6} {'tensorly':>9} {'x':>6}  {'error':>9} {'/numpy':>7}")
    for name, rank, dtype, spectrum, recipe in wanted:
        with tempfile.TemporaryDirectory(prefix="couplet-bench-") as folder:
            path = os.path.join(folder, "x.npy")
            if recipe:
                missing = make_real(path, options.couplet, recipe)
                if missing:
                    print(f"{name:>22}  left out: {missing}")
                    continue
            else:
                make_tensor(path, shape_of(name), "<" + dtype, spectrum)
            case = measure(options, path, rank, cores)
            report["cases"].append({"name": name, "rank": rank, "dtype": dtype, "spectrum": spectrum, **case})
            print(line(name, rank, dtype, spectrum, case), flush=True)
    keep_samples(options.output, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
