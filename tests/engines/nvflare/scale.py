#!/usr/bin/env python3
"""Several sites in FLARE's simulator beside the simulator alone: time, and the server's memory.

    scripts/engine-environment nvflare
    build/engines/nvflare/bin/python tests/engines/nvflare/scale.py --sites 8 32 --output build/engines/nvflare-scale

What is compared is in ../engine_scale.py. `scale.json` has what is printed.
"""
from __future__ import annotations

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
import engine_scale  # noqa: E402
from engine_support import EXAMPLES, loopback_of  # noqa: E402

loopback = loopback_of("nvflare")
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
        for _ in range({engine_scale.WAVES}):
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


class Flare:
    def __init__(self, folder: pathlib.Path, timeout: float, threads: int) -> None:
        self._timeout = timeout
        self._threads = threads
        self._empty = folder / "empty"
        app = self._empty / "app"
        for part in ("config", "custom"):
            (app / part).mkdir(parents=True)
        (app / "custom" / "empty.py").write_text(EMPTY)
        (self._empty / "meta.json").write_text((EXAMPLES / "nvflare" / "job" / "meta.json").read_text())
        common = {"format_version": 2, "components": [], "task_data_filters": [], "task_result_filters": []}
        (app / "config" / "config_fed_server.json").write_text(json.dumps(
            common | {"workflows": [{"id": "ask", "path": "empty.Ask", "args": {}}]}))
        (app / "config" / "config_fed_client.json").write_text(json.dumps(
            common | {"executors": [{"tasks": ["nothing"], "executor": {"path": "empty.Answer", "args": {}}}]}))

    def empty(self, sites: int, folder: pathlib.Path) -> str:
        return self._simulate(self._empty, sites, folder)

    def couplet(self, sites: int, folder: pathlib.Path, data: pathlib.Path, output: pathlib.Path) -> str:
        job = loopback.write_job(folder, {"rank": engine_scale.RANK, "deadline": self._timeout, "sites": sites,
                                          "output": str(output)}, {"data": str(data), "output": str(output)})
        return self._simulate(job, sites, folder)

    def is_server(self, command: bytes) -> bool:
        # The simulator's first process, in which the server runs; those of the sites are started from another module.
        return b"simulator" in command and b"simulator_worker" not in command

    def _simulate(self, job: pathlib.Path, sites: int, folder: pathlib.Path) -> str:
        workspace = folder / "workspace"
        loopback.allow_couplet(workspace / "local")
        command = [loopback.BIN / "python", EXAMPLES / "nvflare" / "simulator.py", str(job), "-w", str(workspace), "-n", str(sites), "-t", str(self._threads)]
        return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=self._timeout).stdout


if __name__ == "__main__":
    parser = engine_scale.arguments(__doc__, [8, 32])
    parser.add_argument("--threads", type=int, default=2, help="sites that run at one time")
    options = parser.parse_args()
    sys.exit(engine_scale.run(lambda folder: Flare(folder, options.timeout, options.threads), options))
