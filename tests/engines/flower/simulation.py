"""Flower's simulation engine on this machine: a SuperLink of its own for as long as it is used."""
from __future__ import annotations

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from engine_support import EXAMPLES, loopback_of  # noqa: E402

APP = EXAMPLES / "flower"
loopback = loopback_of("flower")


class Simulation:
    """Runs apps on a SuperLink of the simulation engine."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.port = loopback.free_port()
        home = folder / "home"
        home.mkdir()
        (home / "config.toml").write_text(f'[superlink]\ndefault = "sim"\n[superlink.sim]\naddress = "127.0.0.1:{self.port}"\n'
                                          "insecure = true\n")
        self.environment = dict(os.environ, FLWR_HOME=str(home), FLWR_TELEMETRY_ENABLED="0", FLWR_DISABLE_UPDATE_CHECK="1",
                                FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION="1", RAY_DEDUP_LOGS="1", PYTHONUNBUFFERED="1",
                                RAY_USAGE_STATS_ENABLED="0", PATH=f"{loopback.BIN}{os.pathsep}{os.environ['PATH']}")
        with open(folder / "superlink.log", "wb") as log:
            self.link = subprocess.Popen([loopback.BIN / "flower-superlink", "--insecure", "--simulation", "--host", "127.0.0.1",
                                          "--port", str(self.port)], env=self.environment, stdout=log,
                                         stderr=subprocess.STDOUT, start_new_session=True)

    def wait(self) -> None:
        """Until it can be asked to run something."""
        until = time.monotonic() + loopback.PATIENCE
        while time.monotonic() < until and self.link.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.2)
        raise AssertionError((self.folder / "superlink.log").read_text())

    def run(self, config: str, nodes: int, app: pathlib.Path = APP, timeout: float = 3600) -> str:
        """Runs the app to its end and returns its log."""
        return self.command([str(loopback.BIN / "flwr"), "run", str(app), "--stream", "--run-config", config, "--federation-config",
                             f"num-supernodes={nodes} client-resources-num-cpus=1"], app, timeout)

    def command(self, command: list[str], folder: pathlib.Path, timeout: float = 3600) -> str:
        """The same for a whole command, in that folder."""
        done = subprocess.run(command, cwd=folder, env=self.environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=timeout)
        if "started run" not in done.stdout:
            raise AssertionError(done.stdout + (self.folder / "superlink.log").read_text())
        return done.stdout

    def end(self) -> None:
        loopback.end_sessions([self.link])


@contextlib.contextmanager
def simulation(folder: pathlib.Path) -> Iterator[Simulation]:
    running = Simulation(folder)
    try:
        running.wait()
        yield running
    finally:
        running.end()
