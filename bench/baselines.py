#!/usr/bin/env python3
"""One epoch of every baseline on ECG 1000x110x140 (random numbers of that shape without COUPLET_DATA), K = 4, CP rank 20,
beside a NumPy version of the same steps on the same files in one run.

An epoch of an SGD method steps every mode once at every client and exchanges the factors; with all fibers (exact
gradients) and with 1024 sampled ones. fedgtf-ef steps random modes: three exchanges count as one epoch for both. Trip's
epoch is one round of ADMM; fedsvd is timed whole. Couplet's time is the trace's, over several rounds and with their
evaluations of the objective, which NumPy does as often. NumPy runs with one thread and with all; the faster counts.
"""
import argparse
import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

from keep import keep_samples

CLIENTS = 4
RANK = 20
EVERY = 5  # rounds between two evaluations
CASES = [("dpsgd", 0), ("dpfact", 0), ("fedgtf-ef", 0), ("fedgtf-ef-pc", 0), ("cidertf", 0), ("trip", None),
         ("dpsgd", 1024), ("dpfact", 1024), ("fedgtf-ef", 1024), ("fedgtf-ef-pc", 1024), ("cidertf", 1024),
         ("fedsvd", None)]
TAU = {"dpsgd": 1, "dpfact": 1, "fedgtf-ef-pc": 3, "cidertf": 3}


def mttkrp(x, factors, mode):
    """Matrix products over views; no unfolding is copied."""
    import numpy
    a, b, c = factors
    i, j, k = x.shape
    if mode == 0:
        return x.reshape(i, -1) @ (b[:, None] * c[None]).reshape(j * k, -1)
    if mode == 2:
        return x.reshape(-1, k).T @ (a[:, None] * b[None]).reshape(i * j, -1)
    return numpy.einsum("ijr,ir->jr", (x.reshape(-1, k) @ c).reshape(i, j, -1), a)


def gram_without(factors, mode):
    g = 1.0
    for n, factor in enumerate(factors):
        if n != mode:
            g = g * (factor.T @ factor)
    return g


def descent(x, factors, mode, step, fibers, rng):
    import numpy
    count = x.size // x.shape[mode]
    if fibers == 0 or fibers >= count:
        gamma = gram_without(factors, mode)
        gradient = factors[mode] @ gamma - mttkrp(x, factors, mode)
        return step / numpy.linalg.eigvalsh(gamma)[-1] * gradient
    others = [n for n in range(3) if n != mode]
    at = [rng.integers(0, x.shape[n], fibers) for n in others]
    h = factors[others[0]][at[0]] * factors[others[1]][at[1]]
    where = [slice(None)] * 3
    for n, index in zip(others, at):
        where[n] = index
    sample = x[tuple(where)]
    if mode == 0:
        residual = factors[0] @ h.T - sample
    else:
        residual = factors[mode] @ h.T - sample.T
    gradient = residual @ h
    return step / numpy.linalg.eigvalsh(h.T @ h)[-1] * gradient


def evaluate(clients, local):
    """-2 <X, M> + ||M||^2, without ||X||^2, which is known from the start."""
    error = 0.0
    for x, f in zip(clients, local):
        error += -2 * float((f[0] * mttkrp(x, f, 0)).sum()) + float(gram_without(f, -1).sum())
    return error


def sign(p, rest):
    import numpy
    p = p + rest
    sent = numpy.abs(p).mean() * numpy.sign(p)
    return sent, p - sent


def epochs(method, fibers, rounds, clients):
    import numpy
    rng = numpy.random.default_rng(0)
    shape = clients[0].shape
    shared = [None] + [rng.standard_normal((shape[n], RANK)) for n in (1, 2)]
    shared = [None] + [f / numpy.linalg.norm(f, axis=0) for f in shared[1:]]
    local = []
    for x in clients:
        f = [None, shared[1].copy(), shared[2].copy()]
        f[0] = numpy.zeros((x.shape[0], RANK))
        f[0] = numpy.linalg.solve(gram_without(f, 0), mttkrp(x, f, 0).T).T
        local.append(f)
    rests = [[numpy.zeros_like(s) if s is not None else None for s in shared] for _ in clients]
    duals = [[numpy.zeros_like(s) if s is not None else None for s in shared] for _ in clients]
    copies = [[None] + [s.copy() for s in shared[1:]] for _ in clients]
    evaluate(clients, local)
    start = time.perf_counter()
    for round_ in range(rounds):
        if method in ("dpsgd", "dpfact"):
            for x, f in zip(clients, local):
                for n in range(3):
                    f[n] = f[n] - descent(x, f, n, 0.5, fibers, rng)
            for n in (1, 2):
                mean = sum(f[n] for f in local) / CLIENTS
                for f in local:
                    f[n] = mean.copy()
        elif method == "fedgtf-ef":
            mode = rng.integers(0, 3)
            while mode == 0:
                for x, f in zip(clients, local):
                    f[0] = f[0] - descent(x, f, 0, 0.5, fibers, rng)
                mode = rng.integers(0, 3)
            total = 0
            for k, (x, f) in enumerate(zip(clients, local)):
                sent, rests[k][mode] = sign(descent(x, f, mode, 0.5, fibers, rng) / CLIENTS, rests[k][mode])
                total = total + sent
            for f in local:
                f[mode] = f[mode] - total
        elif method in ("fedgtf-ef-pc", "cidertf"):
            modes = rng.integers(0, 3, TAU[method])
            for x, f in zip(clients, local):
                for n in modes:
                    f[n] = f[n] - descent(x, f, n, 0.5, fibers, rng)
            if method == "fedgtf-ef-pc":
                for n in (1, 2):
                    total = 0
                    for k, f in enumerate(local):
                        sent, rests[k][n] = sign((f[n] - shared[n]) / CLIENTS, rests[k][n])
                        total = total + sent
                    shared[n] = shared[n] + total
                    for f in local:
                        f[n] = shared[n].copy()
            else:
                n = rng.integers(1, 3)
                for k, f in enumerate(local):
                    copies[k][n] = copies[k][n] + sign(f[n] - copies[k][n], 0.0)[0]
                mean = sum(c[n] for c in copies) / CLIENTS
                for k, f in enumerate(local):
                    f[n] = f[n] + 0.5 * (mean - copies[k][n])
        elif method == "trip":
            for k, (x, f) in enumerate(zip(clients, local)):
                f[0] = numpy.linalg.solve(gram_without(f, 0), mttkrp(x, f, 0).T).T
                for n in (1, 2):
                    gamma = gram_without(f, n)
                    rho = numpy.trace(gamma) / RANK
                    target = mttkrp(x, f, n) + rho * (shared[n] - duals[k][n])
                    f[n] = numpy.linalg.solve(gamma + rho * numpy.eye(RANK), target.T).T
            for n in (1, 2):
                shared[n] = sum(f[n] + u[n] for f, u in zip(local, duals)) / CLIENTS
                for f, u in zip(local, duals):
                    u[n] = u[n] + f[n] - shared[n]
        if (round_ + 1) % EVERY == 0:
            evaluate(clients, local)
    return (time.perf_counter() - start) / rounds


def fedsvd(clients):
    import numpy
    rng = numpy.random.default_rng(0)

    def blocks(size):
        parts = numpy.array_split(numpy.arange(size), -(-size // 256))
        return [(p, numpy.linalg.qr(rng.standard_normal((len(p), len(p))))[0]) for p in parts]

    start = time.perf_counter()
    flat = [x.reshape(x.shape[0], -1) for x in clients]
    q = blocks(flat[0].shape[1])
    masked = []
    for x in flat:
        y = numpy.concatenate([x[:, p] @ b for p, b in q], axis=1)
        masked.append(numpy.concatenate([b @ y[p] for p, b in blocks(x.shape[0])]))
    stack = numpy.concatenate(masked)
    values, u = numpy.linalg.eigh(stack @ stack.T)  # the cheap way: the shorter side
    w = u[:, -RANK:].T @ stack
    v = numpy.concatenate([w[:, p] @ b.T for p, b in q], axis=1)
    numpy.linalg.svd(v.reshape(RANK * clients[0].shape[1], -1), full_matrices=False)
    basis, _ = numpy.linalg.qr(v.T)
    for x in flat:
        (x @ basis)
    return time.perf_counter() - start


def worker(folder, method, fibers, rounds):
    import numpy
    clients = [numpy.load(f"{folder}/client_{k}.npy") for k in range(1, CLIENTS + 1)]
    run = (lambda: fedsvd(clients)) if method == "fedsvd" else (lambda: epochs(method, fibers, rounds, clients))
    print(json.dumps(run()))


def ours(binary, files, method, fibers, rounds):
    arguments = [binary, "simulate", *files, "--method", method, "--rank", str(RANK), "--json", "--quiet"]
    if method != "fedsvd":
        arguments += ["--rounds", str(rounds), "--tolerance", "0"]
        if fibers is not None:
            arguments += ["--fibers", str(fibers), "--step", "0.5"]
        if method in TAU:
            arguments += ["--tau", str(TAU[method])]
        if method == "cidertf":
            arguments += ["--threshold", "0"]
    result = json.loads(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)
    if method == "fedsvd":
        return result["seconds"]["total"]
    return (result["trace"][-1]["seconds"] - result["trace"][0]["seconds"]) / rounds


def make_data(binary, folder):
    made = subprocess.run([binary, "data", "ecg", "--count", "1000", "--clients", str(CLIENTS), "-o", folder, "--force"],
                          capture_output=True, text=True, check=False)
    if made.returncode == 0:
        return "ECG"
    subprocess.run([binary, "data", "synthetic", "1000x110x140", "--clients", str(CLIENTS), "-o", folder, "--force"],
                   capture_output=True, text=True, check=True)
    return "generated data (no COUPLET_DATA)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line to measure")
    parser.add_argument("--python", default=sys.executable, help="the Python that has NumPy")
    parser.add_argument("--output", default="build/bench/results/baselines.json", help="where every sample goes")
    parser.add_argument("--repeat", type=int, default=3, help="samples of each")
    parser.add_argument("--worker", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        folder, method, fibers, rounds = options.worker
        return worker(folder, method, int(fibers), int(rounds))
    cores = len(os.sched_getaffinity(0))
    report = {"cores": cores, "cases": []}
    with tempfile.TemporaryDirectory(prefix="couplet-bench-") as folder:
        data = make_data(options.couplet, folder)
        files = sorted(glob.glob(f"{folder}/client_*.npy"))
        print(f"{cores} cores, {data} 1000x110x140, K = {CLIENTS}, CP rank {RANK}; milliseconds an epoch, medians")
        print(f"{'method':>14} {'fibers':>7} {'couplet':>9} {'numpy':>9} {'x':>6}  numpy threads")
        for method, fibers in CASES:
            rounds = 5 if fibers in (0, None) else 15
            epoch = 3 if method == "fedgtf-ef" else 1
            mine, peers = [], {}
            for _ in range(options.repeat):  # in turn, so that other work on the machine hits both
                mine.append(ours(options.couplet, files, method, fibers, rounds) * epoch)
                for threads in sorted({1, cores}):
                    done = subprocess.run([options.python, __file__, "--worker", folder, method, str(fibers or 0),
                                           str(rounds)], env={**os.environ, "OPENBLAS_NUM_THREADS": str(threads)},
                                          capture_output=True, text=True, check=True)
                    peers.setdefault(threads, []).append(json.loads(done.stdout) * epoch)
            best = min(peers, key=lambda t: statistics.median(peers[t]))
            a, b = statistics.median(mine), statistics.median(peers[best])
            shown = "-" if fibers is None else "all" if fibers == 0 else str(fibers)
            print(f"{method:>14} {shown:>7} {a * 1e3:9.2f} {b * 1e3:9.2f} {b / a:6.2f}  {best}", flush=True)
            report["cases"].append({"method": method, "fibers": fibers, "couplet": mine, "numpy": peers})
    keep_samples(options.output, report)
    return 0


if __name__ == "__main__":
    sys.exit(main())
