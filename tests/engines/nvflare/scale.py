#!/usr/bin/env python3
"""Several sites in FLARE's simulator beside the simulator alone: time, and the server's memory.

    scripts/engine-environment nvflare
    build/engines/nvflare/bin/python tests/engines/nvflare/scale.py --sites 8 32 --output build/engines/nvflare-scale

For every number of sites a job without content, which asks every site as often as Couplet does (three times) and is answered with
nothing, and Couplet's, one after the other. Tensors of 20 x 30 x 30, rank 5. The result is compared with that of `couplet
simulate`, bit for bit. `scale.json` has what is printed.
"""
from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

import couplet

ROOT = pathlib.Path(__file__).resolve().parents[3]
WAVES = 3  # greeting, answer, features
RANK = 5
EMPTY = f'''"""A job without content."""
from nvflare.apis.controller_spec import Task
from nvflare.apis.executor import Executor
from nvflare.apis.fl_constant import ReturnCode
from nvflare.apis.impl.controller import Controller
from nvflare.apis.shareable import Shareable, make_reply


class Ask(Controller):
    def start_controller(self, fl_ctx):
        pass

    def control_flow(self, abort_signal, fl_ctx):
        clients = fl_ctx.get_engine().get_clients()
        for _ in range({WAVES}):
            task = Task(name="nothing", data=Shareable())
            self.broadcast_and_wait(task=task, targets=clients, min_responses=len(clients), fl_ctx=fl_ctx,
                                    abort_signal=abort_signal)
        self.log_info(fl_ctx, "all have answered")

    def stop_controller(self, fl_ctx):
        pass


class Answer(Executor):
    def execute(self, task_name, shareable, fl_ctx, abort_signal):
        return make_reply(ReturnCode.OK)
'''


def loopback_module():
    spec = importlib.util.spec_from_file_location("loopback", ROOT / "examples" / "nvflare" / "loopback.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


loopback = loopback_module()


def write_empty_job(folder: pathlib.Path) -> pathlib.Path:
    app = folder / "empty" / "app"
    for part in ("config", "custom"):
        (app / part).mkdir(parents=True)
    (app / "custom" / "empty.py").write_text(EMPTY)
    (folder / "empty" / "meta.json").write_text((ROOT / "examples" / "nvflare" / "job" / "meta.json").read_text())
    common = {"format_version": 2, "components": [], "task_data_filters": [], "task_result_filters": []}
    (app / "config" / "config_fed_server.json").write_text(json.dumps(
        common | {"workflows": [{"id": "ask", "path": "empty.Ask", "args": {}}]}))
    (app / "config" / "config_fed_client.json").write_text(json.dumps(
        common | {"executors": [{"tasks": ["nothing"], "executor": {"path": "empty.Answer", "args": {}}}]}))
    return folder / "empty"


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
    """Resident megabytes of the simulator's first process, in which the server runs."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid = pid
        self._over = threading.Event()
        self.samples: list[float] = []

    def run(self) -> None:
        while not self._over.wait(0.5):
            try:
                pages = int(pathlib.Path(f"/proc/{self._pid}/statm").read_text().split()[1])
            except (OSError, IndexError):
                continue
            self.samples.append(pages * os.sysconf("SC_PAGE_SIZE") / 1e6)

    def end(self) -> None:
        self._over.set()
        self.join()


def measure(job: pathlib.Path, sites: int, threads: int, workspace: pathlib.Path, timeout: float) -> dict:
    loopback.allow_couplet(workspace / "local")
    begun = time.monotonic()
    with open(workspace / "log.txt", "wb") as log:
        process = subprocess.Popen([loopback.BIN / "nvflare", "simulator", str(job), "-w", str(workspace), "-n", str(sites), "-t",
                                    str(threads)], stdout=log, stderr=subprocess.STDOUT)
        memory = ServerMemory(process.pid)
        memory.start()
        try:
            process.wait(timeout)
        finally:
            process.kill()
            memory.end()
    return {"seconds": round(time.monotonic() - begun, 1), "server_megabytes_max": round(max(memory.samples, default=0), 1),
            "log": (workspace / "log.txt").read_text(errors="replace")}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sites", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--threads", type=int, default=2, help="sites that run at one time")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=3600, help="seconds for each run")
    parser.add_argument("--output", type=pathlib.Path, required=True, metavar="DIR")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    rows = []
    with tempfile.TemporaryDirectory(prefix="couplet-scale-") as name:
        folder = pathlib.Path(name)
        empty = write_empty_job(folder)
        for sites in options.sites:
            data = folder / f"data-{sites}"
            data.mkdir()
            files = make_sites(data, sites, options.seed)
            alone = measure(empty, sites, options.threads, folder / f"empty-{sites}", options.timeout)
            out = folder / f"out-{sites}"
            (folder / f"job-{sites}").mkdir()
            job = loopback.write_job(folder / f"job-{sites}", {"rank": RANK, "deadline": options.timeout, "sites": sites,
                                                               "output": str(out)}, {"data": str(data), "output": str(out)})
            ours = measure(job, sites, options.threads, folder / f"couplet-{sites}", options.timeout)
            if "all have answered" not in alone["log"] or not (out / "result.json").exists():
                print(alone["log"][-3000:], ours["log"][-3000:])
                return 1
            expected = couplet.simulate(files, rank=RANK)
            got = couplet.load(out / "features.npz")
            same = all(np.array_equal(a, b) for a, b in zip(got.cores, expected.features.cores, strict=True))
            for part in (alone, ours):
                part.pop("log")
            rows.append({"sites": sites, "engine alone": alone, "couplet": ours,
                         "ratio": round(ours["seconds"] / alone["seconds"], 2), "same_bits_as_simulate": same})
            print(json.dumps(rows[-1]), flush=True)
    (options.output / "scale.json").write_text(json.dumps(rows, indent=2) + "\n")
    return 0 if all(row["same_bits_as_simulate"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
