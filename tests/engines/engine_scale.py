"""Many sites on an engine beside the engine alone: what both scale.py share.

For every number of sites an app without content, which asks every site as often as Couplet does (three times) and is answered with
nothing, and Couplet's, one after the other. Tensors of 20 x 30 x 30, rank 5. The result is compared with that of `couplet simulate`,
bit for bit. Beside the time on the clock the processors' time is counted, over all processes of the engine: other work on the
machine changes the one and hardly the other.
"""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

import couplet

WAVES = 3  # greeting, answer, features
RANK = 5
_MARK = "COUPLET_SCALE"  # in the environment of every process of a measurement
_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


class Engine(Protocol):
    """What is measured; each call runs one job to its end in a new folder and returns its log."""

    def empty(self, sites: int, folder: pathlib.Path) -> str: ...

    def couplet(self, sites: int, folder: pathlib.Path, data: pathlib.Path, output: pathlib.Path) -> str: ...

    def is_server(self, command: bytes) -> bool:
        """Whether the server's part runs in the process with this command line."""


def make_sites(folder: pathlib.Path, count: int, seed: int) -> list[pathlib.Path]:
    """Tensors with common features; each is made from its own seed."""
    shared = np.random.default_rng(seed).normal(size=(RANK, 900))
    files = []
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        files.append(folder / f"client_{k + 1}.npy")
        np.save(files[-1], (rng.normal(size=(20, RANK)) @ shared + 0.1 * rng.normal(size=(20, 900))).reshape(20, 30, 30))
    return files


@dataclass
class Sampler(threading.Thread):
    """Every half second: processor time of all processes with the mark, and resident megabytes of the server's."""

    mark: bytes
    is_server: Callable[[bytes], bool]
    megabytes: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._over = threading.Event()
        self._seconds: dict[tuple[int, str], float] = {}  # by process and the time it began

    __hash__ = threading.Thread.__hash__

    def run(self) -> None:
        while not self._over.wait(0.5):
            used = [self._look_at(pathlib.Path("/proc", entry)) for entry in os.listdir("/proc") if entry.isdigit()]
            if found := [amount for amount in used if amount]:
                self.megabytes.append(max(found))

    def end(self) -> None:
        self._over.set()
        self.join()

    def seconds(self) -> float:
        return sum(self._seconds.values())

    def _look_at(self, process: pathlib.Path) -> float:
        """Megabytes of the server's process; 0 for all others."""
        try:
            if self.mark not in (process / "environ").read_bytes():
                return 0
            stat = (process / "stat").read_text().rsplit(")", 1)[1].split()
            self._seconds[int(process.name), stat[19]] = (int(stat[11]) + int(stat[12])) / _TICK
            if not self.is_server((process / "cmdline").read_bytes()):
                return 0
            return int((process / "statm").read_text().split()[1]) * _PAGE / 1e6
        except (OSError, IndexError, ValueError):
            return 0  # it is not ours, or it ended


@contextlib.contextmanager
def sampled(mark: str, is_server: Callable[[bytes], bool]) -> Iterator[Sampler]:
    os.environ[_MARK] = mark
    sampler = Sampler(f"{_MARK}={mark}".encode(), is_server)
    sampler.start()
    try:
        yield sampler
    finally:
        sampler.end()
        del os.environ[_MARK]


def measure(engine: Engine, folder: pathlib.Path, job: Callable[[pathlib.Path], str]) -> dict:
    folder.mkdir()
    begun = time.monotonic()
    with sampled(folder.name, engine.is_server) as sampler:
        log = job(folder)
    late = sampler.megabytes[len(sampler.megabytes) // 4:]  # without the beginning, in which the engine is loaded
    return {"seconds": round(time.monotonic() - begun, 1), "processor_seconds": round(sampler.seconds(), 1),
            "server_megabytes_max": round(max(sampler.megabytes, default=0), 1),
            "server_megabytes_growth": round(late[-1] - late[0], 1) if late else None, "log": log}


def compare(engine: Engine, sites: int, seed: int, folder: pathlib.Path) -> dict:
    data, output = folder / f"data-{sites}", folder / f"out-{sites}"
    data.mkdir()
    files = make_sites(data, sites, seed)
    alone = measure(engine, folder / f"empty-{sites}", lambda where: engine.empty(sites, where))
    ours = measure(engine, folder / f"couplet-{sites}", lambda where: engine.couplet(sites, where, data, output))
    if "all have answered" not in alone["log"] or not (output / "result.json").exists():
        raise SystemExit(f"scale: a job did not come to its end\n{alone['log'][-3000:]}\n{ours['log'][-3000:]}")
    expected = couplet.simulate(files, rank=RANK)
    got = couplet.load(output / "features.npz")
    for part in (alone, ours):
        part.pop("log")
    return {"sites": sites, "engine alone": alone, "couplet": ours, "ratio": round(ours["seconds"] / alone["seconds"], 2),
            "processor_ratio": round(ours["processor_seconds"] / alone["processor_seconds"], 2), "load": os.getloadavg()[2],
            "same_bits_as_simulate": all(np.array_equal(a, b) for a, b in zip(got.cores, expected.features.cores, strict=True))}


def arguments(description: str, sites: list[int]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description.split("\n\n")[0])
    parser.add_argument("--sites", type=int, nargs="+", default=sites)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for each run")
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="DIR")
    return parser


def run(engine_in: Callable[[pathlib.Path], Engine], options: argparse.Namespace) -> int:
    """Measures and leaves scale.json in the output's folder; the exit status."""
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory(prefix="couplet-scale-") as name:
        folder = pathlib.Path(name)
        engine = engine_in(folder)
        for sites in options.sites:
            rows.append(compare(engine, sites, options.seed, folder))
            print(json.dumps(rows[-1]), flush=True)
            (options.output / "scale.json").write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["same_bits_as_simulate"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit("engine_scale is for flower/scale.py and nvflare/scale.py")
