#!/usr/bin/env python3
"""Many sites in Flower's simulation engine beside the engine alone: time and the server's memory.

    scripts/engine-environment flower
    build/engines/flower/bin/python tests/engines/flower/scale.py --sites 1000 --output build/engines/scale

For every number of sites an app without content, which asks every node as often as Couplet does (three times) and is answered
with nothing, and Couplet's, one after the other. Tensors of 20 x 30 x 30, rank 5. The result is compared with that of
`couplet simulate`, bit for bit. `scale.json` has what is printed.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time

import numpy as np

import couplet

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from simulation import APP, simulation  # noqa: E402

WAVES = 3  # greeting, answer, features
RANK = 5
EMPTY = f'''"""An app without content."""
import time

from flwr.app import Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

server_app = ServerApp()
client_app = ClientApp()


@server_app.main()
def serve(grid, context):
    nodes = []
    while len(nodes) < int(context.run_config["sites"]):
        nodes = list(grid.get_node_ids())
        time.sleep(0.1)
    for _ in range({WAVES}):
        asked = [Message(RecordDict(), dst_node_id=node, message_type="query.nothing") for node in nodes]
        got = list(grid.send_and_receive(asked))
        assert len(got) == len(nodes) and not any(message.has_error() for message in got)
    print("all have answered", flush=True)


@client_app.query("nothing")
def answer(message, context):
    return Message(RecordDict(), reply_to=message)
'''


def write_empty_app(folder: pathlib.Path) -> pathlib.Path:
    app = folder / "empty"
    shutil.copytree(APP, app, ignore=shutil.ignore_patterns("run", "*.md", "loopback.py", "__pycache__"))
    (app / "couplet_flower" / "app.py").write_text(EMPTY)
    return app


def make_sites(folder: pathlib.Path, count: int, seed: int) -> list[pathlib.Path]:
    """Tensors with common features; each is made from its own seed."""
    shared = np.random.default_rng(seed).normal(size=(RANK, 900))
    files = []
    for k in range(count):
        rng = np.random.default_rng([seed, k])
        files.append(folder / f"client_{k + 1}.npy")
        np.save(files[-1], (rng.normal(size=(20, RANK)) @ shared + 0.1 * rng.normal(size=(20, 900))).reshape(20, 30, 30))
    return files


class ServerMemory(threading.Thread):
    """Resident megabytes, over time, of the process in which the server's app runs."""

    def __init__(self, port: int) -> None:
        super().__init__(daemon=True)
        self._mark = f"127.0.0.1:{port}".encode()
        self._over = threading.Event()
        self.samples: list[tuple[float, float]] = []

    def run(self) -> None:
        while not self._over.wait(0.5):
            found = [self._megabytes(int(entry)) for entry in os.listdir("/proc") if entry.isdigit()]
            if used := [amount for amount in found if amount]:
                self.samples.append((time.monotonic(), max(used)))

    def end(self) -> None:
        self._over.set()
        self.join()

    def _megabytes(self, pid: int) -> float:
        try:
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"flwr-simulation" not in command or self._mark not in command:
                return 0
            return int(pathlib.Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
        except (OSError, ProcessLookupError):
            return 0


def measure(folder: pathlib.Path, nodes: int, config: str, app: pathlib.Path, timeout: float) -> dict:
    folder.mkdir()
    with simulation(folder) as engine:
        memory = ServerMemory(engine.port)
        memory.start()
        begun = time.monotonic()
        log = engine.run(config, nodes, app, timeout)
        seconds = time.monotonic() - begun
        memory.end()
    used = [amount for _, amount in memory.samples]
    # Without the beginning, in which the engine is loaded.
    late = used[len(used) // 4:]
    return {"seconds": round(seconds, 1), "server_megabytes_max": round(max(used, default=0), 1),
            "server_megabytes_growth": round(late[-1] - late[0], 1) if late else None, "log": log}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sites", type=int, nargs="+", default=[250, 1000])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for each run")
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="DIR")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory(prefix="couplet-scale-") as name:
        folder = pathlib.Path(name)
        empty = write_empty_app(folder)
        for sites in options.sites:
            data = folder / f"data-{sites}"
            data.mkdir()
            files = make_sites(data, sites, options.seed)
            alone = measure(folder / f"empty-{sites}", sites, f"sites={sites}", empty, options.timeout)
            out = folder / f"out-{sites}"
            ours = measure(folder / f"couplet-{sites}", sites,
                           f'rank={RANK} deadline={options.timeout} data="{data}" output="{out}"', APP, options.timeout)
            if not (out / "result.json").exists():
                print(ours["log"])
                return 1
            expected = couplet.simulate(files, rank=RANK)
            got = couplet.load(out / "features.npz")
            same = all(np.array_equal(a, b) for a, b in zip(got.cores, expected.features.cores, strict=True))
            row = {"sites": sites, "engine alone": alone, "couplet": ours, "ratio": round(ours["seconds"] / alone["seconds"], 2),
                   "same_bits_as_simulate": same, "rse": expected.rse}
            for part in (alone, ours):
                part.pop("log")
            rows.append(row)
            print(json.dumps(row), flush=True)
    (options.output / "scale.json").write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["same_bits_as_simulate"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
