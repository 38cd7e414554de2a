"""A job of the star on somebody else's engine: the state machines of the daemons, whoever carries the messages.

The server's side is `run_job`, over a `Carrier` that the engine provides; a site's is `respond`. Nothing of a job stays in a
site's process between questions: each question tells what its answer follows from. What a site must remember is in its files.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import re
import secrets
import shlex
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from . import _engine
from ._arrays import Array, as_client
from ._errors import InputError, RunError
from ._federation import Fields
from ._labels import ModeLabels
from ._tensor_train import TensorTrain
from ._watch import Watch, log

# Questions that wait for their answers at one time. More sites than these answer in turn, so that the server holds the
# messages of a few only.
_WINDOW = 256
_FEATURES = "features.npz"
_RESULT = "result.json"
_LEDGER = "disclosed.jsonl"  # as couplet client has it in its kit


@dataclass(frozen=True)
class Question:
    """What a site is asked. `common` is the same for all members of a wave."""

    welcome: bytes = b""
    common: bytes = b""


@dataclass(frozen=True)
class Answer:
    """What a site says: a message, or why it has none."""

    site: str = ""
    message: bytes = b""
    refusal: str = ""
    version: str = ""


class Carrier(Protocol):
    """What an engine does for a job. Nodes are whatever it calls those that can be asked."""

    def nodes(self) -> list[Any]:
        """Those that can be asked now."""

    def send(self, node: Any, question: Question, seconds: float) -> Any:
        """Sends without waiting and returns a ticket. An answer that takes longer than so many seconds is not wanted."""

    def receive(self, tickets: Sequence[Any]) -> list[tuple[Any, Answer]]:
        """Answers that have come; waits a moment where there are none."""


@dataclass(frozen=True)
class JobOptions:
    """What a job computes and who must be there.

    flags: as written after `couplet simulate`, for a star: --rank, --eps, --aggregate and so on. sites: how many are waited
    for at the beginning; 0: those who are there. min_sites: without so many the job fails; None: everybody who was there.
    deadline: seconds, for every wait. output: folder for features.npz and result.json. kit: a coordinator's, for secure sums
    between sites with kits. tree: sites that one merger of a tree takes; 0: one merges all.
    """

    flags: tuple[str, ...] = ()
    sites: int = 0
    min_sites: int | None = None
    deadline: float = 60.0
    output: str = ""
    force: bool = False
    kit: str = ""
    tree: int = 0

    @classmethod
    def from_config(cls, config: Mapping[str, Any], where: str = "configuration") -> JobOptions:
        """From the flat tables of an engine: flags, rank, sites, min-sites, deadline, output, force,
        kit, tree."""
        flags = shlex.split(str(config.get("flags", "")))
        if rank := whole(config, "rank", where):
            flags += ["--rank", str(rank)]
        minimum = whole(config, "min-sites", where)
        deadline = config.get("deadline", 60.0)
        if isinstance(deadline, bool) or not isinstance(deadline, (int, float)) or not deadline > 0:
            raise InputError(f"{where}: deadline = {deadline!r}; expected seconds above 0")
        output = absolute(config.get("output", ""), "output", where)
        return cls(tuple(flags), whole(config, "sites", where), minimum or None, float(deadline), output,
                   bool(config.get("force", False)), absolute(config.get("kit", ""), "kit", where), whole(config, "tree", where))


def absolute(value: Any, key: str, where: str) -> str:
    """A path that means the same wherever an engine runs; nothing where it is not given."""
    text = str(value)
    if text and not os.path.isabs(text):
        raise InputError(f"{where}: {key} = {text!r}; expected an absolute path. The engine runs in a folder of its own.")
    return text


def whole(config: Mapping[str, Any], key: str, where: str) -> int:
    """A whole number from 0; 0 where it is not given."""
    value = config.get(key, 0)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InputError(f"{where}: {key} = {value!r}; expected a whole number from 0")
    return value


class JobResult(Fields):
    """The fields of `couplet coordinator --json`, the shared features, and who is in the result.

    refused, lost: name and reason of sites that are not. unreported: members that have not said how the features fit them.
    """

    features: TensorTrain

    def __init__(self, values: dict[str, Any], features: TensorTrain) -> None:
        super().__init__(values)
        self.features = features

    def save(self, folder: str, *, force: bool = False) -> None:
        """Writes result.json and last features.npz."""
        os.makedirs(folder, exist_ok=True)
        _write_text(os.path.join(folder, _RESULT), json.dumps(self.to_dict(), indent=2) + "\n")
        self.features.save(os.path.join(folder, _FEATURES), force=force)


@dataclass
class _Wave:
    """One question to several, and what came of it."""

    answers: dict[int, Answer] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)


class _Job:
    """Drives the state machine; see run_job."""

    def __init__(self, carrier: Carrier, options: JobOptions) -> None:
        self._carrier = carrier
        self._options = options
        self._job = _engine.StarJob(list(options.flags), secrets.token_hex(16), options.kit, options.tree)
        self._nodes: dict[str, Any] = {}  # by name, those that joined
        self._places: dict[str, int] = {}
        self._refused: dict[str, str] = {}
        self._lost: dict[str, str] = {}
        self._least = 1
        self._waves = 0
        self._begun = time.monotonic()

    def run(self) -> JobResult:
        if self._job.warning:
            log.warning("warning: %s", self._job.warning)
        self._join(self._gather())
        members = self._fitting()
        self._require(members, "take part")
        if self._job.is_secure:
            return self._deliver(self._add_up(members))
        while not self._compute(members):
            members = [site for site in members if site not in self._lost]
            self._require(members, "answered")
            log.warning("%d sites are left; beginning again with them", len(members))
        return self._deliver(members)

    # Who is there.

    def _gather(self) -> list[Any]:
        wanted = self._options.sites or self._options.min_sites or 1
        until = time.monotonic() + self._options.deadline
        nodes = self._carrier.nodes()
        while len(nodes) < wanted and time.monotonic() < until:
            time.sleep(0.1)
            nodes = self._carrier.nodes()
        needed = self._options.min_sites or wanted
        if len(nodes) < needed:
            raise RunError(f"job: {len(nodes)} sites came within {self._options.deadline:g} s; expected at least {needed}. "
                           "Start the others, or set a longer deadline.")
        log.info("%d sites are there", len(nodes))
        self._least = self._options.min_sites or len(nodes)
        return nodes

    def _join(self, nodes: list[Any]) -> None:
        """Names and greetings. A site's place follows from the names of all, and some jobs need it for the greeting."""
        job = self._job
        first = Question() if job.needs_places else Question(job.welcome(0, 0))
        wave = self._ask(nodes, lambda _: first)
        names = self._named(nodes, wave)
        self._places = {site: k for k, site in enumerate(sorted(self._nodes, key=natural_order))}
        if job.needs_places:
            order = sorted(self._nodes, key=natural_order)
            wave = self._ask_sites(order, lambda k: self._question(order[k], b""))
            names = dict(enumerate(order))
        for k, site in names.items():
            reason = wave.lost.get(k) or self._greet(site, wave.answers[k])
            if reason:
                self._refuse(site, reason)

    def _named(self, nodes: list[Any], wave: _Wave) -> dict[int, str]:
        """Those that said who they are, by their number in the wave."""
        named: dict[str, list[int]] = {}
        for k, answer in wave.answers.items():
            named.setdefault(answer.site, []).append(k)
        for k, reason in wave.lost.items():
            self._lost[f"node {nodes[k]}"] = reason
        result: dict[int, str] = {}
        for site, numbers in named.items():
            if len(numbers) > 1 or not site:
                self._refuse(site or "without a name", f"{len(numbers)} sites of this name; expected a name for each. "
                                                       "Give each its own.")
                continue
            self._nodes[site] = nodes[numbers[0]]
            result[numbers[0]] = site
        return result

    def _greet(self, site: str, answer: Answer) -> str:
        """Why it cannot take part; nothing when it can."""
        if answer.refusal:
            return answer.refusal
        try:
            self._job.greet(site, answer.message)
        except InputError as error:
            return str(error)
        return ""

    def _fitting(self) -> list[str]:
        """Those whose features are the job's, in the order of the result."""
        there = [site for site in self._places if site not in self._refused]
        if there:
            for site, reason in self._job.refuse_misfits():
                self._refuse(site, reason)
        return [site for site in there if site not in self._refused]

    def _refuse(self, site: str, reason: str) -> None:
        log.warning("site %s is refused: %s", site, reason)
        self._refused[site] = reason

    def _require(self, members: list[str], what: str) -> None:
        if members and len(members) >= self._least:
            return
        who = f" ({', '.join(members)})" if members else ""
        told = [f"job: {len(members)} of {len(self._places)} sites {what}{who}; expected at least {max(self._least, 1)}"]
        told += [f"{site} is refused: {_bare(site, reason)}" for site, reason in self._refused.items()]
        told += [f"{site} is lost: {_bare(site, reason)}" for site, reason in self._lost.items()]
        raise RunError(". ".join([*told, "Put that right, or set fewer min-sites."]))

    # Questions and answers.

    def _question(self, site: str, common: bytes) -> Question:
        return Question(self._job.welcome(self._places[site], len(self._places)), common)

    def _compute(self, members: list[str]) -> bool:
        """From the start of an attempt to the features; False when somebody was lost."""
        job = self._job
        job.begin(members, self._least)
        while not job.delivering:
            common = job.question(0)

            def take(k: int, answer: Answer) -> None:
                job.take(k, answer.message)

            wave = self._ask_sites(members, lambda k: self._question(members[k], common), take)
            if wave.lost:
                for k, reason in wave.lost.items():
                    log.warning("site %s is lost: %s", members[k], reason)
                    self._lost[members[k]] = reason
                return False
        return True

    def _add_up(self, members: list[str]) -> list[str]:
        """Secure sums, step by step; whoever is lost is lost to the sum. Returns those whose numbers are in the result."""
        job = self._job
        self._places = {site: k for k, site in enumerate(members)}
        job.begin(members, self._least)
        while not job.delivering:
            asked = job.asked()
            sites = [members[k] for k in asked]

            def take(i: int, answer: Answer, asked: list[int] = asked) -> None:
                job.take(asked[i], answer.message)

            def ask(i: int, asked: list[int] = asked) -> Question:
                return self._question(members[asked[i]], job.question(asked[i]))

            wave = self._ask_sites(sites, ask, take, all_of_them=True)
            for i, reason in wave.lost.items():
                log.warning("site %s is lost to this sum: %s", sites[i], reason)
                self._lost.setdefault(sites[i], reason)  # what comes after follows from it
            try:
                told = job.close_step()
            except RunError as error:
                raise RunError(". ".join([str(error).removesuffix("."), *(f"{site} is lost: {_bare(site, reason)}"
                                                        for site, reason in self._lost.items())])) from None
            for text in told:
                log.warning("%s", text) if text.startswith("warning") else log.info("%s", text)
        there: list[str] = json.loads(job.json())["members"]
        self._lost = {site: reason for site, reason in self._lost.items() if site not in there}
        return there

    def _deliver(self, members: list[str]) -> JobResult:
        job = self._job
        common = job.question(0)
        wave = self._ask_sites(members, lambda k: self._question(members[k], common),
                               lambda k, answer: job.report(k, answer.message), all_of_them=True)
        values = json.loads(job.json())
        for k, reason in wave.lost.items():
            log.warning("site %s has not said how the features fit it: %s", members[k], reason)
        values["seconds"]["total"] = time.monotonic() - self._begun
        values |= {"refused": self._refused, "lost": self._lost,
                   "unreported": {members[k]: reason for k, reason in wave.lost.items()}}
        return JobResult(values, features_of(job.features(), values))

    def _ask_sites(self, sites: list[str], question: Callable[[int], Question],
                   take: Callable[[int, Answer], None] | None = None, *, all_of_them: bool = False) -> _Wave:
        """As _ask(), those who have said what they are called. An answer in another's name is nobody's: engines start processes
        anew for every question, and where a site's place is the wrong one, so is all that follows."""
        def named(k: int, answer: Answer) -> Answer:
            if not answer.refusal and answer.site != sites[k]:
                return Answer(sites[k], refusal=f"an answer in the name of {answer.site}; expected one of {sites[k]}, which was asked")
            return answer

        return self._ask([self._nodes[site] for site in sites], question, take, all_of_them=all_of_them, named=named)

    def _ask(self, nodes: list[Any], question: Callable[[int], Question],
             take: Callable[[int, Answer], None] | None = None, *, all_of_them: bool = False,
             named: Callable[[int, Answer], Answer] = lambda _, answer: answer) -> _Wave:
        """Asks the nodes in their order, some at a time. Answers are handed to `take`, or kept where there is none. When
        one is lost nobody further is asked, unless all of them are to be."""
        wave = _Wave()
        waiting: dict[Any, int] = {}  # number in the wave, by ticket
        until: dict[Any, float] = {}
        sent = first = 0
        while True:
            going = take is None or all_of_them or not wave.lost
            while going and sent < len(nodes) and sent < first + _WINDOW:
                ticket = self._carrier.send(nodes[sent], question(sent), self._options.deadline)
                waiting[ticket] = sent
                until[ticket] = time.monotonic() + self._options.deadline
                sent += 1
            if not waiting:
                self._tell(wave, sent)
                return wave
            for ticket, answer in self._carrier.receive(list(waiting)):
                k = waiting.pop(ticket)
                self._file(wave, k, named(k, answer), take)
                del until[ticket]
            now = time.monotonic()
            for ticket in [ticket for ticket, end in until.items() if now > end]:
                wave.lost[waiting.pop(ticket)] = f"no answer within {self._options.deadline:g} s"
                del until[ticket]
            first = min(waiting.values(), default=sent)

    def _tell(self, wave: _Wave, asked: int) -> None:
        """Some jobs ask many times, and engines take their time: whoever waits sees that it goes on."""
        self._waves += 1
        log.info("question %d: answered by %d of %d sites, %.0f s since the beginning", self._waves, asked - len(wave.lost), asked,
                 time.monotonic() - self._begun)

    @staticmethod
    def _file(wave: _Wave, k: int, answer: Answer, take: Callable[[int, Answer], None] | None) -> None:
        if take is None:
            if answer.site or not answer.refusal:
                wave.answers[k] = answer
            else:
                wave.lost[k] = answer.refusal
            return
        if answer.refusal:
            wave.lost[k] = answer.refusal
            return
        try:
            take(k, answer)
        except InputError as error:
            wave.lost[k] = str(error)


def _bare(site: str, reason: str) -> str:
    """A reason as part of a sentence that names the site."""
    return reason.removeprefix(f"site {site}: ").removesuffix(".")


def run_job(carrier: Carrier, options: JobOptions) -> JobResult:
    """Runs a job of the star over sites that the carrier reaches; leaves its files in options.output.

    The result is that of `couplet simulate` with the same flags, bit for bit, with the sites in the order of their names
    (numbers in them count as numbers). Sites that cannot take part are named and left out; so are those that are lost on
    the way, and the others begin again. RunError when fewer than options.min_sites are left.
    """
    if options.output:
        _claim(options.output, [_FEATURES, _RESULT], options.force)
    result = _Job(carrier, options).run()
    if options.output:
        result.save(options.output, force=True)
    return result


def natural_order(name: str) -> list[Any]:
    """Sorts site-2 before site-10.

    >>> sorted(["site-10", "site-2", "b"], key=natural_order)
    ['b', 'site-2', 'site-10']
    """
    return [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in re.split(r"([0-9]+)", name)] + [(2, 0, name)]


def features_of(made: Any, values: Mapping[str, Any]) -> TensorTrain:
    """The engine's features as a train that knows where it comes from."""
    cores, weights, orthonormal, labels = made
    kept = {key: values[key] for key in ("rse", "rel_error_bound", "method", "network", "aggregate", "clients", "seed",
                                         "version", "job") if key in values}
    kept |= {"features": True, "orthonormal": orthonormal, "sigma": list(weights)}
    return TensorTrain._made(cores, [ModeLabels(*mode) for mode in labels], kept)


# A site.


@dataclass(frozen=True)
class Site:
    """One owner's end: its name, the file with its tensor, where its result goes, and what it agrees to.

    number: in a simulation, where all write to one folder and the server has features.npz there: 1, 2, ... policy: as
    `policy_of` makes it. kit: of a client, whose certificate signs the keys of secure sums, and where the site keeps what it
    must remember of them. A simulated site has keys of its own. book: folder where the site keeps what it has shown of its
    patients, so that jobs are held against those before them; the kit where it has one.
    """

    name: str
    data: str
    output: str = ""
    number: int | None = None
    force: bool = False
    policy: str = ""
    kit: str = ""
    book: str = ""

    def ledger(self) -> str:
        """File with what the site has shown; nothing: it does not remember."""
        folder = self.book or self.kit
        return os.path.join(folder, _LEDGER) if folder else ""

    def memory(self, job: str) -> str:
        """Folder for what must be remembered of a job of secure sums; nothing: the site takes no part in them."""
        if self.kit or self.number is None:
            return self.kit
        return os.path.join(tempfile.gettempdir(), f"couplet-simulation-{os.getuid()}-{job}", self.name)

    def files(self) -> list[str]:
        return ["personal.npz", _FEATURES] if self.number is None else [f"personal_{self.number}.npz"]


def respond(site: Site, question: Question) -> Answer:
    """The answer to a question; what goes wrong is a refusal in words, which the server tells with the site's name."""
    try:
        return Answer(site.name, _message(site, question), version=_engine.version())
    except (InputError, RunError, TypeError, OSError) as error:
        log.warning("refused: %s", error)
        return Answer(site.name, refusal=str(error), version=_engine.version())


def _message(site: Site, question: Question) -> bytes:
    if not question.welcome:
        return b""
    if site.output and not question.common:
        _claim(site.output, site.files(), site.force)
    array, labels = _engine.read_tensor(os.fsencode(site.data), Watch)
    x: Array = as_client(array, site.data)
    job = _engine.secure_job(question.welcome)
    memory = site.memory(job) if job else ""
    ledger = site.ledger()
    with _alone_in(memory), _alone_in("" if os.path.dirname(ledger) == memory else os.path.dirname(ledger)):
        reply, result = _engine.answer(question.welcome + question.common, x, labels, site.policy,
                                       (site.name, memory, site.kit, ledger), Watch)
    if result is not None and site.output:
        _keep(site, labels, *result)
    if result is not None and memory and not site.kit:
        shutil.rmtree(memory, ignore_errors=True)  # of a simulation
        with contextlib.suppress(OSError):
            os.rmdir(os.path.dirname(memory))  # the last one
    return bytes(reply)


@contextlib.contextmanager
def _alone_in(memory: str) -> Iterator[None]:
    """Questions to a site that remembers are answered one after another, whoever asks them at one time."""
    if not memory:
        yield
        return
    os.makedirs(memory, mode=0o700, exist_ok=True)
    with open(os.path.join(memory, "engine.lock"), "w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _keep(site: Site, labels: Sequence[tuple[Any, ...]], personal: Array, features: Any, fields: str) -> None:
    """What the site has in the end. A question that is asked again replaces what the one before left."""
    values = json.loads(fields)
    os.makedirs(site.output, exist_ok=True)
    metadata = {"version": values["version"], "job": values["job"]}
    metadata |= {"client": site.name if site.number is None else site.number}
    shared = features_of(features, values)
    metadata["features_print"] = _engine.features_print(shared.cores)
    own = [tuple(labels[0])] if labels else []
    _engine.save(os.fsencode(os.path.join(site.output, site.files()[0])), [np.ascontiguousarray(personal)[None]], 1, own,
                 json.dumps(metadata), True)
    if site.number is None:
        shared.save(os.path.join(site.output, _FEATURES), force=True)


def shape_of(path: str) -> list[int]:
    """Sizes of the tensor in a file."""
    if path.endswith(".npy"):
        return list(np.load(path, mmap_mode="r").shape)
    return list(_engine.read_tensor(os.fsencode(path), Watch)[0].shape)


def policy_of(value: Any, where: str) -> str:
    """What a site answers, in the engine's words: nothing for "off", "on" for the defaults, otherwise the file of the policy."""
    text = str(value)
    if text == "off":
        return ""
    if text != "on" and not os.path.isabs(text):
        raise InputError(f"{where}: policy = {text!r}; expected on, off, or the absolute path of a policy.toml")
    return text


def numbered_site(config: Mapping[str, Any], number: int, sites: int, where: str, remedy: str) -> Site:
    """Site `number` (from 0) of a simulation: data = a folder, a pattern, or paths separated by commas."""
    text = str(config.get("data", ""))
    files = data_files(text, where)
    if len(files) != sites:
        raise InputError(f"{where}: data = {text!r}, which is {len(files)} files; expected {sites}, one for each simulated site. "
                         + remedy.format(len(files)))
    return Site(f"client-{number + 1}", files[number], str(config.get("output", "")), number + 1,
                bool(config.get("force", False)), policy_of(config.get("policy", "off"), where))


def data_files(text: str, where: str) -> list[str]:
    """The files that a folder, a pattern or a list with commas names, in the order of their numbers."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not parts or not all(os.path.isabs(part) for part in parts):
        raise InputError(f"{where}: data = {text!r}; expected absolute paths: a folder of .npy files, a pattern such as "
                         "/data/client_*.npy, or files separated by commas")
    if len(parts) > 1:
        return parts
    pattern = os.path.join(glob.escape(parts[0]), "*.npy") if os.path.isdir(parts[0]) else parts[0]
    found = sorted(glob.glob(pattern), key=natural_order)
    return found or parts


def _claim(folder: str, names: Iterable[str], force: bool) -> None:
    """Refuses, before the work starts, files that are there."""
    if not os.path.isabs(folder):
        raise InputError(f"output: {folder!r}; expected an absolute path. The engine runs in a folder of its own.")
    for name in names:
        path = os.path.join(folder, name)
        if os.path.exists(path) and not force:
            raise InputError(f"{path}: it exists; expected a free name. Set force = true to replace it.")


def _write_text(path: str, text: str) -> None:
    """Complete or not at all."""
    part = f"{path}.part"
    with open(part, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(part, path)
