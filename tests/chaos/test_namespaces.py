"""Peers in network namespaces, each with an address of its own on a bridge: what a partition of real links does, and loss
where the kernel can make some. Needs root and namespaces; says so when the machine gives none."""
import os
import pathlib
import subprocess
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import federation  # noqa: E402
from busy_times import at_ease  # noqa: E402

NAMES = [f"p{k}" for k in range(1, 6)]


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class Switch:
    """A namespace with two bridges, and one namespace per peer, plugged into the first."""

    def __init__(self, names):
        self.tag = f"cpl{os.getpid() % 100000}"
        self.names = names
        self.hosts = {name: f"10.77.0.{k}" for k, name in enumerate(names, 1)}
        self.prefix = {name: ["ip", "netns", "exec", self.space(name)] for name in names}

    def space(self, name):
        return f"{self.tag}-{name}"

    def inside(self, *words, check=True):
        return subprocess.run(["ip", "netns", "exec", self.space("switch"), *words], check=check, capture_output=True, text=True)

    def make(self):
        ip("netns", "add", self.space("switch"))
        for bridge in ("one", "two"):
            self.inside("ip", "link", "add", bridge, "type", "bridge")
            self.inside("ip", "link", "set", bridge, "up")
        for name in self.names:
            space = self.space(name)
            ip("netns", "add", space)
            self.inside("ip", "link", "add", name, "type", "veth", "peer", "name", "eth", "netns", space)
            self.inside("ip", "link", "set", name, "master", "one", "up")
            for words in (["link", "set", "lo", "up"], ["addr", "add", f"{self.hosts[name]}/24", "dev", "eth"],
                          ["link", "set", "eth", "up"]):
                ip("netns", "exec", space, "ip", *words)

    def plug(self, names, bridge):
        for name in names:
            self.inside("ip", "link", "set", name, "master", bridge)

    def lose(self, percent) -> str:
        """Loses packets at random in front of every peer; what the kernel says when it cannot."""
        for name in self.names:
            done = self.inside("tc", "qdisc", "add", "dev", name, "root", "netem", "loss", f"{percent}%", check=False)
            if done.returncode:
                return done.stderr.strip()
        return ""

    def remove(self):
        for name in [*self.names, "switch"]:
            ip("netns", "del", self.space(name), check=False)


@pytest.fixture
def switch():
    made = Switch(NAMES)
    try:
        made.make()
    except (OSError, subprocess.CalledProcessError) as error:
        made.remove()
        pytest.skip(f"no network namespaces on this machine: {getattr(error, 'stderr', '') or error}")
    yield made
    made.remove()


def peers_on(switch, folder, **options):
    return federation.Peers(folder, 5, "complete", 5, ["--rank", 3], direct=True, hosts=switch.hosts, prefix=switch.prefix,
                            **options)


def test_a_partition_of_real_links(switch, tmp_path):
    switch.plug(NAMES[3:], "two")
    peers = peers_on(switch, tmp_path / "job", deadline=600.0, link_deadline=at_ease(2), gather=at_ease(3))
    peers.give(NAMES[3:], at_ease(5))
    try:
        peers.start()
        assert peers.wait() == []
        verdict = peers.judge()
        assert not verdict["wrong"], verdict["reasons"]
        assert verdict["members"] == tuple(NAMES[:3])
        assert sorted(verdict["success"]) == NAMES[:3] and sorted(verdict["failure"]) == NAMES[3:]
    finally:
        peers.close()


def test_links_that_fail_in_the_middle_and_come_back(switch, tmp_path):
    peers = peers_on(switch, tmp_path / "job", deadline=600.0, link_deadline=at_ease(10))
    try:
        peers.start()
        time.sleep(0.3)
        switch.plug(NAMES[2:], "two")
        time.sleep(1.5)
        switch.plug(NAMES[2:], "one")
        assert peers.wait() == []
        verdict = peers.judge()
        assert not verdict["wrong"], verdict["reasons"]
        assert sorted(verdict["success"]) == NAMES, "shorter than the links' deadline: nobody is lost"
    finally:
        peers.close()


def test_lost_packets(switch, tmp_path):
    cannot = switch.lose(5)
    if cannot:
        pytest.skip(f"this kernel cannot lose packets (tc netem): {cannot}")
    peers = peers_on(switch, tmp_path / "job", deadline=600.0, link_deadline=at_ease(15))
    try:
        peers.start()
        assert peers.wait() == []
        verdict = peers.judge()
        assert not verdict["wrong"], verdict["reasons"]
        assert sorted(verdict["success"]) == NAMES, verdict["reasons"]
    finally:
        peers.close()
