#!/usr/bin/env python3
"""Sparse tensors beside SciPy, in one run: decompose of a .tns file, the sparse Gram route in SciPy and svds.

CMS SynPUF 1000 x 500 x 500 (COUPLET_DATA) at rank 50, else a generated tensor of that shape and as many entries; with CMS also
all four modes, 1000 x 500 x 499 x 500. Prints one JSON object; --output keeps it. Seconds are medians of --repeat runs.
"""
import argparse
import gzip
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

ROOT = pathlib.Path(__file__).resolve().parent.parent
RANK = 50


def cms(four_modes: bool):
    """Indices from 0 and values; duplicates are left to the reader."""
    folder = os.environ.get("COUPLET_DATA")
    if folder is None:
        return None
    with gzip.open(pathlib.Path(folder) / "cms_synpuf" / "cms1k_dense.csv.gz", "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.int64)
    columns = [1, 2, 3, 4] if four_modes else [1, 2, 4]
    return rows[:, columns] - 1, rows[:, 0].astype(float)


def generated():
    rng = np.random.default_rng(0)
    shape = np.array([1000, 500, 500])
    return np.minimum((rng.random((121_057, 3)) ** 2 * shape).astype(np.int64), shape - 1), np.ones(121_057)


def scipy_gram(x, shape):
    """Left Gram, its leading vectors, the projection, and the same once more for the second mode."""
    gram = (x @ x.T).toarray()
    vectors = np.linalg.eigh(gram)[1][:, -RANK:]
    projected = x.T.dot(vectors).T.reshape(RANK * shape[1], shape[2])
    second = np.linalg.eigh(projected.T @ projected)[1][:, -RANK:]
    return np.linalg.norm(projected @ second)


def timed(work, repeat):
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        found = work()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds), found


def couplet(path, repeat):
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    out = subprocess.run([ROOT / "build" / "bin" / "couplet", "decompose", path, "--max-rank", str(RANK), "--json", "--quiet",
                          "--repeat", str(repeat)], check=True, capture_output=True, text=True).stdout
    report = json.loads(out)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"read": report["seconds"]["read"], "compute": report["seconds"]["compute"], "rel_error": report["rel_error"],
            "norm": report["norm"], "peak_mib": max(before, peak) / 1024}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--output", type=pathlib.Path)
    options = parser.parse_args()
    data = cms(False)
    indices, values = data if data is not None else generated()
    report = {"cores": os.cpu_count(), "data": "CMS" if data is not None else "generated", "rank": RANK}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.tns"
        np.savetxt(path, np.column_stack([indices + 1, values]), fmt="%d")
        shape = indices.max(axis=0) + 1
        x = scipy.sparse.coo_matrix((values, (indices[:, 0], indices[:, 1] * shape[2] + indices[:, 2])),
                                    shape=(shape[0], shape[1] * shape[2])).tocsr()
        report["three_modes"] = {"shape": shape.tolist(), "entries": x.nnz, "couplet": couplet(path, options.repeat)}
        ours = report["three_modes"]["couplet"]["compute"]
        theirs, kept = timed(lambda: scipy_gram(x, shape), options.repeat)
        norm = scipy.sparse.linalg.norm(x)
        svds, _ = timed(lambda: scipy.sparse.linalg.svds(x, k=RANK), max(1, options.repeat // 2))
        report["three_modes"] |= {"scipy_gram": {"seconds": theirs, "ratio": theirs / ours,
                                                 "rel_error": float(np.sqrt(max(0.0, 1 - (kept / norm) ** 2)))},
                                  "svds_first_mode": {"seconds": svds, "ratio": svds / ours}}
        if data is not None:
            indices, values = cms(True)
            np.savetxt(path, np.column_stack([indices + 1, values]), fmt="%d")
            report["four_modes"] = {"shape": (indices.max(axis=0) + 1).tolist(), "couplet": couplet(path, 1)}
    text = json.dumps(report, indent=1)
    print(text)
    if options.output:
        options.output.write_text(text)


main()
