"""Couplet on NVIDIA FLARE: a Controller and an Executor for a job that the simulator runs and a provisioned system too.

Needs the extra `couplet[nvflare]`. The job's server configuration says what is computed (rank, flags, sites, min_sites,
deadline, output, force, kit, tree); a site says where its data is in local/couplet.json of its startup kit ({"data": ...,
"output": ...}), what it agrees to in local/policy.toml, and allows `couplet.nvflare` there. docs/flower-and-flare.md explains all of them.
"""

from __future__ import annotations

import json
import os
import queue
import re
import time
import warnings
from collections.abc import Sequence
from typing import Any

from . import _engine
from ._errors import InputError, RunError
from ._star import Answer, JobOptions, Question, Site, absolute, data_files, policy_of, respond, run_job, shape_of
from ._watch import log

try:
    import nvflare
    from nvflare.apis.controller_spec import SendOrder, Task
    from nvflare.apis.executor import Executor
    from nvflare.apis.filter import Filter
    from nvflare.apis.fl_constant import FLContextKey, ReturnCode
    from nvflare.apis.fl_context import FLContext
    from nvflare.apis.impl.controller import Controller
    from nvflare.apis.shareable import Shareable, make_reply
    from nvflare.apis.signal import Signal
except ImportError as error:
    raise ImportError(f"couplet.nvflare: {error}; expected NVIDIA FLARE 2.9. Run: pip install 'couplet[nvflare]'") from error

__all__ = ["CoupletController", "CoupletExecutor", "PolicyFilter"]

TESTED = ("2.9",)
if ".".join(nvflare.__version__.split(".")[:2]) not in TESTED:
    warnings.warn(f"couplet.nvflare: NVIDIA FLARE {nvflare.__version__}; tested with {', '.join(TESTED)}. It may work as well.",
                  RuntimeWarning, stacklevel=2)

_TASK = "couplet"
_SITE_FILE = "couplet.json"  # in the folder local of a site's startup kit
_POLICY_FILE = "policy.toml"  # likewise
_SITE = "site"  # of a question, whom it is for; of an answer, whose it is
_QUESTION = "couplet.question"  # property of a task's context, for what comes after
_PAUSE = 0.05  # seconds between looks for answers


class _Clients:
    """The clients of a FLARE job, as a Carrier. They are known by the names in their certificates."""

    def __init__(self, controller: Any, fl_ctx: Any, abort_signal: Any) -> None:
        self._controller = controller
        self._fl_ctx = fl_ctx
        self._abort = abort_signal
        self._arrived: queue.Queue[tuple[Any, Answer]] = queue.Queue()
        self._tickets = 0

    def nodes(self) -> list[str]:
        self._go_on()
        return sorted(client.name for client in self._fl_ctx.get_engine().get_clients())

    def send(self, node: str, question: Question, seconds: float) -> int:
        self._tickets += 1
        ticket = self._tickets
        data = Shareable({_SITE: node, "welcome": question.welcome, "common": question.common})

        def received(client_task: Any, fl_ctx: Any) -> None:
            self._arrived.put((ticket, _answer_in(node, client_task.result)))
            client_task.result = None

        task = Task(name=_TASK, data=data, timeout=int(seconds) + 1, result_received_cb=received)
        self._controller.send(task=task, fl_ctx=self._fl_ctx, targets=[node], send_order=SendOrder.SEQUENTIAL)
        return ticket

    def receive(self, tickets: Sequence[int]) -> list[tuple[int, Answer]]:
        self._go_on()
        wanted = set(tickets)
        found = []
        try:
            found.append(self._arrived.get(timeout=_PAUSE))
            while True:
                found.append(self._arrived.get_nowait())
        except queue.Empty:
            pass
        return [(ticket, answer) for ticket, answer in found if ticket in wanted]  # late ones are not wanted any more

    def _go_on(self) -> None:
        if self._abort.triggered:
            raise RunError("job: aborted; expected time to finish it")


def _answer_in(node: str, result: Any) -> Answer:
    if not isinstance(result, Shareable) or result.get_return_code() != ReturnCode.OK:
        code = result.get_return_code() if isinstance(result, Shareable) else "no result"
        filtered = code in (ReturnCode.TASK_DATA_FILTER_ERROR, ReturnCode.TASK_RESULT_FILTER_ERROR)
        return Answer(node, refusal=f"FLARE says: {code}" + ("; a filter of this site refused, its log says why" if filtered else ""))
    try:
        if (said := str(result[_SITE])) != node:
            return Answer(node, refusal=f"an answer of {said}; expected one of {node}, which was asked")
        return Answer(node, bytes(result["message"]), str(result["refusal"]), str(result["version"]))
    except (KeyError, TypeError) as error:
        return Answer(node, refusal=f"an answer that is none of couplet's ({error!r}); expected couplet.nvflare at the site")


class CoupletController(Controller):  # type: ignore[misc]
    """The server's end of a job.

    rank, flags: what is computed, as `couplet simulate` takes it. sites: how many are waited for; 0: those who are there.
    min_sites: without so many the job fails; 0: all who were there. deadline: seconds, for every wait. output: folder for
    features.npz and result.json; by default `couplet` in the job's folder, which `nvflare job download` brings. kit: a
    coordinator's, for secure sums between sites with kits. tree: sites that one merger of a tree takes; 0: one merges all.
    """

    def __init__(self, rank: int = 0, flags: str = "", sites: int = 0, min_sites: int = 0, deadline: float = 60.0,
                 output: str = "", force: bool = False, kit: str = "", tree: int = 0) -> None:
        super().__init__()
        self._config = {"rank": rank, "flags": flags, "sites": sites, "min-sites": min_sites, "deadline": deadline,
                        "output": output, "force": force, "kit": kit, "tree": tree}

    def start_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to prepare."""

    def control_flow(self, abort_signal: Signal, fl_ctx: FLContext) -> None:
        workspace = fl_ctx.get_engine().get_workspace()
        config = dict(self._config)
        if not config["output"]:
            config["output"] = os.path.abspath(os.path.join(workspace.get_run_dir(fl_ctx.get_job_id()), "couplet"))
        try:
            result = run_job(_Clients(self, fl_ctx, abort_signal), JobOptions.from_config(config, "job configuration"))
        except (InputError, RunError) as error:
            self.system_panic(str(error), fl_ctx)
            return
        shown = {key: result[key] for key in ("rse", "rel_error_bound", "ranks", "members", "refused", "lost") if key in result}
        self.log_info(fl_ctx, f"couplet: {shown}; written to {config['output']}")

    def stop_controller(self, fl_ctx: FLContext) -> None:
        """Nothing to put away."""

    def process_result_of_unknown_task(self, client: Any, task_name: str, client_task_id: str, result: Shareable,
                                       fl_ctx: FLContext) -> None:
        """An answer that came too late."""
        self.log_info(fl_ctx, f"couplet: an answer of {client.name} came too late")


class CoupletExecutor(Executor):  # type: ignore[misc]
    """A site's end of a job.

    data, output, force, policy: for FLARE's simulator, where one configuration serves all sites: a folder, a pattern or files
    with commas, of which site-1 takes the first. A site of a provisioned system says its own in local/couplet.json and
    local/policy.toml, which alone count: whoever submits a job chooses neither its data nor what it agrees to.
    """

    def __init__(self, data: str = "", output: str = "", force: bool = False, policy: str = "off") -> None:
        super().__init__()
        self._policy = policy
        self._data = data
        self._output = output
        self._force = force

    def execute(self, task_name: str, shareable: Shareable, fl_ctx: FLContext, abort_signal: Signal) -> Shareable:
        if task_name != _TASK:
            return make_reply(ReturnCode.TASK_UNKNOWN)
        begun = time.monotonic()
        name = fl_ctx.get_identity_name()
        try:
            if (asked := str(shareable[_SITE])) != name:
                raise InputError(f"a question to {asked}; expected one to {name}, which this site is")
            site = self._site(name, fl_ctx.get_engine().get_workspace().get_site_config_dir(), _is_simulated(fl_ctx))
            answer = respond(site, Question(bytes(shareable["welcome"]), bytes(shareable["common"])))
        except (InputError, KeyError, TypeError) as error:
            answer = Answer(name, refusal=str(error))
        reply = make_reply(ReturnCode.OK)
        reply[_SITE] = name
        reply["message"] = answer.message
        reply["refusal"] = answer.refusal
        reply["version"] = answer.version
        log.info("answered in %.3f s", time.monotonic() - begun)
        return reply

    def _site(self, name: str, folder: str, simulated: bool) -> Site:
        path = os.path.join(folder, _SITE_FILE)
        if os.path.exists(path):
            return _site_of_file(name, path)
        if not self._data or not simulated:
            given = f", and data = {self._data!r} of the job counts in FLARE's simulator alone" if self._data else ""
            raise InputError(f"{path}: no such file{given}; expected {{\"data\": \"/path/x.npy\"}}, this site's own word on its data")
        files = data_files(self._data, "job configuration")
        number = re.search(r"([0-9]+)$", name)
        if number is None or not 1 <= int(number[1]) <= len(files):
            raise InputError(f"job configuration: data = {self._data!r}, which is {len(files)} files; expected one for {name}. "
                             "Simulate as many sites as there are files.")
        k = int(number[1])
        return Site(name, files[k - 1], self._output, k, self._force, policy_of(self._policy, "job configuration"))


class PolicyFilter(Filter):  # type: ignore[misc]
    """A site's policy among the filters of FLARE's privacy scopes: local/privacy.json of its startup kit names it in
    task_data_filters, and in task_result_filters as well. What the policy does not allow reaches neither an executor nor, if
    it is an answer, the server; FLARE then tells the server that this site's filter refused.

    policy: a file; by default what CoupletExecutor goes by.
    """

    def __init__(self, policy: str = "") -> None:
        super().__init__()
        self._policy = policy

    def process(self, shareable: Shareable, fl_ctx: FLContext) -> Shareable:
        if "common" in shareable:
            question = bytes(shareable["welcome"]) + bytes(shareable["common"])
            fl_ctx.set_prop(_QUESTION, question, private=True, sticky=False)
            self._vet(question, fl_ctx)
        elif shareable.get("message"):
            self._vet((fl_ctx.get_prop(_QUESTION) or b"") + bytes(shareable["message"]), fl_ctx)
        return shareable

    def _vet(self, messages: bytes, fl_ctx: FLContext) -> None:
        path = os.path.join(fl_ctx.get_engine().get_workspace().get_site_config_dir(), _SITE_FILE)
        site = _site_of_file(fl_ctx.get_identity_name(), path)
        policy = policy_of(self._policy, "privacy.json") if self._policy else site.policy
        if messages and policy:
            _engine.vet(messages, shape_of(site.data), policy)


def _is_simulated(fl_ctx: FLContext) -> bool:
    """Whether this is a site of FLARE's simulator: its process says so in every context, and says that it is not secure. That
    of a startup kit says the contrary before it reads a job; where nothing is said, it is no simulator."""
    return fl_ctx.get_prop(FLContextKey.SIMULATE_MODE, False) is True and fl_ctx.get_prop(FLContextKey.SECURE_MODE, True) is False


def _site_of_file(name: str, path: str) -> Site:
    try:
        with open(path, encoding="utf-8") as file:
            said = json.load(file)
        own = os.path.join(os.path.dirname(os.path.abspath(path)), _POLICY_FILE)
        policy = policy_of(said.get("policy", own if os.path.exists(own) else "on"), path)
        return Site(name, str(said["data"]), str(said.get("output", "")), force=bool(said.get("force", False)), policy=policy,
                    kit=absolute(said.get("kit", ""), "kit", path), book=absolute(said.get("memory", ""), "memory", path))
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: {error!r}; expected an object with data, and perhaps output, policy, kit, memory and force") from None
