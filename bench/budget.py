#!/usr/bin/env python3
"""What a budget of privacy costs: errors on held-out patients with sums of modes under mu, beside all data in one place
without noise. Runs `couplet simulate --secure --mu M` on four sites.

    COUPLET_DATA=DIR bench/budget.py [--couplet build/bin/couplet] [--only NAME] [--mu 4 1] [--draws 3] [--json FILE]

Needs NumPy. Data: `records` made up by the rule of typical_records() (src/shield/expected_error.cpp), and, where the folder
has them, synthea (products of the 40 most common conditions and medications), diabetes, cms and ecg."""
import argparse
import csv
import gzip
import json
import os
import pathlib
import subprocess
import tempfile

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = pathlib.Path(os.environ.get("COUPLET_DATA", ""))
SITES = 4


def records(count, seed=0, labels=(40, 40), groups=60):
    """Sparse products of presences, from one made-up population."""
    people = np.random.default_rng(12345)
    share = np.arange(1, groups + 1) ** -0.8
    share /= share.sum()
    modes = []
    for n in labels:
        common = np.arange(1, n + 1) ** -0.7
        odds = np.zeros((groups, n))
        for g in range(groups):
            odds[g, people.choice(n, 4, replace=False, p=common / common.sum())] = people.uniform(0.2, 0.9, 4)
        modes.append((0.24 * common, odds))
    draw = np.random.default_rng(seed)
    rows = []
    while len(rows) < count:
        own = draw.choice(groups, 1 + draw.poisson(draw.gamma(1.2, 1.6)), p=share)
        here = [draw.random(len(c)) < 1 - np.prod(1 - odds[own], 0) * (1 - c) for c, odds in modes]
        if all(one.any() for one in here):
            rows.append(np.multiply.outer(*here))
    return np.array(rows, float)


def shuffled(x, train):
    """Training patients and all others, at most 300."""
    x = x[np.random.default_rng(0).permutation(len(x))]
    return x[:train], x[-300:]


def synthea(train):
    def presences(name):
        with gzip.open(DATA / "synthea_1k" / f"{name}.csv.gz", "rt") as lines:
            pairs = [(row["PATIENT"], row["CODE"]) for row in csv.DictReader(lines)]
        codes, counts = np.unique([code for _, code in pairs], return_counts=True)
        return pairs, {code: i for i, code in enumerate(codes[np.argsort(-counts, kind="stable")][:40])}
    both = [presences("conditions"), presences("medications")]
    patients = {p: i for i, p in enumerate(sorted({p for pairs, _ in both for p, _ in pairs}))}
    marks = [np.zeros((len(patients), 40)) for _ in both]
    for (pairs, codes), mark in zip(both, marks):
        for patient, code in pairs:
            if code in codes:
                mark[patients[patient], codes[code]] = 1
    x = np.einsum("pi,pj->pij", *marks)
    return shuffled(x[x.any((1, 2))], train)


def cms():
    events = np.loadtxt(gzip.open(DATA / "cms_synpuf" / "cms1k_dense.csv.gz", "rt"), delimiter=",").astype(int)
    place = [{c: i for i, c in enumerate(np.bincount(events[:, at]).argsort()[::-1][:40])} for at in (2, 4)]
    x = np.zeros((events[:, 1].max() + 1, 40, 40))
    for row in events:
        if row[2] in place[0] and row[4] in place[1]:
            x[row[1], place[0][row[2]], place[1][row[4]]] = 1
    x = x[x.any((1, 2))]
    x = x[np.random.default_rng(0).permutation(len(x))]
    return x[:-147], x[-147:]


def of_product(name, *flags):
    """What `couplet data` builds of a public file, in one tensor: 1,000 patients, 300 others."""
    with tempfile.TemporaryDirectory() as folder:
        run("data", name, "--count", 1300, "--clients", 1, *flags, "-o", folder + "/x")
        return shuffled(np.load(folder + "/x/client_1.npy").astype(float), 1000)


CASES = {
    "records 4000": (lambda: (records(4000), records(1000, 1)), (10, 20, 50)),
    "records 160": (lambda: (records(160), records(1000, 1)), (10, 20, 50)),
    "synthea 640": (lambda: synthea(640), (10, 20, 50)),
    "synthea 160": (lambda: synthea(160), (10, 20, 50)),
    "diabetes 1000": (lambda: of_product("diabetes"), (10, 20, 50)),
    "cms 400": (cms, (10, 20, 50)),
    "ecg 1000": (lambda: of_product("ecg"), (10, 20, 50)),
}


def run(*words):
    done = subprocess.run([OPTIONS.couplet, *map(str, words), "--json", "--quiet"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"couplet {' '.join(map(str, words))}: {done.stderr}")
    return json.loads(done.stdout)


def measure(folder, name):
    make, ranks = CASES[name]
    train, others = make()
    np.save(folder / "train.npy", train)
    np.save(folder / "others.npy", others)
    rows = []
    def one(rank, *flags):
        found = run("simulate", "--split", SITES, folder / "train.npy", "--rank", rank, "-o", folder / "out", "--force", *flags)
        found["heldout"] = run("project", folder / "out" / "features.npz", folder / "others.npy")["rse"]
        return found
    for rank in ranks:
        whole = one(rank, "--method", "centralized", "--eps2", 0)["heldout"]
        plain = one(rank, "--plain")
        row = {"data": name, "rank": rank, "none": whole, "plain_bytes": plain["bytes_total"],
               "plain_seconds": plain["seconds"]["total"], "budgets": []}
        for mu in OPTIONS.mu:
            draws = [one(rank, "--secure", "--mu", mu) for _ in range(OPTIONS.draws)]
            mean = float(np.mean([d["heldout"] for d in draws]))
            row["budgets"].append({"mu": mu, "heldout": mean, "ratio": mean / whole, "bytes": draws[0]["bytes_total"],
                                   "rounds": draws[0]["rounds"], "seconds": draws[0]["seconds"]["total"],
                                   "clip": draws[0]["privacy"]["clip"], "columns": draws[0]["privacy"]["columns"]})
        rows.append(row)
        print(f"{name:14} R {rank:3}  none {whole:.3f}  " + "  ".join(
            f"mu {b['mu']:g}: {b['heldout']:.3f} (x{b['ratio']:.3f}, {b['columns']} columns, {b['bytes'] / 1000:.0f} kB, "
            f"{b['rounds']} rounds, {b['seconds']:.2f} s)" for b in row["budgets"]) +
            f"  plain {plain['bytes_total'] / 1000:.0f} kB, {plain['seconds']['total']:.2f} s", flush=True)
    return rows


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in CASES:
            if OPTIONS.only and not any(name.startswith(only) for only in OPTIONS.only):
                continue
            rows += measure(pathlib.Path(folder), name)
    if OPTIONS.json:
        pathlib.Path(OPTIONS.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--couplet", default=str(ROOT / "build" / "bin" / "couplet"))
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--mu", nargs="*", type=float, default=[4, 1])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--json")
    OPTIONS = parser.parse_args()
    main()
