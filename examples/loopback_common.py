"""What the examples of Flower and of NVIDIA FLARE share: a command that runs a job on this machine, one site per file."""
from __future__ import annotations

import argparse
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable

BIN = pathlib.Path(sys.executable).parent


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def end_sessions(processes: Iterable[subprocess.Popen], patience: float = 20) -> None:
    """Ends each with the whole session that it leads: they start processes of their own."""
    started = list(processes)
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    until = time.monotonic() + patience
    for process in started:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.1, until - time.monotonic()))
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def make_kits(names: Iterable[str], folder: pathlib.Path) -> pathlib.Path:
    """Kits of a coordinator and of such clients, whose certificates sign the keys of secure sums; the folder with them."""
    kits = folder / "kits"
    subprocess.run([sys.executable, "-m", "couplet", "provision", "--network", "star", "--coordinator", "localhost:1", "--clients",
                    ",".join(names), "-o", str(kits)], check=True, stdout=subprocess.DEVNULL)
    return kits


def asks_for_secure_sums(flags: str) -> bool:
    return "--secure" in flags.split()


def arguments(description: str, prog: str | None = None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=prog, description=description)
    parser.add_argument("files", nargs="+", metavar="CLIENT.npy", type=pathlib.Path)
    parser.add_argument("--rank", type=int, default=0, help="R_1 of the shared features")
    parser.add_argument("--flags", default="", help="further flags of couplet simulate, as one text; or write them as they are, "
                        "after the files: --secure --dp-epsilon 1")
    parser.add_argument("--min-sites", type=int, default=0, help="without so many the job fails (all)")
    parser.add_argument("--deadline", type=float, default=300.0, help="seconds, for every wait")
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="DIR")
    parser.add_argument("--force", action="store_true", help="replace files that are there")
    return parser


def parse(parser: argparse.ArgumentParser, words: list[str] | None = None) -> argparse.Namespace:
    """The arguments, of which those that this command has not are flags of the job."""
    options, flags = parser.parse_known_args(words)
    options.flags = " ".join([options.flags, *flags]).strip()
    return options


def check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    """Refuses files that are not there and results that are; makes all paths absolute."""
    options.files = [file.resolve() for file in options.files]
    options.output = options.output.resolve()
    for file in options.files:
        if not file.is_file():
            parser.error(f"{file}: no such file; expected a tensor, patients first")
    made = options.output / "features.npz"
    if made.exists() and not options.force:
        parser.error(f"{made}: it exists; expected a free name. Use --force to replace it.")


def run(parser: argparse.ArgumentParser, job: Callable[[argparse.Namespace, pathlib.Path], str]) -> int:
    """Reads the arguments, runs the job with a folder of its own and says what it left; the exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was started is ended
    options = parse(parser)
    check(parser, options)
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="couplet-loopback-") as folder:
        print(job(options, pathlib.Path(folder)), flush=True)
    made = options.output / "features.npz"
    if not made.exists() or made.stat().st_mtime < began - 1:
        print("the job left no features; what it said is above", file=sys.stderr)
        return 1
    result = json.loads((options.output / "result.json").read_text())
    fit = f", RSE {result['rse']}" if "rse" in result else ""
    print(f"{made}: ranks {result['ranks']}{fit}, sites {', '.join(result['members'])}")
    return 0
