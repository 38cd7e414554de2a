#!/usr/bin/env python3
"""Many sites in Flower's simulation engine beside the engine alone: time and the server's memory.

    scripts/engine-environment flower
    build/engines/flower/bin/python tests/engines/flower/scale.py --sites 1000 --output build/engines/flower-scale

What is compared is in ../engine_scale.py. `scale.json` has what is printed.
"""
from __future__ import annotations

import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import engine_scale  # noqa: E402
from simulation import APP, simulation  # noqa: E402

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
    for _ in range({engine_scale.WAVES}):
        asked = [Message(RecordDict(), dst_node_id=node, message_type="query.nothing") for node in nodes]
        got = list(grid.send_and_receive(asked))
        assert len(got) == len(nodes) and not any(message.has_error() for message in got)
    print("all have answered", flush=True)


@client_app.query("nothing")
def answer(message, context):
    return Message(RecordDict(), reply_to=message)
'''


class Flower:
    def __init__(self, folder: pathlib.Path, timeout: float) -> None:
        self._timeout = timeout
        self._empty = folder / "empty"
        shutil.copytree(APP, self._empty, ignore=shutil.ignore_patterns("run", "*.md", "loopback.py", "__pycache__"))
        (self._empty / "couplet_flower" / "app.py").write_text(EMPTY)

    def empty(self, sites: int, folder: pathlib.Path) -> str:
        with simulation(folder) as engine:
            return engine.run(f"sites={sites}", sites, self._empty, self._timeout)

    def couplet(self, sites: int, folder: pathlib.Path, data: pathlib.Path, output: pathlib.Path) -> str:
        config = f'rank={engine_scale.RANK} deadline={float(self._timeout)} data="{data}" output="{output}"'
        with simulation(folder) as engine:
            return engine.run(config, sites, APP, self._timeout)

    def is_server(self, command: bytes) -> bool:
        return b"flwr-simulation" in command


if __name__ == "__main__":
    options = engine_scale.arguments(__doc__, [100, 1000]).parse_args()
    sys.exit(engine_scale.run(lambda folder: Flower(folder, options.timeout), options))
