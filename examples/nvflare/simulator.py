"""FLARE's simulator without two races of its threads, of which each starts processes for sites: `simulator.py JOB -w FOLDER -n SITES
-t THREADS`, as `nvflare simulator` takes it.

In FLARE 2.9 all threads write the name of the site that they start into one dictionary, which they send to its process a moment later:
two that do so at one time start a process that has the name of one site and the token of another. And a port is asked of the
system and set free before a process takes it, seconds later: two threads may get the same one. A machine with other work
makes both likelier, and may need more than the minute that a process is given to start.
"""
from __future__ import annotations

import argparse
import sys
import threading

from nvflare.private.fed.app.simulator import simulator, simulator_runner
from nvflare.private.fed.app.simulator.simulator_runner import SimulatorClientRunner

PATIENCE = 600.0  # seconds for a site's process to start


class OwnCopy:
    """An attribute that is a dictionary: each thread gets a copy of what was set, and keeps it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._set, self._copies = f"_{name}_set", f"_{name}_copies"

    def __set__(self, instance: object, value: dict) -> None:
        instance.__dict__[self._set] = value

    def __get__(self, instance: object, owner: type) -> dict:
        copies = instance.__dict__.setdefault(self._copies, threading.local())
        if not hasattr(copies, "own"):
            copies.own = dict(instance.__dict__[self._set])
        return copies.own


def never_twice(ask):
    """The same function for ports, which gives none that was given before."""
    given: set[int] = set()
    lock = threading.Lock()

    def ports(number: int) -> list[int]:
        fresh: list[int] = []
        with lock:
            while len(fresh) < number:
                fresh += [port for port in ask(number - len(fresh)) if port not in given]
                given.update(fresh)
        return fresh

    return ports


class Simulator(SimulatorClientRunner):
    build_ctx = OwnCopy()

    def _create_connection(self, open_port: int, timeout: float = PATIENCE):
        return super()._create_connection(open_port, max(timeout, PATIENCE))


# Here and not in main(): the process in which the simulator runs may be one that imports this file anew.
simulator_runner.get_open_ports = never_twice(simulator_runner.get_open_ports)
simulator_runner.SimulatorClientRunner = Simulator


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    simulator.define_simulator_parser(parser)
    return simulator.run_simulator(parser.parse_args())


if __name__ == "__main__":
    sys.exit(main())
