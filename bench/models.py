#!/usr/bin/env python3
"""Models from a merge beside TensorLy's of all patients in one place: error and time at the same ranks, the best of the same number
of starts; and the certified bound on random federations.

A row per data set and model: the squared relative error over all patients of `couplet factor` (factors from the merge, loadings by the
sites), of TensorLy on the pooled tensor (parafac, non_negative_parafac_hals, tucker; its own number of sweeps), their ratio, and the
seconds of work of both: of all cores, so that a busy machine changes little. Ours are those of the whole process that fits the merge and writes the factors;
the federation that made it has its own benchmarks. Digits and cancer are scikit-learn's own; nothing was chosen by them.

Needs NumPy, TensorLy and scikit-learn, and COUPLET_DATA for the real data; sets that are not there are named and left out.

    build/venv/bin/python bench/models.py [--couplet build/bin/couplet] [--starts 4] [--worlds 500] [--only NAME] [--output FILE.json]
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

CLIENTS = 4
DIRECTIONS = 5  # that the merge keeps for each component, 50 at least
SWEEPS = 100  # of TensorLy, its default
# name, components, whether its entries are not negative
CASES = [("synthetic", 8, False), ("diabetes", 8, True), ("cms", 10, True), ("synthea", 8, True), ("digits", 8, True),
         ("cancer", 4, True), ("ecg", 6, False)]


def couplet(binary, *words):
    done = subprocess.run([binary, *map(str, words), "--json", "--quiet"], text=True, capture_output=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


def bundled(name):
    """scikit-learn's own data as tensors: images of digits, and measures x (mean, deviation, worst) of cells."""
    from sklearn.datasets import load_breast_cancer, load_digits

    if name == "digits":
        return load_digits().images
    x = load_breast_cancer().data
    x = x / x.std(axis=0)
    return x.reshape(len(x), 3, 10)


def make(binary, name, folder):
    """Files of the clients; None where the data is not there."""
    if name in ("digits", "cancer"):
        x = bundled(name)
        files = [folder / f"client_{k + 1}.npy" for k in range(CLIENTS)]
        for file, part in zip(files, np.array_split(np.random.default_rng(0).permutation(len(x)), CLIENTS)):
            np.save(file, x[part])
        return files
    words = {"synthetic": ["synthetic", "400x30x30:rank=8,noise=0.1"], "diabetes": ["diabetes"], "ecg": ["ecg"], "cms": ["ehr"],
             "synthea": ["ehr", "--source", "synthea"]}[name]
    if name != "synthetic" and "COUPLET_DATA" not in os.environ:
        return None
    told = couplet(binary, "data", *words, "--clients", CLIENTS, "-o", folder / "data")
    return [folder / "data" / f"client_{k + 1}.npy" for k in range(told["clients"])]


def error_of(x, head, factors):
    import tensorly

    whole = tensorly.cp_to_tensor((head, factors)) if np.ndim(head) == 1 else tensorly.tucker_to_tensor((head, factors))
    return float(np.sum((x - whole) ** 2) / np.sum(x**2))


def theirs(x, model, components, starts):
    from tensorly.decomposition import non_negative_parafac_hals, parafac, tucker

    best, seconds = np.inf, 0.0
    for seed in range(starts):
        start = time.process_time()
        if model == "tucker":
            found = tucker(x, [min(components, size) for size in x.shape], init="svd" if seed == 0 else "random",
                           random_state=seed, n_iter_max=SWEEPS)
        else:
            fit = parafac if model == "cp" else non_negative_parafac_hals
            found = fit(x, components, init="random", random_state=seed, n_iter_max=SWEEPS, tol=1e-8)
        seconds += time.process_time() - start
        best = min(best, error_of(x, found[0], found[1]))
    return best, seconds


def compare(binary, name, components, positive, starts):
    with tempfile.TemporaryDirectory(prefix="couplet-models-") as scratch:
        files = make(binary, name, pathlib.Path(scratch))
        if files is None:
            print(f"{name}: COUPLET_DATA is not set", file=sys.stderr)
            return []
        x = np.concatenate([np.load(file) for file in files])
        result = f"{scratch}/result"
        couplet(binary, "simulate", *files, "--rank", max(50, DIRECTIONS * components), "-o", result)
        rows = []
        for model in ["cp", "tucker"] + (["nncp"] if positive else []):
            flags = ["factor", result, "--model", model, "--components", components, "--starts", starts, "--resamples", 0]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            couplet(binary, *flags, "-o", f"{scratch}/{model}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            ours = couplet(binary, *flags, "--data", *files)
            other, their_seconds = theirs(x, model, components, starts)
            rows.append({"data": name, "shape": list(x.shape), "model": model, "components": components, "rse": ours["rse"],
                         "tensorly_rse": other, "ratio": ours["rse"] / other, "rel_error_bound": ours["rel_error_bound"],
                         "seconds": seconds, "tensorly_seconds": their_seconds, "faster": their_seconds / seconds})
            print(f"{name:10} {model:7} {components:3} {ours['rse']:.5f} {other:.5f} {rows[-1]['ratio']:.4f}x "
                  f"{seconds:7.3f} s {their_seconds:8.2f} s {rows[-1]['faster']:6.1f}x", flush=True)
        return rows


def world(binary, rng, folder):
    """One random federation: orders, sizes, ranks, precision, missing certificate. Returns by how much the bound holds."""
    order = int(rng.integers(2, 7))
    sizes = [int(rng.integers(1, 7 if order > 4 else 10)) for _ in range(order - 1)]
    sites = int(rng.integers(1, 6))
    rank = int(rng.integers(1, 7))
    basis = [rng.normal(size=(size, rank)) for size in sizes]
    if rng.random() < 0.5:
        basis = [np.abs(factor) for factor in basis]
    files = []
    for k in range(sites):
        whole = rng.random((int(rng.integers(2, 30)), rank)) * 10.0 ** rng.integers(-2, 3)
        for factor in basis:
            whole = np.einsum("...r,ir->...ir", whole, factor)
        x = whole.sum(axis=-1)
        x += rng.random() * (x.std() + 1e-3) * rng.normal(size=x.shape)
        files.append(folder / f"x{k}.npy")
        np.save(files[-1], x)
    how = [["--eps", 0.5 * rng.random() + 0.01], ["--rank", int(rng.integers(1, 9))],
           ["--rank", int(rng.integers(1, 9)), "--precision", "f64"]][int(rng.integers(0, 3))]
    couplet(binary, "simulate", *files, *how, "-o", folder / "result", "--force")
    kept = np.load(folder / "result" / "features.npz")["core_2"].shape[0]
    model = ["pca", "cp", "nncp", "tucker"][int(rng.integers(0, 4))]
    components = int(rng.integers(1, min(kept, 4) + 1))
    # With and without the personal cores beside the features: both bounds have to hold.
    if rng.random() < 0.5:
        for file in (folder / "result").glob("personal_*.npz"):
            file.unlink()
    told = couplet(binary, "factor", folder / "result", "--model", model, "--components", components, "--starts", 1, "--sweeps", 30,
                   "--resamples", 0, "-o", folder / "out", "--force")
    with np.load(folder / "out" / "factors.npz") as arrays:
        rows = np.ones((1, 1))
        cores = [arrays[f"core_{n}"] for n in range(2, order + 1)]
    rows = cores[0]
    for core in cores[1:]:
        rows = np.tensordot(rows, core, axes=(-1, 0))
    rows = rows.reshape(components if model != "tucker" else rows.shape[0], -1)
    x = np.concatenate([np.load(file).reshape(-1, rows.shape[1]) for file in files])
    left, values, right = np.linalg.svd(rows, full_matrices=False)
    basis = right[values > 1e-12 * max(values.max(), 1e-300)]
    exact = np.linalg.norm(x - x @ basis.T @ basis) / np.linalg.norm(x)
    return told["rel_error_bound"] - exact, told["rel_error_bound"] / max(exact, 1e-12)


def worlds(binary, count, seed):
    rng = np.random.default_rng(seed)
    room, ratios = [], []
    with tempfile.TemporaryDirectory(prefix="couplet-models-") as scratch:
        for _ in range(count):
            margin, ratio = world(binary, rng, pathlib.Path(scratch))
            room.append(margin)
            ratios.append(ratio)
    violated = int(sum(margin < -1e-9 for margin in room))
    print(f"bound: {count} random federations, {violated} violations; least room {min(room):.2g}, median bound / error "
          f"{np.median(ratios):.2f}")
    return {"worlds": count, "violations": violated, "least_room": float(min(room)), "median_ratio": float(np.median(ratios))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line to measure")
    parser.add_argument("--starts", type=int, default=4, help="random starts of each fit")
    parser.add_argument("--worlds", type=int, default=500, help="random federations for the bound")
    parser.add_argument("--only", action="append", help="data sets to run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="build/bench/results/models.json", help="where every figure goes")
    options = parser.parse_args()
    print("data       model     R   couplet  TensorLy ratio    couplet    TensorLy faster")
    rows = [row for name, components, positive in CASES if not options.only or name in options.only
            for row in compare(options.couplet, name, components, positive, options.starts)]
    bound = worlds(options.couplet, options.worlds, options.seed) if options.worlds else {}
    output = pathlib.Path(options.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"rows": rows, "bound": bound}, indent=1) + "\n")
    return 1 if bound.get("violations") else 0


if __name__ == "__main__":
    sys.exit(main())
