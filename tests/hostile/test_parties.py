"""Parties of the federation that do not play by the rules, each with a certificate that is good: what they learn, what they
can spoil, and that they are named. The attackers share no code with couplet."""
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import re
import socket
import ssl
import stat
import struct
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hostile import (ATTEND, DATA, HEADERS, NO_WINDOW, PING, SETTINGS, WINDOW_UPDATE, Daemons, IdlePeer, Stream, begun_job,  # noqa: E402
                     channel, couplet, digest, flood, forge_bulletins, frame, free_port, greet, grpc_message, header_block, http,
                     http2, join, make_head, protocol)
import federation  # noqa: E402
import grpc  # noqa: E402
from busy_times import LIMIT, at_ease, eventually  # noqa: E402

MODES = [6, 7]


@pytest.fixture
def star(tmp_path):
    daemons = Daemons(tmp_path / "star")
    yield daemons
    daemons.close()


def version() -> str:
    return couplet("--version").stdout.split()[-1]


def status(star, name: str) -> dict:
    with channel(star.kits / name, star.address) as connection:
        call = connection.unary_unary("/couplet.v1.Federation/Status",
                                      request_serializer=protocol()[0].StatusRequest.SerializeToString,
                                      response_deserializer=protocol()[0].StatusReply.FromString)
        return json.loads(call(protocol()[0].StatusRequest(protocol=2), timeout=LIMIT).json)


def await_state(star, name: str, states: set):
    def state() -> str:
        return {client["name"]: client["state"] for client in status(star, name)["clients"]}[name]
    eventually(lambda: state() in states, lambda: f"{name} is {state()}", 0.3)


def trail(kit: pathlib.Path) -> list:
    return [json.loads(line) for line in (kit / "audit.jsonl").read_text().splitlines()]


def ended(kit: pathlib.Path) -> dict:
    """How the last job ended; the last word to a client may be written after it."""
    return [line for line in trail(kit) if line["event"] == "ended"][-1]


# ---- what is learnt and what is kept


def test_no_client_learns_patients_errors_or_refusals_of_another(star):
    star.start("coordinator", "c2")
    star.await_port()
    await_state(star, "c2", {"joined"})
    with channel(star.kits / "c3", star.address) as connection:
        assert join(Stream(connection), "c2", version()).WhichOneof("body") == "refusal"
    seen = {client["name"]: client for client in status(star, "c1")["clients"]}
    assert set(seen["c2"]) == set(seen["c3"]) == {"name", "state"}
    assert "refused" not in status(star, "c1")
    own = {client["name"]: client for client in status(star, "c2")["clients"]}
    assert own["c2"]["rows"] == 12 and set(own["c1"]) == {"name", "state"}
    kit = star.kits / "coordinator"
    all_of_them = json.loads(couplet("status", "--kit", kit, "--json").stdout)
    known = {client["name"]: client for client in all_of_them["clients"]}
    assert known["c2"]["rows"] == 12 and "name in its certificate" in known["c3"]["last_refusal"]


def test_audit_trails_of_all_parties_agree_and_hold(star):
    star.start()
    star.wait()
    star.expect_right()
    lead = trail(star.kits / "coordinator")
    assert lead[0]["event"] == "job" and lead[0]["spec"]["rank"] == 3 and lead[0]["roster"] == star.names
    end = ended(star.kits / "coordinator")
    assert end["outcome"] == "done" and end["members"] == star.names
    hashes = {}
    for name in star.names:
        own = trail(star.kits / name)
        begun = next(line for line in own if line["event"] == "job")
        assert begun["spec"] == lead[0]["spec"] and begun["job"] == lead[0]["job"]
        joined = [line for line in lead if line["event"] == "joined" and line["party"] == name]
        serial = subprocess.run(["openssl", "x509", "-noout", "-serial", "-in", star.kits / name / "cert.pem"],
                                capture_output=True, text=True, check=True).stdout.strip().split("=")[1]
        assert [line["serial"] for line in joined] == [serial] and joined[0]["address"] == "127.0.0.1"

        def passed(lines, event):
            return {(line["kind"], line["hash"], line["bytes"]) for line in lines if line["event"] == event}
        seen = [line for line in lead if line.get("party") == name]
        assert passed(own, "sent") == passed(seen, "received") and passed(own, "received") == passed(seen, "sent")
        assert {"join", "greeting", "upload", "report"} <= {line["kind"] for line in own if line["event"] == "sent"}
        features = b"".join(core.tobytes() for core in federation.cores(star.parties[name].output / "features.npz"))
        personal = federation.cores(star.parties[name].output / "personal.npz")[0].tobytes()
        assert ended(star.kits / name)["features"] == end["features"] == hashlib.sha256(features).hexdigest()
        assert ended(star.kits / name)["personal"] == hashlib.sha256(personal).hexdigest()
        hashes[name] = [line["previous"] for line in own]
        lines = (star.kits / name / "audit.jsonl").read_text().splitlines()
        assert hashes[name] == [""] + [hashlib.sha256(line.encode()).hexdigest() for line in lines[:-1]]
    for path in [star.kits / "c1" / "audit.jsonl", star.parties["c1"].output / "personal.npz"]:
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600, path
    assert stat.S_IMODE(os.stat(star.parties["c1"].output / "features.npz").st_mode) & 0o044


# ---- versions


def test_another_minor_version_is_refused_in_words_and_a_patch_is_not(star):
    star.start("coordinator")
    star.await_port()
    major, minor, patch = version().split(".")[:3]
    with channel(star.kits / "c1", star.address) as connection:
        stream = Stream(connection)
        assert join(stream, "c1", f"{major}.{minor}.{int(patch) + 7}").WhichOneof("body") == "welcome"
        stream.close()
        for other in [f"{major}.{int(minor) + 1}.0", f"{int(major) + 1}.{minor}.{patch}", "", "x"]:
            answer = join(Stream(connection), "c1", other)
            assert answer.WhichOneof("body") == "refusal"
            text = answer.refusal.reason.decode()
            assert f"expected couplet {major}.{minor}.x" in text and "same minor version" in text
    job = star.kits / "coordinator" / "job" / "job.json"
    star.parties["coordinator"].process.kill()
    star.parties["coordinator"].process.wait()
    begun = json.loads(job.read_text())
    assert begun["version"] == version()
    job.write_text(json.dumps({**begun, "version": f"{major}.{int(minor) + 1}.0"}))
    star.start("coordinator")
    star.wait("coordinator")
    assert star.parties["coordinator"].process.returncode == 2
    assert f"a job begun by couplet {major}.{int(minor) + 1}.0" in star.parties["coordinator"].said()
    job.write_text(json.dumps({**begun, "version": f"{major}.{minor}.99"}))
    star.start()
    star.wait()
    star.expect_right()


# ---- revocation


def test_revoking_a_certificate_ends_its_live_streams(star):
    _, _, health = protocol()
    star.start("coordinator")
    star.await_port()
    with channel(star.kits / "c1", star.address) as connection:
        stream = Stream(connection)
        assert join(stream, "c1", version()).WhichOneof("body") == "welcome"
        watch = connection.unary_stream("/grpc.health.v1.Health/Watch",
                                        request_serializer=health.HealthCheckRequest.SerializeToString,
                                        response_deserializer=health.HealthCheckResponse.FromString)
        watching = watch(health.HealthCheckRequest())
        assert next(watching).status == 1
        couplet("provision", "--revoke", "c1", "-o", star.kits)
        with pytest.raises(grpc.RpcError):
            next(watching)
        with pytest.raises(grpc.RpcError):
            stream.receive()
        check = connection.unary_unary("/grpc.health.v1.Health/Check",
                                       request_serializer=health.HealthCheckRequest.SerializeToString,
                                       response_deserializer=health.HealthCheckResponse.FromString)
        with pytest.raises(grpc.RpcError) as refused:
            check(health.HealthCheckRequest(), timeout=LIMIT)
        assert "revoked" in refused.value.details()


def test_a_list_of_the_revoked_that_cannot_be_read_ends_every_connection(star):
    """Copied with permissions that nobody may trust: whoever is on it must not stay, and who runs it must hear of it."""
    star.start("coordinator")
    star.await_port()
    live = star.kits / "coordinator" / "revoked.txt"
    with channel(star.kits / "c1", star.address) as connection:
        stream = Stream(connection)
        assert join(stream, "c1", version()).WhichOneof("body") == "welcome"
        couplet("provision", "--revoke", "c1", "-o", star.kits)
        copied = live.with_name("copied")
        copied.write_bytes(live.read_bytes())
        copied.chmod(0o664)
        copied.replace(live)
        with pytest.raises(grpc.RpcError):
            stream.receive()
    eventually(lambda: http(star.http_port, "/healthz")[0] != 200)
    code, said = http(star.http_port, "/healthz")
    assert code == 503 and "revoked.txt: permissions 664: its group may change it" in said, said
    assert "all connections ended" in star.parties["coordinator"].said()
    star.start("c2")  # it waits, and is not sent home
    time.sleep(0.5)
    live.chmod(0o644)
    eventually(lambda: http(star.http_port, "/healthz")[0] == 200)
    await_state(star, "c2", {"connected", "joined", "greeted", "waiting"})
    with channel(star.kits / "c1", star.address) as connection:
        refused = join(Stream(connection), "c1", version())
        assert refused.WhichOneof("body") == "refusal" and b"revoked" in refused.refusal.reason


# ---- liars


def rows_of_norm(norm2: float) -> np.ndarray:
    block = np.random.default_rng(1).normal(size=(3, 42))
    return block * np.sqrt(norm2) / np.linalg.norm(block)


def lie(star, name: str, norm2: float, tail2: float, block: np.ndarray, report_error2=None, report_norm2=None):
    """A client that invents its figures, from its greeting to its report."""
    with channel(star.kits / name, star.address) as connection:
        stream = Stream(connection)
        start = greet(stream, name, version(), MODES, 12, norm2)
        if start.WhichOneof("body") == "refusal":
            return start.refusal.reason.decode()
        payload = np.ascontiguousarray(block, "<f8").tobytes()
        stream.send(make_head("upload", {"modes": MODES, "block_rows": len(block), "rows": 12, "norm2": norm2,
                                         "svd_tail2": tail2, "tt_tail2": 0.0},
                              job=start.job, attempt=start.attempt, step=start.step, payload=len(payload)), payload)
        features = stream.receive()
        if features is None or features.WhichOneof("body") != "features":
            return str(features)
        stream.send(make_head("report", {"rank": len(block), "error2": report_error2 or 0.0,
                                         "norm2": report_norm2 or norm2, "heldout_error2": 0.0, "heldout_norm2": 0.0,
                                         "seconds": 0.0}, job=start.job))
        assert stream.receive().WhichOneof("body") == "bye"
        stream.close()
    return ""


@pytest.mark.parametrize("about, norm2, error2, reason", [("norm", 1e18, 0.0, "a norm of 1e+09, where the others have"),
                                                          ("error", 400.0, 399.0, "of all norms together, where the bound is")])
def test_a_certificate_that_a_liar_has_spoiled_is_none(daemons, about, norm2, error2, reason):
    star = daemons(flags=["--eps", "0.2"])
    honest = [name for name in star.names if name != "c4"]
    star.start("coordinator", *honest)
    star.await_port()
    assert lie(star, "c4", norm2, 0.0, rows_of_norm(norm2), error2) == ""
    star.wait("coordinator", *honest)
    result = star.parties["coordinator"].result()
    assert star.parties["coordinator"].process.returncode == 0
    assert "rel_error_bound" not in result
    assert [doubt["client"] for doubt in result["doubts"]] == ["c4"] and reason in result["doubts"][0]["reason"]
    with np.load(star.parties["coordinator"].output / "features.npz") as archive:
        assert not any("rel_error_bound" in str(archive[key]) for key in archive.files if not key.startswith("core_"))
    if about == "norm":
        for name in honest:
            assert "rel_error_bound" not in star.parties[name].result()
    assert ended(star.kits / "coordinator")["doubts"][0]["client"] == "c4"


def test_a_norm_needs_rows_of_that_norm(daemons, tmp_path):
    """Seven times the norm of the others with nearly nothing beside it: the error of the others would be hidden in the bound."""
    state = tmp_path / "state.npz"
    star = daemons(clients=3, flags=["--eps", "0.2", "--min-clients", "2", "--save-state", state])
    star.start("coordinator", "c1", "c2")
    star.await_port()
    assert "figures that do not fit what it sent" in lie(star, "c3", 1e4, 0.0, rows_of_norm(1e-6))
    star.wait("coordinator", "c1", "c2")
    result = star.parties["coordinator"].result()
    assert result["members"] == ["c1", "c2"] and result["rse"] <= result["rel_error_bound"] ** 2 <= 0.2 ** 2
    star = daemons(clients=1, seed=9, flags=["--eps", "0.2", "--resume", state])
    star.start()
    star.wait()
    assert star.parties["coordinator"].result()["resumed_clients"] == 1, star.parties["coordinator"].said()


@pytest.mark.parametrize("error2, norm2, reason", [(399.0, None, "of all norms together, where the bound is"),
                                                   (0.0, 1e9, "it reports a norm of 31622.8 and greeted with one of 20")],
                         ids=["error", "norm"])
def test_a_late_liar_is_held_against_its_report(daemons, error2, norm2, reason):
    deadline = f"{at_ease(3)}s"
    star = daemons(flags=["--eps", "0.2", "--min-clients", "2"], deadline=deadline)
    for name in star.names:  # more patient than the coordinator, who waits for those that do not come
        star.parties[name].command = ["600s" if word == deadline else word for word in star.parties[name].command]
    star.start("coordinator", "c1", "c2")
    star.wait("coordinator", "c1", "c2")
    assert "rel_error_bound" in star.parties["coordinator"].result()
    party = star.parties["coordinator"]
    party.command = [*party.command, "--late", "merge"]
    star.start("coordinator")
    star.await_port()
    assert lie(star, "c4", 400.0, 0.0, rows_of_norm(400.0), error2, norm2) == ""
    star.wait("coordinator")
    result = star.parties["coordinator"].result()
    assert result["late"] == ["c4"] and "rel_error_bound" not in result
    assert [doubt["client"] for doubt in result["doubts"]] == ["c4"] and reason in result["doubts"][0]["reason"]


def test_a_report_that_cannot_be_spoils_nobodys_figures(daemons):
    """Finite numbers whose ratio is not: JSON has no word for it, and the status is JSON."""
    star = daemons(deadline=f"{at_ease(6)}s")
    honest = [name for name in star.names if name != "c4"]
    star.start("coordinator", *honest)
    star.await_port()
    with channel(star.kits / "c4", star.address) as connection:
        stream = Stream(connection)
        start = greet(stream, "c4", version(), MODES, 12, 400.0)
        payload = rows_of_norm(400.0).tobytes()
        stream.send(make_head("upload", {"modes": MODES, "block_rows": 3, "rows": 12, "norm2": 400.0, "svd_tail2": 0.0,
                                         "tt_tail2": 0.0}, job=start.job, attempt=start.attempt, step=start.step,
                              payload=len(payload)), payload)
        features = stream.receive()
        assert features.WhichOneof("body") == "features"
        stream.send(make_head("report", {"rank": 3, "error2": 1e140, "norm2": 1e-200, "heldout_error2": 0.0,
                                         "heldout_norm2": 0.0, "seconds": 0.0}, job=start.job))
        answer = stream.receive()
        assert answer.WhichOneof("body") == "refusal"
        assert "a report with a figure of inf; expected at most" in answer.refusal.reason.decode()
        seen = json.loads(couplet("status", "--kit", star.kits / "c1", "--json").stdout)
        assert [client["name"] for client in seen["clients"]] == star.names
    star.wait("coordinator", *honest)
    assert all(star.parties[name].process.returncode == 0 for name in honest)


def test_with_scaled_clients_a_norm_must_be_one(daemons):
    star = daemons(flags=["--rank", "3", "--scale-clients", "norm"])
    star.start("coordinator")
    star.await_port()
    with channel(star.kits / "c4", star.address) as connection:
        refused = greet(Stream(connection), "c4", version(), MODES, 12, 400.0)
        assert refused.WhichOneof("body") == "refusal"
        assert "a squared norm of 400; expected 1, as `scale_clients` norm makes it" in refused.refusal.reason.decode()
    star.start(*star.names)
    star.wait()
    star.expect_right()


# ---- words


@pytest.mark.parametrize("reason, refused", [(b"\xff\xfe", "a text that is not UTF-8"),
                                             (b"done\n12:00:00 client c2 has its result", "a text with control characters"),
                                             (b"\xc2\x9b2J", "a text with control characters")],
                         ids=["not UTF-8", "two lines", "C1"])
def test_what_a_client_says_is_shown_as_it_is_or_not_at_all(star, reason, refused):
    """It comes to the log, the page, the status and the terminal of the coordinator, which goes on."""
    star.start("coordinator")
    star.await_port()
    with channel(star.kits / "c1", star.address) as connection:
        stream = Stream(connection)
        assert join(stream, "c1", version()).WhichOneof("body") == "welcome"
        stream.send(make_head("refusal", {"reason": reason}))
        answer = stream.receive()
        assert answer.WhichOneof("body") == "refusal" and refused in answer.refusal.reason.decode()
    kit = star.kits / "coordinator"
    shown = {client["name"]: client for client in json.loads(http(star.http_port, "/status.json")[1])["clients"]}
    assert refused in shown["c1"]["last_refusal"]
    assert http(star.http_port, "/")[0] == 200
    assert all(json.loads(line)["event"] for line in (kit / "log.jsonl").read_text().splitlines())
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]|^12:00", star.parties["coordinator"].said(), re.M)
    star.start(*star.names)
    star.wait()
    star.expect_right()


# ---- holding things up


def be_patient_with_messages(star):
    """The coordinator waits longer for the rest of a message than any test."""
    kit = star.kits / "coordinator" / "kit.toml"
    kit.write_text(re.sub(r"stall_seconds = \S+", "stall_seconds = 3600", kit.read_text()))
    assert "stall_seconds = 3600" in kit.read_text()


def test_silent_uploaders_do_not_keep_the_others_waiting(daemons):
    """Eight clients begin an upload and say nothing more: as many as the coordinator reads from at once."""
    star = daemons(clients=9)
    be_patient_with_messages(star)
    star.start("coordinator", "c9")
    star.await_port()
    with contextlib.ExitStack() as stack:
        silent = {name: Stream(stack.enter_context(channel(star.kits / name, star.address))) for name in star.names[:8]}
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            starts = list(pool.map(lambda item: greet(item[1], item[0], version(), MODES, 12, 400.0), silent.items()))
        for stream, start in zip(silent.values(), starts):
            stream.frame(head=make_head("upload", {"modes": MODES, "block_rows": 3, "rows": 12, "norm2": 400.0,
                                                   "svd_tail2": 0.0, "tt_tail2": 0.0}, job=start.job,
                                        attempt=start.attempt, step=start.step, payload=3 * 42 * 8).SerializeToString())
        await_state(star, "c9", {"answered"})


def welcome_bytes(star, name: str) -> int:
    """How much window the answer to a join takes."""
    with channel(star.kits / name, star.address) as connection:
        stream, size = Stream(connection), 0
        stream.send(make_head("join", {"name": name.encode(), "version": version().encode()}))
        for part in stream.call:
            size += len(grpc_message(part))
            if part.WhichOneof("part") == "tail":
                return size
    raise AssertionError("no welcome")


def stay_alive(connection):
    """Answers pings, until the other end has had enough, and gives no window."""
    buffer = b""
    connection.settimeout(LIMIT)
    with contextlib.suppress(OSError):
        while received := connection.recv(1 << 16):
            buffer += received
            while len(buffer) >= 9 and len(buffer) >= 9 + (size := int.from_bytes(buffer[:3], "big")):
                kind, flags, payload, buffer = buffer[3], buffer[4], buffer[9:9 + size], buffer[9 + size:]
                if kind in (PING, SETTINGS) and not flags & 1:
                    connection.sendall(frame(kind, payload if kind == PING else b"", 0, 1))


def test_clients_without_a_window_keep_nobody_from_the_last_word(daemons):
    """Three are welcomed and leave no window for what comes next; the coordinator has more patience with a message than
    any test has."""
    star = daemons(clients=5, deadline=f"{at_ease(10)}s")
    be_patient_with_messages(star)
    star.start("coordinator")
    star.await_port()
    with contextlib.ExitStack() as stack:
        for name in ("c1", "c2", "c3"):
            window = struct.pack(">HI", 4, welcome_bytes(star, name))
            silent = stack.enter_context(http2(star.kits / name, star.port, window))
            threading.Thread(target=stay_alive, args=(silent,), daemon=True).start()
            text = make_head("join", {"name": name.encode(), "version": version().encode()}).SerializeToString()
            parts = [protocol()[0].Frame(head=text), protocol()[0].Frame(tail=digest([text]))]
            silent.sendall(frame(HEADERS, header_block(ATTEND), 1, 4) + frame(DATA, b"".join(map(grpc_message, parts)), 1))
            await_state(star, name, {"connected"})
        listening = Stream(stack.enter_context(channel(star.kits / "c4", star.address)))
        assert join(listening, "c4", version()).WhichOneof("body") == "welcome"
        star.wait("coordinator")
        told = listening.receive()
        assert told.WhichOneof("body") == "refusal" and b"clients" in told.refusal.reason, told
    assert star.parties["coordinator"].process.returncode == 1


def test_strangers_do_not_push_out_the_log(star):
    star.start("coordinator")
    star.await_port()
    for _ in range(4):
        with flood(star.port, 200, b"GET / HTTP/1.1\r\n\r\n"):
            time.sleep(0.5)
    log = (star.kits / "coordinator" / "log.jsonl").read_text().splitlines()
    # Not the first line always: whoever tries the port while it opens may be turned away before it is said to be open.
    assert "listening" in [json.loads(line)["event"] for line in log[:3]]
    assert len(log) < 80, len(log)
    page = http(star.http_port, "/")[1]
    assert "listening on" in page


class FalseCoordinator:
    """Has the coordinator's kit and does as it likes."""

    def __init__(self, star, behave):
        self.calls = 0
        self.behave = behave
        self.messages = protocol()[0]
        handler = grpc.stream_stream_rpc_method_handler(
            self.attend, request_deserializer=self.messages.Frame.FromString,
            response_serializer=self.messages.Frame.SerializeToString)
        kit = star.kits / "coordinator"
        credentials = grpc.ssl_server_credentials([((kit / "key.pem").read_bytes(), (kit / "cert.pem").read_bytes())],
                                                  (kit / "ca.pem").read_bytes(), True)
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(32))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("couplet.v1.Federation",
                                                                                   {"Attend": handler}),))
        self.server.add_secure_port(star.address, credentials)
        self.server.start()

    def attend(self, frames, context):
        self.calls += 1
        yield from self.behave(self, frames, context)

    def message(self, head):
        text = head.SerializeToString()
        return [self.messages.Frame(head=text), self.messages.Frame(tail=digest([text]))]

    def read(self, frames):
        for frame in frames:
            if frame.WhichOneof("part") == "tail":
                return


WELCOME = {"aggregate": 0, "rank": 3, "eps1": 0.01, "eps2": 0.01, "refit": True, "sketch": 0, "passes": 3, "oversampling": 10,
           "seed": 0, "scale_clients": False, "heldout": 0.0, "place": 0, "clients": 4, "unnamed_allowed": True,
           "missing": False, "precision": 2}


def say_nothing(self, frames, context):
    context.send_initial_metadata(())
    while context.is_active():
        time.sleep(0.1)
    yield from ()


def show_nothing(self, frames, context):
    while context.is_active():
        time.sleep(0.1)
    yield from ()


def welcome_and_drop(self, frames, context):
    context.send_initial_metadata(())
    self.read(frames)
    yield from self.message(make_head("welcome", WELCOME, job=bytes(range(16))))
    context.abort(grpc.StatusCode.UNAVAILABLE, "gone again")


def never_keep_what_is_sent(self, frames, context):
    """A coordinator whose disk is full."""
    context.send_initial_metadata(())  # the client waits for it
    self.read(frames)
    yield from self.message(make_head("welcome", WELCOME, job=bytes(range(16))))
    self.read(frames)
    yield from self.message(make_head("start", {"clients": 4, "rows": 48, "norm2": 100.0, "received": False},
                                      job=bytes(range(16)), attempt=1, step=1))
    self.read(frames)
    context.abort(grpc.StatusCode.INTERNAL, "the coordinator could not keep what was sent")


def begin_again(self, frames, context, starts=1):
    """The same question in attempt after attempt."""
    context.send_initial_metadata(())  # the client waits for it
    self.read(frames)
    yield from self.message(make_head("welcome", WELCOME, job=bytes(range(16))))
    self.read(frames)
    for number in range(1, 1000):
        yield from self.message(make_head("start", {"clients": 4, "rows": 48, "norm2": 100.0, "received": False},
                                          job=bytes(range(16)), attempt=number if starts else 1, step=1 if starts else number))
        self.read(frames)
        time.sleep(0.2)


def start_again(self, frames, context):
    """In step after step of one attempt."""
    yield from begin_again(self, frames, context, starts=0)


@pytest.mark.parametrize("behave", [say_nothing, show_nothing, welcome_and_drop, never_keep_what_is_sent, begin_again,
                                    start_again],
                         ids=lambda behave: behave.__name__)
def test_a_client_keeps_to_its_deadline_whatever_the_coordinator_does(daemons, behave):
    star = daemons(deadline="4s")
    fake = FalseCoordinator(star, behave)
    try:
        star.start("c1")
        star.wait("c1")
        said = star.parties["c1"].said()
        assert star.parties["c1"].process.returncode == 1 and "expected a job that goes on within 4 s" in said, said
        assert fake.calls <= 12, "it comes back less and less often"
    finally:
        fake.server.stop(0)


class WindowlessCoordinator:
    """Has the coordinator's kit, asks for what no policy allows and leaves no window for the refusal."""

    def __init__(self, star):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        kit = star.kits / "coordinator"
        self.context.load_cert_chain(kit / "cert.pem", kit / "key.pem")
        self.context.load_verify_locations(kit / "ca.pem")
        self.context.verify_mode = ssl.CERT_REQUIRED
        self.context.set_alpn_protocols(["h2"])
        self.welcomed = 0
        self.listener = socket.create_server(("127.0.0.1", star.port))
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=self.listener.accept()[:1], daemon=True).start()

    def frames_of(self, connection):
        buffer = b""
        while received := connection.recv(1 << 16):
            buffer += received
            if buffer.startswith(b"PRI * HTTP"):
                buffer = buffer[24:]
            while len(buffer) >= 9 and len(buffer) >= 9 + int.from_bytes(buffer[:3], "big"):
                size = int.from_bytes(buffer[:3], "big")
                yield buffer[3], buffer[4], int.from_bytes(buffer[5:9], "big"), buffer[9:9 + size]
                buffer = buffer[9 + size:]

    def serve(self, plain):
        with contextlib.suppress(OSError), self.context.wrap_socket(plain, server_side=True) as connection:
            connection.sendall(frame(SETTINGS, NO_WINDOW))
            said, welcomed = b"", False
            for kind, flags, stream, payload in self.frames_of(connection):
                if kind == SETTINGS and not flags & 1:
                    connection.sendall(frame(SETTINGS, b"", 0, 1))
                elif kind == HEADERS:
                    block = header_block({":status": "200", "content-type": "application/grpc"})
                    connection.sendall(frame(HEADERS, block, stream, 4))
                if kind in (HEADERS, DATA) and not welcomed:
                    said += payload if kind == DATA else b""
                    if re.search(b"\0\0\0\0\x22\x1a\x20.{32}", said, re.S):  # the tail of the join: a frame with a hash
                        welcomed = True
                        self.welcomed += 1
                        head = make_head("welcome", {**WELCOME, "heldout": 0.9}, job=bytes(range(16)))
                        text = head.SerializeToString()
                        parts = [protocol()[0].Frame(head=text), protocol()[0].Frame(tail=digest([text]))]
                        connection.sendall(frame(DATA, b"".join(map(grpc_message, parts)), stream))
                    else:
                        # Byte by byte: what is left over when the join is complete is not enough for a refusal.
                        connection.sendall(frame(WINDOW_UPDATE, struct.pack(">I", 1), stream))


def test_a_client_whose_refusal_gets_no_window_ends(daemons):
    star = daemons(deadline=f"{at_ease(4)}s")
    fake = WindowlessCoordinator(star)
    try:
        star.start("c1")
        star.wait("c1")
        assert fake.welcomed == 1 and star.parties["c1"].process.returncode == 2
        assert "a job that holds out 0.9 of the patients" in star.parties["c1"].said()
    finally:
        fake.listener.close()


def test_a_coordinator_with_an_old_key_is_sent_nothing(daemons):
    """Somebody has the coordinator's kit as it was before its key was exchanged."""
    star = daemons(deadline=f"{at_ease(5)}s")
    heard = []

    def listen(self, frames, context):
        context.send_initial_metadata(())
        heard.extend(frames)
        yield from ()
    fake = FalseCoordinator(star, listen)
    try:
        couplet("provision", "--rotate", "coordinator", "-o", star.kits)
        star.start("c1")
        star.wait("c1")
        said = star.parties["c1"].said()
        assert star.parties["c1"].process.returncode == 1 and "a coordinator's certificate that was revoked" in said, said
        assert heard == []
    finally:
        fake.server.stop(0)


# ---- peers


def test_a_forged_bulletin_is_refused_by_name_and_ends_nothing(tmp_path):
    """p1's kit is in the wrong hands: what it says of p3 is not p3's word, however it is signed."""
    peers = federation.Peers(tmp_path / "peers", 1, "complete", 4, ["--rank", 3], deadline=600.0, link_deadline=at_ease(3),
                             gather=at_ease(3), direct=True)
    honest = ["p2", "p3", "p4"]
    log = peers.kits / "p2" / "log.jsonl"
    told = ["peer p1: record of peer p3: no signature", "no feature modes",
            "peer p1: record of peer p3: signed by couplet://[0-9a-f]+/peer/p1; expected by p3 itself"]
    try:
        # The others come when p2 has heard it all: of four peers three are needed, so that it waits for them.
        peers.parties["p2"].start()
        assert forge_bulletins(peers.kits, peers.names, peers.ports, heard=lambda: eventually(
            lambda: all(re.search(words, log.read_text()) for words in told), log.read_text))
        for name in honest[1:]:
            peers.parties[name].start()
        for name in honest:
            peers.parties[name].process.wait(LIMIT)
        del peers.parties["p1"]
        verdict = peers.judge()
        assert sorted(verdict["success"]) == honest, verdict["reasons"]
        assert verdict["members"] == tuple(honest)
    finally:
        peers.close()


def test_a_peer_that_begins_anew_again_and_again_fills_no_log(tmp_path):
    peers = federation.Peers(tmp_path / "peers", 1, "complete", 3, ["--rank", 3], deadline=3600.0, link_deadline=5.0,
                             gather=3590.0, direct=True)
    try:
        peers.parties["p2"].start()
        begun = begun_job(peers.kits / "p2")
        fields = {"job": begun["text"].encode(), "version": begun["version"].encode(), "modes": MODES}
        greeted, process, until = 0, 1 << 50, time.monotonic() + LIMIT
        with channel(peers.kits / "p1", f"127.0.0.1:{peers.ports['p2']}") as connection:
            while greeted < 30 and time.monotonic() < until:
                process += 1
                stream = Stream(connection, "/couplet.v1.Peering/Link")
                stream.send(make_head("greeting", {**fields, "incarnation": process}, job=bytes.fromhex(begun["job"])))
                with contextlib.suppress(grpc.RpcError):
                    greeted += stream.receive() is not None
                stream.close()
                time.sleep(0.06)  # no more calls than anybody may open
        assert greeted == 30
        log = (peers.kits / "p2" / "log.jsonl").read_text().splitlines()
        assert 1 <= sum('"connected"' in line for line in log) <= 20
    finally:
        peers.close()


def test_the_others_go_on_without_a_first_peer_that_only_beats_and_floods(tmp_path):
    """Somebody with p1's kit never proposes nor promises, and makes p2 check signatures without end."""
    peers = federation.Peers(tmp_path / "peers", 1, "complete", 4, ["--rank", 3], deadline=600.0,
                             link_deadline=at_ease(2), gather=at_ease(5), direct=True)
    honest = ["p2", "p3", "p4"]
    try:
        for name in honest:
            peers.parties[name].start()
        assert all(begun_job(peers.kits / name) for name in honest)
        with IdlePeer(peers.kits, peers.names, peers.ports, "p2") as idle:
            for name in honest:
                peers.parties[name].process.wait(LIMIT)
        assert idle.sent > 1
        assert "record of peer p1: a signature that does not fit" in (peers.kits / "p2" / "log.jsonl").read_text()
        del peers.parties["p1"]
        verdict = peers.judge()
        assert sorted(verdict["success"]) == honest, verdict["reasons"]
        assert verdict["members"] == tuple(honest)
    finally:
        peers.close()


def test_one_peer_does_not_take_the_threads_of_the_others(tmp_path):
    """Somebody with p1's kit opens stream after stream at p4 and greets in none."""
    peers = federation.Peers(tmp_path / "peers", 1, "complete", 4, ["--rank", 3], deadline=600.0,
                             link_deadline=at_ease(4), gather=at_ease(5), direct=True)
    honest = ["p2", "p3", "p4"]
    with contextlib.ExitStack() as stack:
        stack.callback(peers.close)
        peers.parties["p4"].start()
        eventually(lambda: "listens at" in peers.parties["p4"].said())
        held = []
        for _ in range(8):
            connection = stack.enter_context(channel(peers.kits / "p1", f"127.0.0.1:{peers.ports['p4']}"))
            held += [Stream(connection, "/couplet.v1.Peering/Link") for _ in range(4)]
        eventually(lambda: sum(stream.call.is_active() for stream in held) <= 1, "a newer one ends the older")
        for name in honest[:2]:
            peers.parties[name].start()
        for name in honest:
            peers.parties[name].process.wait(LIMIT)
        del peers.parties["p1"]
        verdict = peers.judge()
        assert sorted(verdict["success"]) == honest, verdict["reasons"]


# ---- keys


def test_keys_are_made_where_they_are_used(tmp_path):
    """Two sites and a coordinator, each with a key that only it has ever had."""
    kits, port = tmp_path / "kits", free_port()
    couplet("provision", "--coordinator", f"127.0.0.1:{port}", "--clients", "a,b", "--keys", "sites", "-o", kits)
    assert not list(kits.glob("*/key.pem")) and not list(kits.glob("*/cert.pem"))
    for name in ["coordinator", "a", "b"]:
        site = tmp_path / name
        asked = json.loads(couplet("provision", "--request", name, "-o", site, "--json").stdout)
        assert stat.S_IMODE(os.stat(site / "key.pem").st_mode) == 0o600
        signed = json.loads(couplet("provision", "--sign", site / "request.pem", "-o", kits, "--json").stdout)
        assert signed["sign"] == name and signed["fingerprint"] == asked["fingerprint"]
        for file in ["cert.pem", "ca.pem", "kit.toml"]:
            (site / file).write_bytes((kits / name / file).read_bytes())
        assert not (kits / name / "key.pem").exists()
    data = federation.make_data(tmp_path / "data", 2, 1)
    lead = subprocess.Popen([federation.COUPLET, "coordinator", "--kit", tmp_path / "coordinator", "--rank", "3", "--quiet"])
    clients = [subprocess.Popen([federation.COUPLET, "client", "--kit", tmp_path / name, "--data", file, "--quiet"])
               for name, file in zip("ab", data)]
    assert [process.wait(LIMIT) for process in [lead, *clients]] == [0, 0, 0]
    # Again, with another key: the certificate before is let in no more.
    couplet("provision", "--request", "a", "-o", tmp_path / "a", "--force")
    again = [federation.COUPLET, "provision", "--sign", tmp_path / "a" / "request.pem", "-o", kits]
    refused = subprocess.run(again, capture_output=True, text=True)
    assert refused.returncode == 2 and "Ask a whether it has a new key" in refused.stderr and "--force" in refused.stderr
    assert not (kits / "coordinator" / "revoked.txt").exists()
    subprocess.run([*again, "--force"], check=True, capture_output=True)
    assert len((kits / "coordinator" / "revoked.txt").read_text().splitlines()) == 2
    refused = subprocess.run([federation.COUPLET, "provision", "--rotate", "a", "-o", kits], capture_output=True, text=True)
    assert refused.returncode == 2 and "whose key was made at its site" in refused.stderr
    tampered = tmp_path / "tampered.pem"
    text = (tmp_path / "b" / "request.pem").read_text().splitlines()
    text[3] = text[3][::-1]
    tampered.write_text("\n".join(text) + "\n")
    refused = subprocess.run([federation.COUPLET, "provision", "--sign", tampered, "-o", kits], capture_output=True, text=True)
    assert refused.returncode == 2 and "couplet provision --request made" in refused.stderr
