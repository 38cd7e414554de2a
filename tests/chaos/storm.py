#!/usr/bin/env python3
"""Jobs under faults, both networks, real processes: `storm.py [--jobs N] [--seed S] [--parallel P] [--patience F] [--output FOLDER]`.

Every job draws its network, graph, aggregate and faults from its seed, so that one that went wrong can be run again alone
(`--only SEED`). A job must end by its deadline with the right answer, bit for bit that of a simulation of the members it
states, or with a stated failure; anything else is an error of couplet's: a hang, a wrong answer, a half-written file, a
sanitizer's report. Prints a table of outcomes by fault and exits 1 after any error.
"""
import argparse
import concurrent.futures
import contextlib
import json
import pathlib
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "hostile"))
import federation  # noqa: E402
from federation import Peers, Star, exaggerate  # noqa: E402
from hostile import flood, forge_bulletins, pose_as_another  # noqa: E402

FLOOD_SECONDS = 30
FLOOD_CONNECTIONS = 1100
FULL_DISK_BYTES = 6000

FAULTS = ["none", "drop", "delay", "duplicate", "truncate", "corrupt", "partition", "partition and heal", "kill -9",
          "kill -9 and restart", "kill -9 at a step", "stop and continue", "storm", "flood", "forged bulletins", "liar",
          "full disk"]
PEER_STEPS = ["peer-greeted", "peer-received", "peer-sent", "peer-epoch", "peer-finished", "peer-decided", "peer-result-written"]
CLIENT_STEPS = ["connected", "hello-computed", "hello-sent", "question-received", "answer-computed", "answer-sent",
                "features-received", "result-written", "report-sent", "chunk-sent"]
COORDINATOR_STEPS = ["welcomed", "start-sent", "upload-spooled", "features-sent", "chunk-sent"]
AGGREGATES = [["--rank", 3], ["--rank", 3, "--aggregate", "subspace"], ["--rank", 3, "--aggregate", "average"],
              ["--rank", 4, "--aggregate", "stack"]]


class Storm:
    """One job and its faults, drawn from a seed."""

    def __init__(self, seed: int, folder: pathlib.Path, fault: str = "", kind: str = "", patience: float = 1.0):
        self.random = random.Random(seed)
        self.seed, self.fault = seed, fault or FAULTS[seed % len(FAULTS)]
        self.kind = kind or ("peers" if seed // len(FAULTS) % 2 == 0 else "star")
        flags = [*self.random.choice(AGGREGATES), "--seed", seed]
        if self.kind == "peers":
            graph, clients = self.random.choice([("paper8", 8), ("ring", 5), ("complete", 5), ("random:0.6", 6), ("grid", 6)])
            self.network = Peers(folder, seed, graph, clients, flags, deadline=12 * patience, link_deadline=patience)
            self.about = f"{graph} {clients}"
        else:
            clients = 4
            self.network = Star(folder, seed, clients, flags, deadline=8 * patience,
                                min_clients=self.random.choice([None, 3]))
            self.about = f"star {clients}"
        self.liar = ""
        if self.fault == "liar":
            self.liar = self.random.choice(self.network.names)
            exaggerate(self.network.data[self.network.names.index(self.liar)], 1e6)
        if self.fault in ("flood", "storm"):
            for party in self.network.parties.values():
                party.descriptors = 1024
        self.held = contextlib.ExitStack()
        self.over = threading.Event()
        self.about += " " + " ".join(str(f) for f in flags[2:4] if f in ("stack", "average", "subspace"))
        self.names = list(self.network.parties)

    def moment(self):
        time.sleep(self.random.uniform(0, 1.2))

    def some_routes(self):
        routes = self.network.proxy.routes
        return self.random.sample(routes, self.random.randint(1, max(1, len(routes) // 2)))

    def some_party(self):
        return self.network.parties[self.random.choice(self.names)]

    def strike(self, fault: str):
        """Does it, at a random moment."""
        proxy = self.network.proxy
        if fault == "drop":
            for _ in range(3):
                self.moment()
                proxy.drop(self.some_routes())
        elif fault == "delay":
            proxy.delay(proxy.routes, self.random.uniform(0.005, 0.1))
        elif fault in ("duplicate", "truncate", "corrupt"):
            for _ in range(3):
                self.moment()
                proxy.once(self.some_routes(), fault)
        elif fault in ("partition", "partition and heal"):
            self.moment()
            side = set(self.random.sample(self.names, self.random.randint(1, len(self.names) // 2)))
            routes = proxy.between(side, set(self.names) - side)
            proxy.cut(routes)
            if fault == "partition and heal":
                time.sleep(self.random.uniform(0.2, 4))
                proxy.heal(routes)
        elif fault == "kill -9":
            self.moment()
            self.some_party().kill()
        elif fault == "kill -9 and restart":
            self.moment()
            party = self.some_party()
            party.kill()
            time.sleep(self.random.uniform(0, 2))
            if party.killed:
                party.restart()
        elif fault == "stop and continue":
            self.moment()
            party = self.some_party()
            party.signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0.1, 3))
            party.signal(signal.SIGCONT)
        elif fault == "flood":
            if self.fault != "flood":  # otherwise it was there before anybody came
                self.hold_flood(self.random.choice(self.flooded()))
        elif fault == "forged bulletins":
            if self.kind == "peers":
                forge_bulletins(self.network.kits, self.network.names, self.network.ports, wanted=self.somebody_runs)
            else:
                pose_as_another(self.network.kits, self.network.names, f"127.0.0.1:{self.network.port}")
        elif fault == "full disk":
            time.sleep(self.random.choice([0, 0.2, 0.6]))
            party = self.some_party()
            party.fill_disk(FULL_DISK_BYTES)
            time.sleep(self.random.uniform(0.5, 3))
            party.fill_disk(0)
            if self.kind == "star" and party.ended() and party.process.returncode == 1:
                party.restart()  # systemd's part

    def somebody_runs(self) -> bool:
        return not all(party.ended() for party in self.network.parties.values())

    def flooded(self) -> list:
        """Ports that can be."""
        return [self.network.port] if self.kind == "star" else list(self.network.ports.values())

    def start_flooded(self):
        """The others come when somebody is flooded already."""
        victim = "coordinator" if self.kind == "star" else self.random.choice(self.names)
        port = self.network.port if self.kind == "star" else self.network.ports[victim]
        self.network.start(only=[victim])
        until = time.monotonic() + 5
        while time.monotonic() < until and not self.listens(port):
            time.sleep(0.05)
        self.hold_flood(port)
        time.sleep(self.random.uniform(0.5, 3))
        self.network.start(only=[name for name in self.names if name != victim])

    @staticmethod
    def listens(port: int) -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port), 1).close()
            return True
        return False

    def hold_flood(self, port: int):
        """Connections that say nothing, until the job is over or for half a minute."""
        def hold():
            with flood(port, FLOOD_CONNECTIONS):
                self.over.wait(FLOOD_SECONDS)
        thread = threading.Thread(target=hold, daemon=True)
        thread.start()
        self.held.callback(thread.join)

    def certified_lies(self) -> dict:
        """Parties that print a certificate though somebody has lied about its norm, or that name nobody."""
        wrong = {}
        for name, party in self.network.parties.items():
            if not self.liar or party.process.returncode != 0:
                continue
            result = party.result()
            if self.liar in (result["members"] or [self.liar]) and "rel_error_bound" in result:
                wrong[name] = f"{name}: certified, with the figures of {self.liar}"
            names = [doubt.get("client") for doubt in result.get("doubts", [])]
            if "stack" in self.about and name == "coordinator" and self.liar in result["members"] and self.liar not in names:
                wrong[name] = f"{name}: {self.liar} is not named: {names}"
        return wrong

    def crash_points(self) -> dict:
        name = self.random.choice(self.names)
        steps = PEER_STEPS if self.kind == "peers" else COORDINATOR_STEPS if name == "coordinator" else CLIENT_STEPS
        return {name: f"{self.random.choice(steps)}:{self.random.choice([1, 1, 2, 5])}"}

    def run(self) -> dict:
        begun = time.monotonic()
        steps = self.crash_points() if self.fault == "kill -9 at a step" else {}
        try:
            if self.fault == "flood":
                self.start_flooded()
            else:
                self.network.start(steps)
            if self.fault == "storm":
                for fault in self.random.choices([f for f in FAULTS if f not in ("none", "storm", "liar")], k=3):
                    self.strike(fault)
            else:
                self.strike(self.fault)
            if self.kind == "star" and steps:
                self.restart_crashed()
            hanging = self.network.wait()
            self.over.set()
            verdict = {"wrong": hanging, "reasons": {name: "still running" for name in hanging}, "success": [],
                       "failure": [], "killed": [], "members": None} if hanging else self.network.judge()
            for name, reason in ({} if hanging else self.certified_lies()).items():
                verdict["wrong"].append(name)
                verdict["reasons"][name] = reason
        finally:
            self.over.set()
            self.held.close()
            self.network.close()
        verdict.update(seed=self.seed, kind=self.kind, fault=self.fault, about=self.about,
                       seconds=round(time.monotonic() - begun, 1))
        verdict["outcome"] = outcome(verdict, len(self.names))
        return verdict

    def restart_crashed(self):
        """An operator's or systemd's part: in a star whoever died starts again."""
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for party in self.network.parties.values():
                if party.ended() and party.crashed():
                    party.restart()
                    return
            time.sleep(0.02)


def outcome(verdict: dict, parties: int) -> str:
    if verdict["wrong"]:
        return "ERROR"
    if len(verdict["success"]) == parties:
        return "all"
    return "some" if verdict["success"] else "stated failure"


def run_job(seed: int, folder: pathlib.Path, keep: bool, fault: str = "", kind: str = "", patience: float = 1.0) -> dict:
    here = folder / f"job-{seed}"
    shutil.rmtree(here, ignore_errors=True)
    try:
        verdict = Storm(seed, here, fault, kind, patience).run()
    except Exception as error:
        raise RuntimeError(f"job {seed} in {here}") from error
    if not verdict["wrong"] and not keep:
        shutil.rmtree(here, ignore_errors=True)
    return verdict


COLUMNS = ["jobs", "all", "some", "stated failure", "ERROR"]


def table(verdicts: list) -> str:
    rows = {}
    for verdict in verdicts:
        row = rows.setdefault((verdict["kind"], verdict["fault"]), dict.fromkeys(COLUMNS, 0))
        row["jobs"] += 1
        row[verdict["outcome"]] += 1
    lines = ["| network | fault | jobs | right answer at all parties | right answer at some, the rest killed or a stated failure "
             "| stated failure | hang, wrong or half-written answer |", "|---|---|---|---|---|---|---|"]
    for kind in ("star", "peers"):
        for fault in FAULTS:
            row = rows.get((kind, fault))
            if row:
                name = "decentralized" if kind == "peers" else kind
                lines.append(f"| {name} | {fault} | " + " | ".join(str(row[column]) for column in COLUMNS) + " |")
    total = [sum(row[column] for row in rows.values()) for column in COLUMNS]
    lines.append("| both | all | " + " | ".join(map(str, total)) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first job; the others count on")
    parser.add_argument("--only", type=int, help="run this job alone and keep its files")
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--patience", type=float, default=1.0, help="all deadlines times so much, for a machine with other work")
    parser.add_argument("--fault", default="", choices=["", *FAULTS])
    parser.add_argument("--kind", default="", choices=["", "peers", "star"])
    parser.add_argument("--output", type=pathlib.Path, help="folder for table.md and jobs.json")
    options = parser.parse_args()
    federation.GRACE *= options.patience
    folder = pathlib.Path(tempfile.mkdtemp(prefix="couplet-chaos-"))
    seeds = [options.only] if options.only is not None else range(options.seed, options.seed + options.jobs)
    verdicts = []
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        jobs = [pool.submit(run_job, seed, folder, options.only is not None, options.fault, options.kind, options.patience)
                for seed in seeds]
        for job in concurrent.futures.as_completed(jobs):
            verdict = job.result()
            verdicts.append(verdict)
            print(f"job {verdict['seed']}: {verdict['about']}, {verdict['fault']}: {verdict['outcome']}, "
                  f"{len(verdict['success'])} right, {verdict['seconds']} s", flush=True)
            for name in verdict["wrong"]:
                print(f"  {name}: {verdict['reasons'].get(name, '')}", flush=True)
    text = table(verdicts)
    print("\n" + text)
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        (options.output / "table.md").write_text(text)
        (options.output / "jobs.json").write_text(json.dumps(sorted(verdicts, key=lambda v: v["seed"]), indent=1))
    failed = any(verdict["wrong"] for verdict in verdicts)
    if failed or options.only is not None:
        print(f"files of the jobs: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
