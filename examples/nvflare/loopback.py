"""Couplet's job on NVIDIA FLARE on this machine: in FLARE's simulator, or on a system with startup kits of its own, a server,
one site per file and an admin. `simulate` and `run` beside this file start it with an interpreter that has couplet[nvflare].

Everything it writes besides the results is in a folder of its own that is removed in the end.
"""
from __future__ import annotations

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import loopback_common  # noqa: E402
from loopback_common import BIN, asks_for_secure_sums, end_sessions, free_port, make_kits  # noqa: E402

ALLOWED = "couplet.nvflare"
ADMIN = "admin@couplet.example"
PATIENCE = 600  # seconds for the system to begin; the machine may be busy


def write_job(folder: pathlib.Path, server: dict, client: dict) -> pathlib.Path:
    """A copy of the job with these arguments."""
    job = folder / "job"
    shutil.copytree(HERE / "job", job)
    for name, section, part, arguments in (("config_fed_server.json", "workflows", None, server),
                                           ("config_fed_client.json", "executors", "executor", client)):
        path = job / "app" / "config" / name
        config = json.loads(path.read_text())
        component = config[section][0] if part is None else config[section][0][part]
        component["args"].update(arguments)
        path.write_text(json.dumps(config, indent=2))
    return job


def allow_couplet(local: pathlib.Path) -> None:
    """What a site's admin does once: the policy of the kit, with one name more. Jobs are kept beside it: where the kit keeps
    them, in a folder of the machine, a server that was left behind takes those of others."""
    standard = local / "resources.json.default"
    kit = standard.read_text().replace('"/tmp/nvflare/', f'"{local.parent.resolve()}/') if standard.exists() else '{"format_version": 2}'
    resources = json.loads(kit)
    resources["class_allow_list"] = [*resources.get("class_allow_list", []), ALLOWED]
    local.mkdir(parents=True, exist_ok=True)
    (local / "resources.json").write_text(json.dumps(resources, indent=2))


def simulate(files: list[pathlib.Path], server: dict, output: pathlib.Path, force: bool, folder: pathlib.Path,
             threads: int = 2) -> str:
    """Runs FLARE's simulator with one site per file and returns its log."""
    client = {"data": ",".join(map(str, files)), "output": str(output), "force": force}
    if len(files) == 1:
        client["data"] = str(files[0])
    job = write_job(folder, {**server, "sites": len(files), "output": str(output), "force": force}, client)
    workspace = folder / "workspace"
    allow_couplet(workspace / "local")
    done = subprocess.run([BIN / "python", HERE / "simulator.py", str(job), "-w", str(workspace), "-n", str(len(files)), "-t",
                           str(min(threads, len(files)))], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.stdout


class Loopback:
    """A provisioned system, as a context. `processes` are those of the server and the sites, by name."""

    def __init__(self, sites: dict[str, dict], folder: pathlib.Path) -> None:
        self.sites = sites  # couplet.json by name
        self.folder = folder
        self.processes: dict[str, subprocess.Popen] = {}
        self.environment = dict(os.environ, HOME=str(folder), PATH=f"{BIN}{os.pathsep}{os.environ['PATH']}",
                                PYTHONUNBUFFERED="1")
        self.kits = folder / "ws" / "loopback" / "prod_00"

    def __enter__(self) -> Loopback:
        try:
            self._provision()
            for name in ("localhost", *self.sites):
                self._start(name)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        end_sessions(self.processes.values())

    def nvflare(self, *arguments: str, timeout: float | None = None) -> subprocess.CompletedProcess:
        return subprocess.run([BIN / "nvflare", *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=self.environment, cwd=self.folder, timeout=timeout, stdin=subprocess.DEVNULL)

    def run(self, server: dict, timeout: float = 1800) -> str:
        """Submits the job, waits for its end and returns what the server's log says."""
        number = len(list(self.folder.glob("submitted-*")))
        folder = self.folder / f"submitted-{number}"
        folder.mkdir()
        job = write_job(folder, server, {})
        kit = str(self.kits / ADMIN)
        until = time.monotonic() + PATIENCE
        self._await_sites(until)
        while True:
            done = self.nvflare("--format", "json", "--connect-timeout", "60", "job", "submit", "-j", str(job), "--startup-kit", kit)
            if done.returncode == 0 or time.monotonic() > until:
                break
            time.sleep(2)  # the server is not there yet
        found = [word for word in done.stdout.replace('"', " ").replace(",", " ").split() if len(word) == 36 and word.count("-") == 4]
        if done.returncode != 0 or not found:
            raise SystemExit(f"the job could not be submitted\n{done.stdout}\n{self.log_of('localhost')}")
        waited = self.nvflare("--connect-timeout", "60", "job", "wait", found[0], "--startup-kit", kit, timeout=timeout)
        logs = sorted(self.kits.glob(f"localhost/{found[0]}/**/log*.txt"))
        return waited.stdout + "".join(path.read_text(errors="replace") for path in logs) + self.log_of("localhost")

    def _await_sites(self, until: float) -> None:
        """FLARE gives a job to the sites that are there when it is submitted, and to nobody who comes a moment later."""
        def there(name: str) -> bool:
            return self.processes[name].poll() is not None or f"New client {name}@" in self.log_of("localhost")
        while not all(map(there, self.sites)) and time.monotonic() < until:
            time.sleep(0.5)

    def log_of(self, name: str) -> str:
        path = self.folder / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def _provision(self) -> None:
        clients = "\n".join(f"  - {{name: {name}, type: client, org: couplet}}" for name in self.sites)
        (self.folder / "project.yml").write_text(f"""api_version: 3
name: loopback
description: Couplet on this machine
participants:
  - {{name: localhost, type: server, org: couplet, fed_learn_port: {free_port()}, admin_port: {free_port()}}}
{clients}
  - {{name: {ADMIN}, type: admin, org: couplet, role: project_admin}}
builders:
  - path: nvflare.lighter.impl.workspace.WorkspaceBuilder
  - path: nvflare.lighter.impl.static_file.StaticFileBuilder
    args: {{config_folder: config, scheme: tcp}}
  - path: nvflare.lighter.impl.cert.CertBuilder
  - path: nvflare.lighter.impl.signature.SignatureBuilder
""")
        done = self.nvflare("provision", "-p", "project.yml", "-w", "ws")
        if not self.kits.exists():
            raise SystemExit(f"provisioning left no startup kits\n{done.stdout}")
        allow_couplet(self.kits / "localhost" / "local")
        for name, said in self.sites.items():
            allow_couplet(self.kits / name / "local")
            (self.kits / name / "local" / "couplet.json").write_text(json.dumps(said))

    def _start(self, name: str) -> None:
        with open(self.folder / f"{name}.log", "wb") as log:
            self.processes[name] = subprocess.Popen(["bash", str(self.kits / name / "startup" / "sub_start.sh"), "--once"],
                                                    stdout=log, stderr=subprocess.STDOUT, env=self.environment,
                                                    cwd=self.kits / name, start_new_session=True)


def arguments() -> argparse.ArgumentParser:
    parser = loopback_common.arguments("Runs a Couplet job on NVIDIA FLARE with one site per file.")
    parser.add_argument("--simulator", action="store_true", help="in FLARE's simulator, not on a provisioned system")
    return parser


def job(options: argparse.Namespace, folder: pathlib.Path) -> str:
    server = {"rank": options.rank, "flags": options.flags, "min_sites": options.min_sites, "deadline": options.deadline}
    if options.simulator:
        return simulate(options.files, server, options.output, options.force, folder)
    sites = {f"site-{k}": {"data": str(file), "output": str(options.output / f"site-{k}"), "force": options.force}
             for k, file in enumerate(options.files, 1)}
    server |= {"sites": len(sites), "output": str(options.output), "force": options.force}
    if asks_for_secure_sums(options.flags):
        kits = make_kits(sites, folder)
        server["kit"] = str(kits / "coordinator")
        for name, said in sites.items():
            said["kit"] = str(kits / name)
    with Loopback(sites, folder) as loopback:
        return loopback.run(server)


if __name__ == "__main__":
    sys.exit(loopback_common.run(arguments(), job))
