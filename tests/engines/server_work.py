#!/usr/bin/env python3
"""What the server of a job does for each site, without an engine in between: processor time and memory.

    build/engines/flower/bin/python tests/engines/server_work.py --sites 250 1000 4000

Every site's message is made, handed over and forgotten, as an engine does it; only the server's part is timed. Tensors of
20 x 30 x 30, rank 5. A line of JSON for each number of sites.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import sys
import time

import numpy as np

from couplet import _engine
from couplet._watch import Watch

RANK = 5


class Work:
    """Processor time of the server, and the most memory that it has grown by."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.begun = resident()
        self.grown = 0.0

    def __call__(self, step, *arguments):
        begun = time.process_time()
        made = step(*arguments)
        self.seconds += time.process_time() - begun
        self.grown = max(self.grown, resident() - self.begun)
        return made


def resident() -> float:
    """Megabytes."""
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def site(k: int, shared: np.ndarray) -> np.ndarray:
    rng = np.random.default_rng([1, k])
    return (rng.normal(size=(20, RANK)) @ shared + 0.1 * rng.normal(size=(20, 900))).reshape(20, 30, 30)


def measure(sites: int, tree: int) -> dict:
    shared = np.random.default_rng(1).normal(size=(RANK, 900))
    job = _engine.StarJob([f"--rank={RANK}"], "00" * 16, "", tree)
    welcome = job.welcome(0, sites)
    names = [f"site-{k}" for k in range(sites)]

    def answer(k: int) -> bytes:
        question = b"" if not job.questions else job.question(0)
        return bytes(_engine.answer(welcome + question, site(k, shared), [], "", ("", "", "", ""), Watch)[0])

    answer(0)  # libraries are loaded
    work = Work()
    for k, name in enumerate(names):
        work(job.greet, name, answer(k))
    work(job.refuse_misfits)
    work(job.begin, names, sites)
    for k in range(sites):
        work(job.take, k, answer(k))
    for k in range(sites):
        work(job.report, k, answer(k))
    return {"sites": sites, "tree": tree, "server_milliseconds_per_site": round(1000 * work.seconds / sites, 3),
            "server_megabytes_grown": round(work.grown, 1), "rse": json.loads(job.json())["rse"]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sites", type=int, nargs="+", default=[250, 1000, 4000])
    parser.add_argument("--tree", type=int, default=0, help="sites to a merger of a tree; 0: one merges all")
    options = parser.parse_args()
    for sites in options.sites:
        print(json.dumps(measure(sites, options.tree)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
