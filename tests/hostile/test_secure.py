"""A coordinator of secure sums that does not play by the rules, with the coordinator's own kit: every lie is noticed by real
clients, in words, and nothing is revealed. The coordinator here shares no code with couplet, and holds no secret: it passes
on keys, sealed shares and masked numbers, and lies where the test says so."""
import concurrent.futures
import contextlib
import json
import math
import os
import pathlib
import queue
import struct
import subprocess
import sys
import threading
import time

import grpc
import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hostile import Daemons, couplet, digest, eventually, make_head, protocol  # noqa: E402

KEYS, SHARES, NUMBERS, ENDORSEMENT, UNMASKING = range(5)
FEATURES = 6 * 7
COUNTS = 2048 + 8 * 40 + 1 + 1
WELCOME = {"aggregate": 3, "rank": 3, "eps1": 0.01, "eps2": 0.01, "refit": True, "passes": 3, "oversampling": 10, "seed": 0,
           "scale_clients": False, "heldout": 0.0, "unnamed_allowed": True, "missing": False, "precision": 2}


class Gone(Exception):
    """A client has ended."""


class Relay:
    """Speaks as a coordinator to real clients, each on a stream of its own; the test says what."""

    def __init__(self, star, job=bytes(range(16)), gram=True, shield=None, apart=None, **welcome):
        self.star, self.job, self.names = star, job, star.names
        self.shield, self.apart = {"policy": False, "colluders": 1, "noise": 2, **(shield or {})}, apart or {}
        self.messages = protocol()[0]
        self.welcome = {**WELCOME, "sketch": 2 if gram else 1, "clients": len(star.names), **welcome}
        self.inbox = {name: queue.Queue() for name in star.names}
        self.outbox = {name: queue.Queue() for name in star.names}
        self.refusals, self.revealed, self.step, self.over = {}, 0, 1, threading.Event()
        self.roster, self.sealed, self.lies = None, {}, {}
        handler = grpc.stream_stream_rpc_method_handler(self.attend, request_deserializer=self.messages.Frame.FromString,
                                                        response_serializer=self.messages.Frame.SerializeToString)
        kit = star.kits / "coordinator"
        credentials = grpc.ssl_server_credentials([((kit / "key.pem").read_bytes(), (kit / "cert.pem").read_bytes())],
                                                  (kit / "ca.pem").read_bytes(), True)
        self.server = grpc.server(concurrent.futures.ThreadPoolExecutor(64))
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("couplet.v1.Federation",
                                                                                   {"Attend": handler}),))
        self.server.add_secure_port(star.address, credentials)
        self.server.start()

    # ---- one client's stream

    def attend(self, frames, context):
        context.send_initial_metadata(())  # clients look at the certificate before they say anything
        join = self.read(frames)
        if join is None:
            return
        name = join.join.name.decode()
        said = {**self.welcome, "place": self.names.index(name), **self.apart.get(name, {})}
        yield from self.frames(make_head("welcome", said, job=self.job), shield=True)
        reader = threading.Thread(target=self.listen, args=(name, frames), daemon=True)
        reader.start()
        while not self.over.is_set() and context.is_active():
            with contextlib.suppress(queue.Empty):
                head, payload = self.outbox[name].get(timeout=0.05)
                yield from self.frames(head, payload)

    def listen(self, name, frames):
        with contextlib.suppress(Exception):
            while True:
                head = self.read(frames)
                if head is None:
                    break
                if head.WhichOneof("body") == "refusal":
                    self.refusals[name] = head.refusal.reason.decode()
                if head.WhichOneof("body") == "secure_reply" and head.secure_reply.answer == UNMASKING + 1:
                    self.revealed += 1
                self.inbox[name].put(head)
        self.inbox[name].put(None)

    def read(self, frames):
        head = None
        for frame in frames:
            if frame.WhichOneof("part") == "head":
                head = self.messages.Head.FromString(frame.head)
            elif frame.WhichOneof("part") == "tail":
                return head
        return None

    def frames(self, head, payload=b"", shield=False):
        if shield:
            for key, value in self.shield.items():
                setattr(head.welcome.shield, key, value)
        head.payload_bytes = len(payload)
        text = head.SerializeToString()
        parts = [payload[k:k + (1 << 20)] for k in range(0, len(payload), 1 << 20)]
        return [self.messages.Frame(head=text), *(self.messages.Frame(chunk=part) for part in parts),
                self.messages.Frame(tail=digest([text, *parts]))]

    def answer(self, name, seconds=600):
        head = self.inbox[name].get(timeout=seconds)
        if head is None or head.WhichOneof("body") == "refusal":
            raise Gone(name)
        return head

    # ---- the job

    def begin(self):
        for name in self.names:
            assert self.answer(name).WhichOneof("body") == "hello"
        for name in self.names:
            head = make_head("start", {"clients": self.welcome["clients"], "rows": 5, "norm2": 0.0, "received": True}, job=self.job,
                             attempt=1, step=1)
            self.outbox[name].put((head, b""))

    def ask(self, number, step, fill, payload=b"", again=0, whom=None):
        """The answers to one step by name; `fill(request, name)` writes the question, `lies` changes it."""
        self.step += 1
        answers = {}
        for name in whom or self.names:
            head = make_head("secure_request", {"sum": number, "again": again, "step": step}, job=self.job, attempt=1, step=self.step)
            fill(head.secure_request, name)
            extra = payload
            lie = self.lies.get((number, step))
            if lie:
                extra = lie(head.secure_request, name) or extra
            self.outbox[name].put((head, extra))
        for name in whom or self.names:
            answers[name] = self.answer(name).secure_reply
        return answers

    def party(self, name):
        return self.names.index(name)

    def keys(self, first=0, again=0):
        """Keys for this sum and all later ones, shared."""
        keys = self.ask(first, KEYS, lambda request, name: None, again=again)
        assert all(answer.answer == KEYS + 1 for answer in keys.values()), keys
        self.roster = {name: answer.keys for name, answer in keys.items()}

        def ask_shares(request, name):
            for other, own in self.roster.items():
                entry = request.roster.add()
                entry.CopyFrom(own)
                entry.party = self.party(other)
        self.sealed = self.ask(first, SHARES, ask_shares, again=again)

    def sum(self, number, counts=b"", basis=None, again=0, lost=()):
        """One sum; those who are lost are not asked for numbers."""
        if self.roster is None:
            self.keys(number, again)
        there = [name for name in self.names if name not in lost]

        def ask_numbers(request, name):
            request.alive.extend(range(len(self.names)))
            request.counts = len(counts) // 8
            if basis is not None:
                request.rows, request.cols = basis.shape
            for other, answer in self.sealed.items():
                for share in answer.shares:
                    if share.party == self.party(name):
                        request.shares.add(party=self.party(other), content=share.content)
        payload = counts + (b"" if basis is None else np.ascontiguousarray(basis).tobytes())
        signed = self.ask(number, NUMBERS, ask_numbers, payload, again, there)
        self.sealed = {}
        if lost:
            def ask_survivors(request, name):
                request.alive.extend(self.party(other) for other in there)
                request.dropped.extend(self.party(other) for other in lost)
            signed = self.ask(number, ENDORSEMENT, ask_survivors, again=again, whom=there)

        def ask_unmasking(request, name):
            for other, answer in signed.items():
                request.signatures.add(party=self.party(other), content=answer.signature)
        return self.ask(number, UNMASKING, ask_unmasking, again=again, whom=there)

    def close(self):
        self.over.set()
        self.server.stop(0.2)


def counts(patients=1_000_000):
    """What a coordinator claims that the clients have; their sum is not theirs to check."""
    numbers = [0] * COUNTS
    numbers[1024 + 24] = patients  # norms of about 8
    numbers[2048 + math.ceil(8 * math.log2(patients / 5))] = 5  # of equal size: others would not fit the count
    numbers[-1] = patients
    return struct.pack(f"<{COUNTS}Q", *numbers)


@pytest.fixture
def star(tmp_path):
    daemons = Daemons(tmp_path / "star", clients=5)
    made = []

    def relay(**options):
        made.append(Relay(daemons, **options))
        return made[-1]
    daemons.relay = relay
    yield daemons
    for one in made:
        one.close()
    daemons.close()


def expect_caught(star, relay, words, run, revealed=0, who=None):
    """Every client (or `who`) notices: it says so, ends with an error and the coordinator hears why."""
    star.start(*star.names)
    with pytest.raises((Gone, queue.Empty)):
        relay.begin()
        run()
    named = who or star.names
    star.wait(*named)
    for name in named:
        said = star.parties[name].said()
        assert star.parties[name].process.returncode in (1, 2), said
        assert words in said, f"{name}: {said}"
    eventually(lambda: any(words in reason for reason in list(relay.refusals.values())), lambda: str(relay.refusals))
    assert relay.revealed == revealed


def test_a_coordinator_that_is_honest_gets_its_sums(star):
    """What the tests below change is the lie alone."""
    relay = star.relay()
    star.start(*star.names)
    relay.begin()
    assert all(answer.answer == UNMASKING + 1 for answer in relay.sum(0).values())
    answers = relay.sum(1, counts())
    assert all(len(answer.alive) == 5 and not answer.dropped for answer in answers.values())
    assert relay.revealed == 10 and not relay.refusals


def test_a_client_listed_as_both_alive_and_lost(star):
    relay = star.relay()
    relay.lies[1, ENDORSEMENT] = lambda request, name: request.dropped.append(2)
    expect_caught(star, relay, "client 3 as both alive and lost",
                  lambda: (relay.sum(0), relay.sum(1, counts(), lost=["c5"])), revealed=5, who=["c1", "c2", "c3", "c4"])


def test_an_old_job_that_is_replayed(star):
    relay = star.relay()
    star.start(*star.names)
    relay.begin()
    relay.sum(0)
    relay.sum(1, counts())
    relay.close()
    for name in star.names:
        star.parties[name].process.kill()
        star.parties[name].process.wait()
    again = star.relay()  # the same job, to processes that are new
    expect_caught(star, again, "sum 1 of this job once more", lambda: again.sum(0))


def test_keys_of_an_old_job(star):
    old = star.relay()
    star.start(*star.names)
    old.begin()
    old.sum(0)
    kept = old.roster["c2"]
    old.close()
    for name in star.names:
        star.parties[name].process.kill()
        star.parties[name].process.wait()
    relay = star.relay(job=bytes(range(1, 17)))

    def lie(request, name):
        if name != "c2":
            request.roster[1].sealing, request.roster[1].masking = kept.sealing, kept.masking
            request.roster[1].seeds, request.roster[1].signature = kept.seeds, kept.signature
    relay.lies[0, SHARES] = lie
    expect_caught(star, relay, "keys of client 2 with a wrong signature", lambda: relay.sum(0), who=["c1", "c3", "c4", "c5"])


def test_swapped_keys(star):
    relay = star.relay()

    def lie(request, name):
        if name != "c2":
            request.roster[1].masking = os.urandom(len(request.roster[1].masking))
    relay.lies[0, SHARES] = lie
    expect_caught(star, relay, "keys of client 2 with a wrong signature", lambda: relay.sum(0), who=["c1", "c3", "c4", "c5"])


def test_a_roster_with_one_client_twice(star):
    relay = star.relay()

    def lie(request, name):
        if name in ("c1", "c2"):
            request.roster[4].CopyFrom(request.roster[2])
            request.roster[4].party = 4
    relay.lies[0, SHARES] = lie
    expect_caught(star, relay, "client c3 twice in the roster", lambda: relay.sum(0), who=["c1", "c2"])


def test_a_roster_with_a_client_that_the_coordinator_made(star, tmp_path):
    """A certificate of its own authority: the clients know theirs."""
    other = tmp_path / "other"
    couplet("provision", "--coordinator", "127.0.0.1:1", "--clients", "c3,x,y", "-o", other)
    relay = star.relay()

    def lie(request, name):
        if name != "c3":
            request.roster[2].certificate = (other / "c3" / "cert.pem").read_bytes()
    relay.lies[0, SHARES] = lie
    expect_caught(star, relay, "certificate of a client", lambda: relay.sum(0), who=["c1", "c2", "c4", "c5"])


def test_a_cohort_that_shrinks(star):
    (star.kits / "c1" / "policy.toml").write_text("min_cohort = 5\n")
    relay = star.relay()

    def lie(request, name):
        del request.roster[4]
    relay.lies[0, SHARES] = lie
    expect_caught(star, relay, "a roster of 4 clients; expected at least 5, as this client's policy says", lambda: relay.sum(0),
                  who=["c1"])


def test_a_cohort_that_shrinks_from_one_sum_to_the_next(star):
    """The same basis with one client less would show what that one has."""
    relay = star.relay(gram=False)

    relay.lies[2, NUMBERS] = lambda request, name: request.alive.remove(4)
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(FEATURES, 13)))[0]
    expect_caught(star, relay, "4 other clients than the sums before; expected the same 5",
                  lambda: (relay.sum(0), relay.sum(1, counts()), relay.sum(2, counts(), basis)), revealed=10)


def test_members_for_one_client_alone(star):
    """Its masks for the one who is missing would be left over, and nobody helps to take them away."""
    relay = star.relay()
    relay.lies[1, NUMBERS] = lambda request, name: request.alive.remove(4) if name == "c1" else None
    expect_caught(star, relay, "a signature of client 1 under another sum than this client was asked for",
                  lambda: (relay.sum(0), relay.sum(1, counts())), revealed=5, who=["c2", "c3", "c4", "c5"])


def test_masked_numbers_of_one_sum_twice(star):
    """The same masks under other numbers would show the difference."""
    relay = star.relay(gram=False)
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(FEATURES, 13)))[0]
    other = np.linalg.qr(np.random.default_rng(2).normal(size=(FEATURES, 13)))[0]

    def ask(told):
        def fill(request, name):
            request.alive.extend(range(len(star.names)))
            request.rows, request.cols = told.shape
        relay.ask(2, NUMBERS, fill, np.ascontiguousarray(told).tobytes())
    expect_caught(star, relay, "a request for masked numbers out of turn or twice",
                  lambda: (relay.sum(0), relay.sum(1, counts()), ask(basis), ask(other)), revealed=10)


def restart(star, relay):
    relay.close()
    for name in star.names:
        star.parties[name].process.kill()
        star.parties[name].process.wait()


def test_a_basis_for_one_client_alone(star):
    """A and -A to one, the same to all others: half the difference would be that client's own sum."""
    relay = star.relay(gram=False)
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(FEATURES, 13)))[0]
    relay.lies[2, NUMBERS] = lambda request, name: counts() + (-basis).tobytes() if name == "c1" else None
    expect_caught(star, relay, "a signature of client 1 under another sum than this client was asked for",
                  lambda: (relay.sum(0), relay.sum(1, counts()), relay.sum(2, counts(), basis)), revealed=10,
                  who=["c2", "c3", "c4", "c5"])


def test_another_job_for_one_client_alone(star):
    relay = star.relay(apart={"c1": {"heldout": 0.1}})
    expect_caught(star, relay, "keys of client 1 with a wrong signature; expected keys that it signed for these sums",
                  lambda: relay.sum(0), who=["c2", "c3", "c4", "c5"])


def test_another_promise_under_the_same_name(star):
    """Much noise in the sum that is booked, little in those that follow."""
    first = star.relay(gram=False, shield={"epsilon": 0.01, "delta": 1e-5, "clip": 3.0}, passes=1)
    star.start(*star.names)
    first.begin()
    first.sum(1)
    restart(star, first)
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(FEATURES, 13)))[0]
    again = star.relay(gram=False, shield={"epsilon": 0.99, "delta": 1e-5, "clip": 3.0}, passes=7)
    expect_caught(star, again, "another job under the name of one before", lambda: again.sum(2, basis=basis))


def test_counts_of_all_patients_but_one(star):
    first = star.relay()
    star.start(*star.names)
    first.begin()
    first.sum(0)
    restart(star, first)
    again = star.relay(job=bytes(range(1, 17)), heldout=0.1)
    expect_caught(star, again, "(any_cohort)", lambda: again.sum(0))


def test_more_patients_held_out(star):
    relay = star.relay(heldout=0.999)
    expect_caught(star, relay, "a job that holds out 0.999 of the patients; expected at most 0.5 (max_heldout)", relay.begin)


def test_one_more_sum(star):
    relay = star.relay()
    expect_caught(star, relay, "sum 3 of the job; expected 2, as the job said at its start",
                  lambda: (relay.sum(0), relay.sum(1, counts()), relay.sum(2, counts())), revealed=10)


def test_a_sum_that_is_not_masked(star):
    """A client that agreed to masked sums shows none of its own."""
    relay = star.relay()

    def ask():
        for name in star.names:
            relay.outbox[name].put((make_head("sum_request", {"pass": 0, "want": 1}, job=relay.job, attempt=1, step=2), b""))
        for name in star.names:
            relay.answer(name)
    expect_caught(star, relay, "a job without sums that everybody can read, as the job said at its start", ask)


def test_a_wider_sum(star):
    relay = star.relay(gram=False)
    expect_caught(star, relay, "a sum 42 columns wide; expected at most 13",
                  lambda: (relay.sum(0), relay.sum(1, counts()), relay.sum(2, counts(), np.eye(FEATURES))), revealed=10)


def test_a_basis_that_makes_a_patient_count_for_more(star):
    relay = star.relay(gram=False)
    basis = 1e3 * np.linalg.qr(np.random.default_rng(1).normal(size=(FEATURES, 13)))[0]
    expect_caught(star, relay, "a basis whose columns are not orthonormal",
                  lambda: (relay.sum(0), relay.sum(1, counts()), relay.sum(2, counts(), basis)), revealed=10)


def test_counts_that_change_between_sums(star):
    relay = star.relay(gram=False)
    basis = np.linalg.qr(np.random.default_rng(1).normal(size=(FEATURES, 13)))[0]
    expect_caught(star, relay, "other counts of patients than before",
                  lambda: (relay.sum(0), relay.sum(1, counts()), relay.sum(2, counts(2_000_000), basis)), revealed=10)


def test_sums_of_too_few_patients_are_refused_by_the_sites_policy(star):
    relay = star.relay(gram=False)
    expect_caught(star, relay, "(patients_per_direction)", lambda: (relay.sum(0), relay.sum(1, counts(100))), revealed=5)


def test_a_budget_beyond_the_sites(star):
    relay = star.relay(shield={"mu": 5.0})
    expect_caught(star, relay, "a job of mu 5 for one patient; expected at most 4 (mu)", relay.begin)


def test_jobs_that_spend_more_than_the_budget_together(star):
    first = star.relay(shield={"mu": 3.0})
    star.start(*star.names)
    first.begin()
    first.sum(0)
    restart(star, first)
    again = star.relay(job=bytes(range(1, 17)), shield={"mu": 3.0})
    expect_caught(star, again, "expected at most 4 in all, so that 2.65 is left (mu)", lambda: again.sum(0))


def test_a_sum_under_a_budget_without_the_one_before(star):
    """Clip, bases and noise follow from what was opened, and from nobody's word."""
    relay = star.relay(shield={"mu": 3.0})
    expect_caught(star, relay, "sum 2 of the job; expected all sums before it, opened", lambda: (relay.sum(0), relay.sum(1)), revealed=5)


def test_the_same_sum_again_with_fresh_keys(star):
    relay = star.relay()
    expect_caught(star, relay, "sum 2 of this job once more",
                  lambda: (relay.sum(0), relay.sum(1, counts()), relay.keys(1, again=1)), revealed=10)


def test_a_plain_job_is_refused_by_a_site_that_wants_masks(star):
    for name in star.names:
        (star.kits / name / "policy.toml").write_text("secure_only = true\n")
    star.start("coordinator", *star.names)
    star.wait(*star.names)
    for name in star.names:
        assert "a job whose sums are not masked" in star.parties[name].said()
    log = [json.loads(line) for line in (star.kits / "coordinator" / "log.jsonl").read_text().splitlines()]
    assert any("(secure_only)" in json.dumps(line) for line in log if line["event"] == "refused")
