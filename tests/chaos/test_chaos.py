"""The short, seeded part of the storms: real processes, both networks. `make chaos` runs the long one."""
import contextlib
import pathlib
import socket
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import federation  # noqa: E402
import storm  # noqa: E402
from busy_times import at_ease  # noqa: E402
from proxy import Ports, Proxy, free_port  # noqa: E402


@pytest.fixture
def network(tmp_path):
    """Makes networks and ends whatever still runs in them."""
    made = []

    def make(kind, *arguments, **options):
        made.append(kind(tmp_path / f"network-{len(made)}", *arguments, **options))
        return made[-1]
    yield make
    for one in made:
        one.close()


def test_the_proxy_ends_without_a_word(caplog):
    """Connections that stand when it is closed are no errors."""
    with socket.create_server(("127.0.0.1", 0)) as server, contextlib.ExitStack() as stack:
        proxy = Proxy(1)
        port = proxy.add("one", "other", server.getsockname()[1])
        for _ in range(5):
            caller = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            called = stack.enter_context(server.accept()[0])
            caller.sendall(b"x")
            assert called.recv(1) == b"x"
        proxy.close()
    assert [record.getMessage() for record in caplog.records] == []


def expect_right(verdict, names):
    assert not verdict["wrong"], verdict["reasons"]
    assert sorted(verdict["success"]) == sorted(names), verdict["reasons"]


@pytest.mark.parametrize("flags", [["--rank", 3], ["--rank", 3, "--aggregate", "subspace"], ["--rank", 3, "--aggregate", "average", "--consensus", "finite-time"],
                                   ["--eps", 0.2, "--aggregate", "stack"]],
                         ids=["default", "subspace", "average", "stack"])
def test_eight_peers_give_the_bits_of_the_simulation(network, flags):
    peers = network(federation.Peers, 1, "paper8", 8, flags, deadline=600.0, link_deadline=at_ease(5))
    peers.start()
    assert peers.wait() == []
    expect_right(peers.judge(), peers.names)


def test_the_root_of_the_tree_is_one_more_lost_peer(network):
    """On a ring of five the first peer is the root; the epoch without it elects another."""
    peers = network(federation.Peers, 3, "ring", 5, ["--rank", 3], deadline=600.0, link_deadline=at_ease(2))
    peers.start({"p1": "peer-epoch"})
    assert peers.wait() == []
    verdict = peers.judge()
    assert verdict["killed"] == ["p1"], verdict["reasons"]
    expect_right(verdict, peers.names[1:])


def test_seven_finish_when_one_of_eight_is_killed(network):
    flags = ["--rank", 3, "--aggregate", "subspace"]
    peers = network(federation.Peers, 2, "paper8", 8, flags, deadline=600.0, link_deadline=at_ease(2))
    peers.start({"p8": "peer-sent:4"})
    assert peers.wait() == []
    verdict = peers.judge()
    assert verdict["killed"] == ["p8"], verdict["reasons"]
    expect_right(verdict, peers.names[:7])
    assert verdict["members"] == tuple(peers.names[:7])
    assert peers.parties["p1"].result()["missing"] == ["p8"]


def test_five_of_eight_finish_three_say_why_and_the_next_job_has_all(network, tmp_path):
    peers = network(federation.Peers, 3, "paper8", 8, ["--rank", 3], deadline=600.0, link_deadline=at_ease(2), gather=at_ease(4))
    one, other = set(peers.names[:5]), set(peers.names[5:])
    peers.give(other, at_ease(6))
    peers.proxy.cut(peers.proxy.between(one, other))
    peers.start()
    assert peers.wait() == []
    verdict = peers.judge()
    expect_right(verdict, one)
    assert verdict["members"] == tuple(peers.names[:5])
    assert sorted(verdict["failure"]) == sorted(other)
    for name in other:
        assert "not reached: p1" in verdict["reasons"][name] and "more than half of 8 peers" in verdict["reasons"][name]
    peers.proxy.heal(peers.proxy.routes)
    peers.give(other, 600.0)
    for party in peers.parties.values():
        party.output = tmp_path / "next" / party.name
        party.command[party.command.index("-o") + 1] = str(party.output)
        party.errors = []
    peers.start()
    assert peers.wait() == []
    verdict = peers.judge()
    expect_right(verdict, peers.names)
    assert verdict["members"] == tuple(peers.names)


def test_twelve_peers_on_one_machine(network):
    peers = network(federation.Peers, 4, "random:0.3", 12, ["--rank", 3], deadline=600.0, link_deadline=at_ease(5))
    peers.start()
    assert peers.wait() == []
    expect_right(peers.judge(), peers.names)


# Of the long version's jobs, those that end quickly whatever happens: one per fault, both networks in turn.
@pytest.mark.parametrize("seed", [3, 8, 10, 17, 18, 20])
def test_storm(seed, tmp_path):
    verdict = storm.run_job(seed, tmp_path, keep=True, patience=at_ease(1))
    assert not verdict["wrong"], verdict["reasons"]


@pytest.mark.parametrize("fault, kind", [("flood", "peers"), ("forged bulletins", "peers"), ("forged bulletins", "star"),
                                         ("liar", "star"), ("full disk", "star")])
def test_hostile_storm(fault, kind, tmp_path, monkeypatch):
    monkeypatch.setattr(storm, "FLOOD_SECONDS", 4)
    verdict = storm.run_job(5, tmp_path, keep=True, fault=fault, kind=kind, patience=at_ease(1))
    assert not verdict["wrong"], verdict["reasons"]


def test_no_port_is_given_twice_also_to_tests_in_other_processes():
    program = ("import sys; sys.path.insert(0, sys.argv[1]); from proxy import Ports; ports = Ports()\n"
               "print(*(ports.next() for _ in range(120)), flush=True); sys.stdin.read()")
    others = [subprocess.Popen([sys.executable, "-B", "-c", program, str(pathlib.Path(__file__).parent)], text=True,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    ports = [free_port() for _ in range(120)]
    for other in others:
        ports += map(int, other.stdout.readline().split())
    assert len(set(ports)) == len(ports) == 360
    for other in others:
        other.communicate()
    mine = Ports()
    mine.HUNDREDS = [ports[-1] // 100]
    assert len(mine.claim()) == 50, "what a process held is free when it ends"
    assert mine.claim() == [], "and is held again"


def test_proxy_does_what_it_is_told():
    import socket
    import threading

    listener = socket.create_server(("127.0.0.1", free_port()))

    def echo():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    while piece := connection.recv(4096):
                        connection.sendall(piece)
                except OSError:
                    pass

    threading.Thread(target=echo, daemon=True).start()
    proxy = Proxy(7)
    port = proxy.add("a", "b", listener.getsockname()[1])
    routes = proxy.between({"a"}, {"b"})
    assert len(routes) == 1 and not proxy.between({"a"}, {"c"})

    def ask(connection, expected):
        connection.settimeout(300)
        connection.sendall(b"12345678")
        answer = b""
        while len(answer) < expected:
            piece = connection.recv(4096)
            if not piece:
                break
            answer += piece
        return answer

    with socket.create_connection(("127.0.0.1", port)) as connection:
        assert ask(connection, 8) == b"12345678"
        proxy.once(routes, "duplicate")
        assert ask(connection, 16) == b"1234567812345678"
        proxy.once(routes, "corrupt")
        changed = ask(connection, 8)
        assert len(changed) == 8 and sum(bin(x ^ y).count("1") for x, y in zip(changed, b"12345678")) == 1
        proxy.cut(routes)
        connection.settimeout(0.3)
        connection.sendall(b"x")
        with pytest.raises(TimeoutError):
            connection.recv(1)
        proxy.heal(routes)
        connection.settimeout(300)
        assert connection.recv(1) == b"x"
        proxy.once(routes, "truncate")
        assert ask(connection, 8) in (b"", b"1234")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        assert ask(connection, 8) == b"12345678"
        proxy.drop(routes)
        with pytest.raises(OSError):
            connection.settimeout(300)
            if connection.recv(1) == b"":
                raise ConnectionError
    proxy.close()
    listener.close()
