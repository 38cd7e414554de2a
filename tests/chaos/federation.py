"""Real couplet processes that talk through the proxy, and a judge who compares what they wrote with a simulation."""
import contextlib
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time

import numpy as np

from proxy import Proxy, free_port

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))
COUPLET = pathlib.Path(os.environ.get("CHAOS_COUPLET", BUILD / "bin" / "couplet")).resolve()
# A sanitizer's verdict is no exit status of couplet's.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "exitcode=99:detect_leaks=0", "UBSAN_OPTIONS": "exitcode=99",
               "TSAN_OPTIONS": "exitcode=99"}
# How long after its deadline a process may still need to end: the step it computes, and telling its neighbours.
GRACE = 300.0

PAPER8 = [(1, 2), (1, 3), (2, 4), (3, 4), (4, 5), (5, 6), (6, 7), (6, 8), (7, 8)]


def couplet(*arguments, **options):
    return subprocess.run([COUPLET, *map(str, arguments)], check=True, capture_output=True, text=True, env=ENVIRONMENT,
                          **options)


def exaggerate(path: pathlib.Path, factor: float):
    """The data of somebody who says that its own is all that counts."""
    np.save(path, factor * np.load(path))


def make_data(folder: pathlib.Path, clients: int, seed: int, shape: str = "6x7") -> list:
    couplet("data", "synthetic", f"{12 * clients}x{shape}:rank=5,noise=0.05", "--clients", clients, "-o", folder, "--seed", seed)
    return [folder / f"client_{k}.npy" for k in range(1, clients + 1)]


def cores(path: pathlib.Path) -> list:
    with np.load(path) as archive:
        return [archive[name] for name in sorted(n for n in archive.files if n.startswith("core_"))]


def same_bits(one: pathlib.Path, other: pathlib.Path) -> bool:
    a, b = cores(one), cores(other)
    return len(a) == len(b) and all(x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in zip(a, b))


# A full disk is an error, not a signal; whoever ends by a signal of its own leaves a core in its job's folder. Done by a shell:
# Python between fork and exec, in a process with threads, would be one more thing that can go wrong.
LIMITS = 'trap "" XFSZ; ulimit -c unlimited 2> /dev/null; [ "$0" = 0 ] || ulimit -n "$0" || exit 127; exec "$@"'


class Party:
    """One process of a job. It may be killed and started again; the last one counts."""

    def __init__(self, name: str, command: list, folder: pathlib.Path, output: pathlib.Path):
        self.name, self.command, self.folder, self.output = name, [str(c) for c in command], folder, output
        self.killed = False  # by us, and not started again
        self.restarts = 0
        self.process = None
        self.errors = []
        self.environment = {}
        self.descriptors = 0

    def start(self, crash_at: str = "", descriptors: int = 0):
        """`descriptors`: so many and no more, as `ulimit -n` does it."""
        self.killed = False
        environment = {**ENVIRONMENT, **self.environment, **({"COUPLET_CRASH_AT": crash_at} if crash_at else {})}
        stem = self.folder / f"{self.name}.{self.restarts}"
        self.out, self.err = stem.with_suffix(f".{self.restarts}.out"), stem.with_suffix(f".{self.restarts}.err")
        self.errors.append(self.err)
        with open(self.out, "wb") as out, open(self.err, "wb") as err:
            self.process = subprocess.Popen(["/bin/sh", "-c", LIMITS, str(descriptors or self.descriptors), *self.command],
                                            stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment, cwd=self.folder)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.killed = True

    def restart(self):
        self.process.wait()
        self.restarts += 1
        if "peer" in self.command and "--force" not in self.command:
            self.command.append("--force")  # whatever the process before may have written belongs to another job
        self.start()

    def fill_disk(self, most: int):
        """No file of the process grows beyond so many bytes; 0: space is free again."""
        if self.process.poll() is None:
            hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)[1]
            with contextlib.suppress(ProcessLookupError):
                resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (most or hard, hard))

    def signal(self, number):
        if self.process.poll() is None:
            self.process.send_signal(number)

    def ended(self) -> bool:
        return self.process.poll() is not None

    def crashed(self) -> bool:
        """Ended by the kill -9 that a crash point is."""
        return self.process.poll() == -9

    def said(self) -> str:
        return self.err.read_text(errors="replace")

    def result(self) -> dict:
        return json.loads(self.out.read_text())


class Network:
    """What both networks have in common: a folder, data, parties behind a proxy, an end, a verdict."""

    def __init__(self, folder: pathlib.Path, seed: int, flags: list, deadline: float):
        self.folder, self.flags, self.deadline = folder, [str(f) for f in flags], deadline
        folder.mkdir(parents=True)
        self.proxy = Proxy(seed)
        self.parties = {}
        self.begun = 0.0

    def start(self, crash_at: dict = {}, only=None):
        self.begun = time.monotonic()
        for name, party in self.parties.items():
            if only is None or name in only:
                party.start(crash_at.get(name, ""))

    def close(self):
        for party in self.parties.values():
            if party.process is not None and party.process.poll() is None:
                party.process.kill()
                party.process.wait()
        self.proxy.close()

    def wait(self) -> list:
        """Names of parties that still run long after their deadline."""
        limit = time.monotonic() + self.deadline + GRACE
        while time.monotonic() < limit:
            if all(party.ended() for party in self.parties.values()):
                return []
            time.sleep(0.02)
        return [name for name, party in self.parties.items() if not party.ended()]

    def judge_process(self, party: Party, files: tuple) -> tuple:
        """What one process came to: ("success", ""), ("failure", reason), ("killed", "") or ("wrong", why)."""
        said = "".join(path.read_text(errors="replace") for path in party.errors)
        if re.search(r"Sanitizer|runtime error:|terminate called|Assertion", said):
            return "wrong", f"{party.name}: sanitizer or crash: {said[-2000:]}"
        code = party.process.returncode
        if code == 0:
            missing = [f for f in files if not (party.output / f).exists()]
            return ("wrong", f"{party.name}: exit 0 without {missing}") if missing else ("success", "")
        if party.killed or party.crashed():
            return "killed", ""
        lines = party.said().strip().splitlines()
        if code == 1 and lines and lines[-1].startswith("couplet "):
            return "failure", lines[-1]
        return "wrong", f"{party.name}: exit {code}: {party.said()[-2000:]}"


class Peers(Network):
    """A decentralized network; unless `direct`, every dialer reaches every neighbour by a route of its own."""

    def __init__(self, folder, seed, graph, clients, flags, deadline=12.0, link_deadline=1.0, gather=None, data=None,
                 direct=False, hosts={}, prefix={}):
        super().__init__(folder, seed, flags, deadline)
        self.names = [f"p{k}" for k in range(1, clients + 1)]
        self.data = data or make_data(folder / "data", clients, seed)
        self.kits = folder / "kits"
        ports = self.ports = {name: free_port() for name in self.names}
        couplet("provision", "--network", "decentralized", "--peers",
                ",".join(f"{name}={hosts.get(name, '127.0.0.1')}:{port}" for name, port in ports.items()),
                "--graph", graph, "-o", self.kits, "--seed", seed)
        text = (self.kits / "p1" / "kit.toml").read_text()
        self.links = [tuple(map(int, pair)) for pair in re.findall(r"\[(\d+), (\d+)\]", text.split("links = ")[1].split("\n")[0])]
        for a, b in [] if direct else self.links:  # the earlier one opens the connection
            self.redirect(self.names[a - 1], self.names[b - 1], ports[self.names[b - 1]])
        times = ["--deadline", f"{deadline}s", "--link-deadline", f"{link_deadline}s"]
        times += ["--gather", f"{gather}s"] if gather else []
        for name, data_file in zip(self.names, self.data):
            output = folder / f"result-{name}"
            command = [*prefix.get(name, []), COUPLET, "peer", "--kit", self.kits / name, "--data", data_file, "--policy", "off", "-o", output,
                       "--json", "--threads", 1, *self.flags, *times]
            self.parties[name] = Party(name, command, folder, output)

    def give(self, names, deadline: float):
        """Another deadline for some of them; those who cannot succeed need not wait long."""
        for name in names:
            command = self.parties[name].command
            command[command.index("--deadline") + 1] = f"{deadline}s"

    def redirect(self, source, target, port):
        through = self.proxy.add(source, target, port)
        kit = self.kits / source / "kit.toml"
        before = f'name = "{target}"\naddress = "127.0.0.1:{port}"'
        text = kit.read_text()
        assert before in text
        kit.write_text(text.replace(before, f'name = "{target}"\naddress = "127.0.0.1:{through}"'))

    def simulate(self, members: tuple, links: tuple) -> pathlib.Path:
        output = self.folder / f"sim-{abs(hash((members, links)))}"
        if not output.exists():
            graph = self.folder / "graph.txt"
            graph.write_text("".join(f"{a} {b}\n" for a, b in links))
            couplet("simulate", *[self.data[self.names.index(name)] for name in members], "--network", "decentralized",
                    "--graph", f"file:{graph}", "--threads", 1, "-o", output, *self.flags)
        return output

    def check_result(self, party: Party, members: tuple, links: tuple) -> str:
        """Empty when the files are those of the simulation."""
        place = members.index(party.name) + 1
        simulated = self.simulate(members, links)
        if not same_bits(party.output / "personal.npz", simulated / f"personal_{place}.npz"):
            return f"{party.name}: another personal core than in the simulation of {members}"
        if "average" in self.flags and place > 1:
            # Every node has features of its own; the simulation writes the first node's.
            close = all(np.allclose(a, b, atol=1e-5) for a, b in
                        zip(cores(party.output / "features.npz"), cores(simulated / "features.npz")))
            return "" if close else f"{party.name}: features far from those of the simulation of {members}"
        if not same_bits(party.output / "features.npz", simulated / "features.npz"):
            return f"{party.name}: other features than in the simulation of {members}"
        return ""

    def judge(self) -> dict:
        verdict = {"success": [], "failure": [], "killed": [], "wrong": [], "reasons": {}, "members": None}
        lists = set()
        for name, party in self.parties.items():
            kind, reason = self.judge_process(party, ("features.npz", "personal.npz"))
            if kind == "success":
                members, links = tuple(party.result()["members"]), tuple(map(tuple, party.result()["links"]))
                lists.add((members, links))
                reason = self.check_result(party, members, links)
                kind = "wrong" if reason else "success"
            elif kind == "failure" and not party.restarts and (party.output / "features.npz").exists():
                kind, reason = "wrong", f"{name}: failed but left features"
            elif kind == "killed" and (party.output / "features.npz").exists():
                with np.load(party.output / "features.npz") as archive:  # complete, or not there
                    kind, reason = ("killed", "") if archive.files else ("wrong", f"{name}: an empty file")
            verdict[kind].append(name)
            verdict["reasons"][name] = reason
        if len(lists) > 1 and not any(party.restarts for party in self.parties.values()):
            verdict["wrong"].append("members")
            verdict["reasons"]["members"] = f"different members in one job: {sorted(lists)}"
        for members, _ in lists:
            verdict["members"] = members
            if 2 * len(members) <= len(self.names):
                verdict["wrong"].append("majority")
                verdict["reasons"]["majority"] = f"a result of {members}"
        return verdict


class Star(Network):
    """A coordinator and clients, each of which reaches it by a route of its own."""

    def __init__(self, folder, seed, clients, flags, deadline=8.0, min_clients=None, data=None):
        super().__init__(folder, seed, flags, deadline)
        self.names = [f"c{k}" for k in range(1, clients + 1)]
        self.data = data or make_data(folder / "data", clients, seed)
        kits = self.kits = folder / "kits"
        port = self.port = free_port()
        couplet("provision", "--network", "star", "--coordinator", f"127.0.0.1:{port}", "--clients", ",".join(self.names), "-o",
                kits)
        text = (kits / "coordinator" / "kit.toml").read_text()
        (kits / "coordinator" / "kit.toml").write_text(re.sub(r"http_port = \d+", "http_port = -1", text))
        output = folder / "result-coordinator"
        command = [COUPLET, "coordinator", "--kit", kits / "coordinator", "-o", output, "--json", "--threads", 1, *self.flags,
                   "--deadline", f"{deadline}s"]
        command += ["--min-clients", min_clients] if min_clients else []
        self.parties["coordinator"] = Party("coordinator", command, folder, output)
        for name, data_file in zip(self.names, self.data):
            through = self.proxy.add(name, "coordinator", port)
            kit = kits / name / "kit.toml"
            kit.write_text(kit.read_text().replace(f"127.0.0.1:{port}", f"127.0.0.1:{through}"))
            output = folder / f"result-{name}"
            command = [COUPLET, "client", "--kit", kits / name, "--data", data_file, "--policy", "off", "-o", output, "--json", "--threads", 1,
                       "--deadline", f"{deadline}s"]
            self.parties[name] = Party(name, command, folder, output)

    def wait(self) -> list:
        # The coordinator's deadline runs anew for every wait: for clients, for uploads, for reports, and once more after
        # each restart. A client's runs anew after every contact; that nobody is there any more behind a connection that
        # carries nothing is seen after half a minute.
        silent = 30.0
        self.deadline = self.deadline * (4 + sum(party.restarts for party in self.parties.values())) + silent
        return super().wait()

    def simulate(self, members: tuple) -> pathlib.Path:
        output = self.folder / ("sim-" + "-".join(members))
        if not output.exists():
            couplet("simulate", *[self.data[self.names.index(name)] for name in members], "--threads", 1, "-o", output,
                    *self.flags)
        return output

    def judge(self) -> dict:
        verdict = {"success": [], "failure": [], "killed": [], "wrong": [], "reasons": {}, "members": None}
        told = [tuple(party.result()["members"]) for party in self.parties.values() if party.process.returncode == 0]
        known = next((members for members in told if members), tuple(self.names))
        for name, party in self.parties.items():
            files = ("features.npz",) if name == "coordinator" else ("features.npz", "personal.npz")
            kind, reason = self.judge_process(party, files)
            if kind == "success":
                # A client whose coordinator dies after the result has come says that it does not know the members.
                members = tuple(party.result()["members"]) or known
                verdict["members"] = members
                simulated = self.simulate(members)
                if not same_bits(party.output / "features.npz", simulated / "features.npz"):
                    kind, reason = "wrong", f"{name}: other features than in the simulation of {members}"
                elif name in members and not same_bits(party.output / "personal.npz",
                                                       simulated / f"personal_{members.index(name) + 1}.npz"):
                    kind, reason = "wrong", f"{name}: another personal core than in the simulation of {members}"
            elif kind == "killed" and (party.output / "features.npz").exists():
                cores(party.output / "features.npz")  # complete, or not there
            verdict[kind].append(name)
            verdict["reasons"][name] = reason
        return verdict
