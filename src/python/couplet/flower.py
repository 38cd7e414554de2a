"""Couplet on Flower: a ServerApp and a ClientApp for `flwr run`, in the simulation engine and between SuperNodes.

    from couplet.flower import client_app, server_app

Needs the extra `couplet[flower]`. What is computed and where results go is in the run configuration of the app (flags, rank,
sites, min-sites, deadline, output, force, kit, tree); a SuperNode says in its --node-config what it is called, where its data is
and what it agrees to (name, data, output, policy, kit, memory). docs/flower-and-flare.md explains all of them.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ._errors import InputError
from ._star import Answer, JobOptions, Question, Site, absolute, data_files, numbered_site, policy_of, respond, run_job
from ._watch import log

try:
    import flwr
    from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import Grid, ServerApp
except ImportError as error:
    _remedy = ("Run: pip install 'couplet[flower]'" if sys.version_info >= (3, 11)
               else f"Flower 1.41 needs Python 3.11 or newer, this is {sys.version_info.major}.{sys.version_info.minor}")
    raise ImportError(f"couplet.flower: {error}; expected Flower 1.41. {_remedy}") from error

__all__ = ["client_app", "make_apps", "server_app"]

TESTED = ("1.41",)
if ".".join(flwr.__version__.split(".")[:2]) not in TESTED:
    warnings.warn(f"couplet.flower: Flower {flwr.__version__}; tested with {', '.join(TESTED)}. It may work as well.",
                  RuntimeWarning, stacklevel=2)

_ACTION = "couplet"
_RECORD = "couplet"
_PAUSE = 0.05  # seconds between looks for answers
_GRACE = 60  # seconds that Flower keeps a message longer than anybody waits


def _array(data: bytes) -> Any:
    """Bytes as an array record: Flower sends one that is the same for many nodes once, and large ones in parts."""
    return ArrayRecord({"bytes": Array(np.frombuffer(data, dtype=np.uint8))})


def _bytes(record: Any) -> bytes:
    return bytes(record["bytes"].numpy().tobytes())


def _to_records(question: Question) -> Any:
    return RecordDict({"welcome": _array(question.welcome), "common": _array(question.common)})


class _Nodes:
    """The SuperNodes of a run, as a Carrier."""

    def __init__(self, grid: Any) -> None:
        self._grid = grid

    def nodes(self) -> list[int]:
        return sorted(self._grid.get_node_ids())

    def send(self, node: int, question: Question, seconds: float) -> str:
        # Flower must still know the message when its answer is asked for the last time.
        message = Message(_to_records(question), dst_node_id=node, message_type=f"query.{_ACTION}", ttl=seconds + _GRACE)
        sent = list(self._grid.push_messages([message]))
        if not sent or sent[0] is None:
            return f"not sent to {node}"
        return str(sent[0])

    def receive(self, tickets: Sequence[str]) -> list[tuple[str, Answer]]:
        failed = [ticket for ticket in tickets if ticket.startswith("not sent")]
        if failed:
            return [(ticket, Answer(refusal="Flower did not take the message")) for ticket in failed]
        found = []
        for message in self._grid.pull_messages(list(tickets)):
            found.append((message.metadata.reply_to_message_id, _answer_in(message)))
        if not found:
            time.sleep(_PAUSE)
        return found


def _answer_in(message: Any) -> Answer:
    if message.has_error():
        return Answer(refusal=f"Flower says: {message.error.reason} (code {message.error.code})")
    try:
        said = message.content[_RECORD]
        return Answer(str(said["site"]), _bytes(message.content["message"]), str(said["refusal"]), str(said["version"]))
    except (KeyError, TypeError, ValueError) as error:
        return Answer(refusal=f"an answer that is none of couplet's ({error!r}); expected the same couplet.flower at the site")


def make_apps(config: Mapping[str, Any] | None = None) -> tuple[Any, Any]:
    """A ServerApp and a ClientApp. `config` stands for what the run configuration does not say, for programs and notebooks
    that start simulations themselves."""
    standard = dict(config or {})
    server, client = ServerApp(), ClientApp()

    @server.main()  # type: ignore[untyped-decorator,unused-ignore]
    def serve(grid: Grid, context: Context) -> None:
        _serve(grid, {**standard, **context.run_config})

    @client.query(_ACTION)  # type: ignore[untyped-decorator,unused-ignore]
    def take_part(message: Message, context: Context) -> Message:
        return _take_part(message, context.node_config, {**standard, **context.run_config}, context.node_id)

    return server, client


def _serve(grid: Any, run: Mapping[str, Any]) -> None:
    """Runs the job that the run configuration asks for."""
    where = "run configuration"
    options = JobOptions.from_config(run, where)
    if not options.sites and run.get("data"):
        # A simulation: its nodes come one after another, and there is one for each file.
        options = replace(options, sites=len(data_files(str(run["data"]), where)))
    with _spoken():
        result = run_job(_Nodes(grid), options)
    shown = {key: result[key] for key in ("rse", "rel_error_bound", "ranks", "members", "refused", "lost") if key in result}
    print(f"couplet: {shown}" + (f"; written to {options.output}" if options.output else ""), flush=True)


@contextlib.contextmanager
def _spoken() -> Iterator[None]:
    """What a job says on its way is in the run's log, which Flower takes from the output."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(logging.Formatter("couplet: %(message)s"))
    before = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(before)
        log.removeHandler(handler)


def _take_part(message: Any, node: Mapping[str, Any], run: Mapping[str, Any], node_id: int) -> Any:
    """Answers one question on this node's data."""
    question = Question(_bytes(message.content["welcome"]), _bytes(message.content["common"]))
    try:
        answer = respond(_site(node, run, node_id), question)
    except InputError as error:
        answer = Answer(str(node.get("name", f"node {node_id}")), refusal=str(error))
    said = ConfigRecord({"site": answer.site, "refusal": answer.refusal, "version": answer.version})
    return Message(RecordDict({_RECORD: said, "message": _array(answer.message)}), reply_to=message)


def _site(node: Mapping[str, Any], run: Mapping[str, Any], node_id: int) -> Site:
    """The node's own configuration decides; a simulated node has none but its number."""
    if "data" in node:
        return Site(str(node.get("name", node_id)), str(node["data"]), str(node.get("output", "")),
                    force=node.get("force", False) is True, policy=policy_of(node.get("policy", "on"), "node configuration"),
                    kit=absolute(node.get("kit", ""), "kit", "node configuration"),
                    book=absolute(node.get("memory", ""), "memory", "node configuration"))
    if "partition-id" not in node or not run.get("data"):
        raise InputError("node configuration: no data; expected the path of this site's tensor. "
                         "Start the SuperNode with --node-config 'name=\"a\" data=\"/path/x.npy\"'.")
    return numbered_site(run, int(node["partition-id"]), int(node["num-partitions"]), "run configuration",
                         "Use: flwr run . --federation-config num-supernodes={}")


server_app, client_app = make_apps()
