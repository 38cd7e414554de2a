#!/usr/bin/env python3
"""Instructions of one TT-SVD, counted by callgrind: a gate that a busy machine cannot fool.

Each case runs `couplet decompose` on one thread under valgrind with two numbers of repetitions; the difference is what one
decomposition takes. Counts depend on the compiler, the BLAS and the vector instructions valgrind knows (AVX2), so they are
compared with those kept for the same BLAS: --keep writes them. Exit status 1 when a case takes over 3% more than was kept.

    bench/instructions.py [--couplet build/bin/couplet] [--kept build/bench/results/instructions.json] [--keep]
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from tensors import make_tensor, shape_of

CASES = [("50x30x30", 20, "noise"), ("50x30x30", 20, "fast"), ("250x20x24", 50, "noise"), ("250x20x24", 50, "slow"),
         ("250x20x24", 50, "fast")]
ALLOWED = 1.03


def counted(couplet, path, rank, repeat):
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", couplet, "decompose", path, "--max-rank", str(rank),
               "--repeat", str(repeat), "--threads", "1", "--json", "--quiet"]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or not found:
        raise SystemExit(f"{' '.join(map(str, command))}: {done.stderr.strip()[-400:]}")
    return int(found.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--couplet", default="build/bin/couplet", help="the command line to count")
    parser.add_argument("--kept", default="build/bench/results/instructions.json", type=pathlib.Path, help="counts to compare with")
    parser.add_argument("--keep", action="store_true", help="keep what is counted now")
    options = parser.parse_args()
    before = json.loads(options.kept.read_text()) if options.kept.exists() else {}
    now, worse = {}, False
    with tempfile.TemporaryDirectory(prefix="couplet-bench-") as folder:
        path = os.path.join(folder, "x.npy")
        for name, rank, spectrum in CASES:
            make_tensor(path, shape_of(name), "<f8", spectrum)
            few, many = (counted(options.couplet, path, rank, repeat) for repeat in (2, 6))
            key = f"{name} rank {rank} {spectrum}"
            now[key] = (many - few) / 4
            ratio = now[key] / before[key] if key in before else None
            worse = worse or (ratio is not None and ratio > ALLOWED)
            print(f"{key:>28}: {now[key] / 1e6:9.3f} million" + (f", {ratio:.4f} of what was kept" if ratio else ""), flush=True)
    if options.keep:
        options.kept.parent.mkdir(parents=True, exist_ok=True)
        options.kept.write_text(json.dumps(now, indent=1))
        print(f"kept: {options.kept}")
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())
