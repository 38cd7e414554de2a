"""Connections that say nothing, against daemons with few descriptors."""
import contextlib
import os
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hostile import (HANG_UP, NO_WINDOW, Daemons, answered, call, couplet, cpu_seconds, flood, http, http2, protocol, push,  # noqa: E402
                     stream_of_strangers)
import federation  # noqa: E402
from busy_times import at_ease, eventually  # noqa: E402

HELD_SECONDS = float(os.environ.get("COUPLET_FLOOD_SECONDS", 6))  # `make chaos`: 30
# The beginning of a greeting of TLS that never goes on.
HALF_A_HANDSHAKE = bytes.fromhex("1603010200010001fc0303") + bytes(20)


@pytest.fixture
def star(tmp_path):
    daemons = Daemons(tmp_path / "star", deadline="600s")
    yield daemons
    daemons.close()


def expect_a_job_that_ends_right(star):
    """With the coordinator under siege: it is idle meanwhile, and works when the clients come."""
    before, begun = cpu_seconds(star.pid("coordinator")), time.monotonic()
    time.sleep(HELD_SECONDS)
    assert cpu_seconds(star.pid("coordinator")) - before < 0.3 * (time.monotonic() - begun)
    star.start(*star.names)
    star.wait()
    star.expect_right()


@pytest.mark.parametrize("said", [b"", HALF_A_HANDSHAKE, HANG_UP], ids=["silent", "half a handshake", "hung up"])
def test_a_job_ends_right_while_1100_connections_are_held(star, said):
    star.start("coordinator", descriptors=1024)
    star.await_port()
    with flood(star.port, say=said):
        time.sleep(1)
        assert http(star.http_port, "/healthz") == (200, "ok\n")
        expect_a_job_that_ends_right(star)


@pytest.mark.parametrize("hosts, per_second", [
    (["127.0.0.2"], 250),
    ([f"127.0.1.{k}" for k in range(1, 251)], 100),  # more than there are places for strangers
    (["127.0.0.1"], 100),  # that of the clients
], ids=["one host", "many hosts", "the clients' host"])
def test_strangers_that_keep_coming_with_half_a_handshake_keep_nobody_out(tmp_path, hosts, per_second):
    star = Daemons(tmp_path / "star")
    try:
        star.start("coordinator")
        star.await_port()
        with stream_of_strangers(star.port, hosts, per_second, HALF_A_HANDSHAKE) as opened:
            eventually(lambda: len(opened) >= 150)
            star.start(*star.names)
            star.wait()
        star.expect_right()
    finally:
        star.close()


@pytest.mark.parametrize("attack", ["status", "health", "refusals"])
def test_answers_that_nobody_reads_hold_no_threads_of_the_others(tmp_path, attack):
    """c1 asks as often as it may, over as many connections as it may have, and gives no window for the answers; or it is
    revoked, and gives none for the refusals. Of two clients it once took all threads."""
    star = Daemons(tmp_path / "star", clients=3)
    messages = protocol()[0]
    path, message = {"status": ("/couplet.v1.Federation/Status", messages.StatusRequest(protocol=2)),
                     "health": ("/grpc.health.v1.Health/Check", messages.StatusRequest()),
                     "refusals": ("/couplet.v1.Federation/Attend", None)}[attack]
    try:
        if attack == "refusals":
            couplet("provision", "--revoke", "c1", "-o", star.kits)
        star.start("coordinator")
        star.await_port()
        with contextlib.ExitStack() as stack:
            for _ in range(8):
                connection = stack.enter_context(http2(star.kits / "c1", star.port, NO_WINDOW))
                for number in range(1, 16, 2):
                    push(connection, call(number, path, message))
                    time.sleep(0.05)  # no faster: that is another fault
            threads = len(os.listdir(f"/proc/{star.pid('coordinator')}/task"))
            assert threads < 40, "64 calls, none of which holds one for long"
            assert '"phase":"joining"' in couplet("status", "--kit", star.kits / "c2", "--json").stdout
    finally:
        star.close()


def test_the_status_port_answers_while_1100_connections_are_held(star):
    star.start("coordinator", descriptors=1024)
    star.await_port(star.http_port)
    with flood(star.http_port):
        time.sleep(1)
        for _ in range(3):
            assert answered(star.http_port, "/healthz") == (200, "ok\n")
            assert '"phase":"joining"' in answered(star.http_port, "/status.json")[1]
        expect_a_job_that_ends_right(star)


def test_peers_end_right_while_1100_connections_are_held_at_one(tmp_path):
    peers = federation.Peers(tmp_path / "peers", 1, "path", 4, ["--rank", 3], deadline=600.0, link_deadline=at_ease(5),
                             gather=at_ease(20), direct=True)
    text = (peers.kits / "p2" / "kit.toml").read_text()
    port = int(text.split('listen = "127.0.0.1:')[1].split('"')[0])
    try:
        limited = peers.parties["p2"]  # p1 opens the connection to it
        limited.start(descriptors=1024)
        eventually(lambda: "listens at" in limited.said(), limited.said)
        with flood(port):
            time.sleep(2)
            for party in peers.parties.values():
                if party is not limited:
                    party.start()
            assert peers.wait() == []
        verdict = peers.judge()
        assert not verdict["wrong"], verdict["reasons"]
        assert sorted(verdict["success"]) == peers.names, verdict["reasons"]
        assert verdict["members"] == tuple(peers.names)
    finally:
        peers.close()


def test_a_listener_that_hangs_is_reported_and_a_restart_finishes_the_job(star):
    """The third connection stops the accepting thread for good."""
    star.start("coordinator", environment={"COUPLET_STALL_AT": "gate-accepted:3"})
    star.await_port()
    star.start(*star.names)
    reported = ""

    def ended() -> bool:
        nonlocal reported
        with contextlib.suppress(OSError):  # busy, or on its way out
            status, text = http(star.http_port, "/healthz", 5.0)
            reported = text if status == 503 else reported
        return star.parties["coordinator"].ended()
    eventually(ended, pause=0.2)
    assert "is deaf: no connection was accepted for" in reported
    assert star.parties["coordinator"].process.returncode == 1
    assert "is deaf" in star.parties["coordinator"].said().splitlines()[-1]
    star.start("coordinator")
    star.wait()
    star.expect_right()
