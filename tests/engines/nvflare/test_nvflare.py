"""Couplet on NVIDIA FLARE: its simulator, and a provisioned system with startup kits of its own on this machine."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import types

import numpy as np
import pytest
from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.shareable import Shareable

import couplet
from couplet import _engine
from couplet.nvflare import CoupletExecutor, _answer_in

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from engine_support import (EXAMPLES, close, loopback_of, make_clients, remembers, same, same_personal,  # noqa: E402
                            secure_sites, shown)

loopback = loopback_of("nvflare")
SERVER = {"rank": 4, "deadline": 300.0}


def test_the_commands_of_the_readme_are_understood():
    lines = shown(EXAMPLES / "nvflare" / "README.md")
    for words in map(shlex.split, lines):
        match words[0]:
            case "pip":
                assert "couplet[nvflare]" in words
            case "./run" | "./simulate":
                options = loopback.loopback_common.parse(loopback.arguments(), words[1:])
                assert len(options.files) == 3 and options.rank == 10 and str(options.output) in ("result", "nodes")
            case "nvflare":
                asked = subprocess.run([loopback.BIN / "nvflare", *words[1:3], "-h"], text=True, capture_output=True, check=True)
                assert all(word in asked.stdout for word in words if word.startswith("-"))
            case _:
                raise AssertionError(f"nobody has tried: {words}")
    assert len(lines) == 4


class Context:
    """What a site's process knows of itself, as FLARE's contexts tell it."""

    def __init__(self, local: pathlib.Path, **properties: bool) -> None:
        self._local = local
        self._properties = {getattr(FLContextKey, name): value for name, value in properties.items()}

    def get_identity_name(self) -> str:
        return "site-1"

    def get_prop(self, key, default=None):
        return self._properties.get(key, default)

    def get_engine(self):
        workspace = types.SimpleNamespace(get_site_config_dir=lambda: str(self._local))
        return types.SimpleNamespace(get_workspace=lambda: workspace)


def test_a_job_says_where_data_is_in_the_simulator_alone(tmp_path):
    """Whoever submits a job to a provisioned system chooses neither a site's data nor its policy."""
    data = tmp_path / "secret.npy"
    np.save(data, np.random.default_rng(0).normal(size=(4, 5)))  # fewer patients than the policy asks for
    welcome = _engine.StarJob(["--rank", "4"], "00" * 16, "").welcome(0, 1)
    executor = CoupletExecutor(data=str(data), policy="off")

    def refusal(**properties: bool) -> str:
        answer = executor.execute("couplet", Shareable({"site": "site-1", "welcome": welcome, "common": b""}), Context(tmp_path, **properties), None)
        assert bool(answer["refusal"]) != bool(answer["message"])
        return answer["refusal"]

    assert refusal(SIMULATE_MODE=True, SECURE_MODE=False) == ""
    for properties in ({}, {"SECURE_MODE": True}, {"SECURE_MODE": False}, {"SIMULATE_MODE": True, "SECURE_MODE": True}):
        assert "couplet.json: no such file" in refusal(**properties), properties
        assert "counts in FLARE's simulator alone" in refusal(**properties), properties
    (tmp_path / "couplet.json").write_text(json.dumps({"data": str(data)}))
    assert "4 patients" in refusal(SECURE_MODE=True)
    assert "4 patients" in refusal(SIMULATE_MODE=True, SECURE_MODE=False)


def test_questions_and_answers_are_of_the_site_that_was_asked(tmp_path):
    """FLARE's simulator may give a site's task to another's process: neither side goes on with it."""
    data = tmp_path / "x.npy"
    np.save(data, np.random.default_rng(0).normal(size=(9, 5)))
    welcome = _engine.StarJob(["--rank", "4"], "00" * 16, "").welcome(0, 2)
    executor = CoupletExecutor(data=f"{data},{data}")
    context = Context(tmp_path, SIMULATE_MODE=True, SECURE_MODE=False)

    def answer(asked: str) -> Shareable:
        return executor.execute("couplet", Shareable({"site": asked, "welcome": welcome, "common": b""}), context, None)

    own = _answer_in("site-1", answer("site-1"))
    assert own.site == "site-1" and own.message and not own.refusal
    assert "a question to site-2; expected one to site-1" in answer("site-2")["refusal"]
    other = _answer_in("site-2", answer("site-1"))
    assert not other.message and other.refusal == "an answer of site-1; expected one of site-2, which was asked"
    stranger = answer("site-1")
    del stranger["site"]
    assert "none of couplet's" in _answer_in("site-1", stranger).refusal


def test_threads_of_the_simulator_share_neither_a_site_s_name_nor_a_port(tmp_path):
    program = """if True:
        import sys, threading
        sys.path.insert(0, sys.argv[1])
        from simulator import OwnCopy, SimulatorClientRunner, never_twice, simulator_runner
        assert isinstance(vars(simulator_runner.SimulatorClientRunner)["build_ctx"], OwnCopy)
        runner = simulator_runner.SimulatorClientRunner.__new__(simulator_runner.SimulatorClientRunner)
        runner.build_ctx = {"server": "here"}
        both, seen = threading.Barrier(2), {}
        def start(name):
            runner.build_ctx["client_name"] = name
            both.wait()
            seen[name] = dict(runner.build_ctx)
        threads = [threading.Thread(target=start, args=[name]) for name in ("site-1", "site-2")]
        [thread.start() for thread in threads], [thread.join() for thread in threads]
        assert seen == {name: {"server": "here", "client_name": name} for name in ("site-1", "site-2")}, seen
        asked = iter([[5], [5], [6], [5, 6], [7, 8]])
        ports = never_twice(lambda number: next(asked))
        assert [ports(1), ports(1), ports(2)] == [[5], [6], [7, 8]]
    """
    subprocess.run([sys.executable, "-c", program, EXAMPLES / "nvflare"], check=True, cwd=tmp_path)


@pytest.mark.parametrize("sites, processes", [(8, 8), (3, 2)])
def test_the_simulator_gives_the_bits_of_couplet_simulate(sites, processes, tmp_path):
    """Also where sites take turns, each task in a process of its own."""
    files = make_clients(tmp_path, sites)
    out = tmp_path / "out"
    (tmp_path / "a").mkdir()
    log = loopback.simulate(files, SERVER, out, False, tmp_path / "a", processes)
    assert (out / "features.npz").exists(), log
    expected = couplet.simulate(files, rank=4)
    assert same(out, expected), log
    result = json.loads((out / "result.json").read_text())
    assert result["rse"] == expected.rse and result["bytes_up"] == expected.bytes_up
    assert result["members"] == [f"site-{k}" for k in range(1, sites + 1)]
    assert same_personal(out, expected)


def test_secure_sums_in_the_simulator_have_the_bits_of_couplet_simulate(tmp_path):
    files = make_clients(tmp_path, 4)
    out = tmp_path / "out"
    (tmp_path / "a").mkdir()
    log = loopback.simulate(files, {**SERVER, "flags": "--secure --policy off --sketch gram"}, out, False, tmp_path / "a", 4)
    assert (out / "features.npz").exists(), log
    expected = couplet.simulate(files, rank=4, secure=True, policy="off", sketch="gram")
    assert same(out, expected) and same_personal(out, expected), log
    result = json.loads((out / "result.json").read_text())
    assert result["privacy"]["secure"] and result["privacy"]["threshold"] == 3 and "rse" not in result


def test_a_tree_of_mergers_in_the_simulator_fits_as_well(tmp_path):
    files = make_clients(tmp_path, 16, patients=8)
    out = tmp_path / "out"
    (tmp_path / "a").mkdir()
    log = loopback.simulate(files, {**SERVER, "tree": 4}, out, False, tmp_path / "a", 16)
    assert (out / "result.json").exists(), log
    assert close(out, couplet.simulate(files, rank=4), 4 + 1)


def test_a_provisioned_system_of_3_gives_the_same_bits_also_masked_and_goes_on_without_a_site(tmp_path):
    files = make_clients(tmp_path, 3)
    sites = {f"site-{k}": {"data": str(file), "output": str(tmp_path / f"at-{k}"), "force": True}
             for k, file in enumerate(files, 1)}
    folder = tmp_path / "system"
    folder.mkdir()
    kit = secure_sites(loopback, sites, folder)
    with loopback.Loopback(sites, folder) as system:
        out = tmp_path / "out"
        log = system.run({**SERVER, "sites": 3, "output": str(out)})
        assert (out / "features.npz").exists(), log
        expected = couplet.simulate(files, rank=4)
        assert same(out, expected)
        for k, core in enumerate(expected.personal, 1):
            assert np.array_equal(np.load(tmp_path / f"at-{k}" / "personal.npz")["core_1"][0], core)
            assert same(tmp_path / f"at-{k}", expected)

        # Secure sums: the same bits as simulate's, and every site keeps in its kit what it has shown.
        secure = tmp_path / "secure"
        log = system.run({**SERVER, "flags": "--secure --policy off --sketch gram", "sites": 3, "output": str(secure), "kit": str(kit)})
        assert (secure / "result.json").exists(), log
        expected = couplet.simulate(files, rank=4, secure=True, policy="off", sketch="gram")
        assert same(secure, expected) and same(tmp_path / "at-2", expected), log
        result = json.loads((secure / "result.json").read_text())
        assert result["privacy"]["secure"] and "rse" not in result
        assert all(remembers(kit.parent / name, result["job"]) for name in sites)

        # A site whose schema is another is named, and nobody else suffers when enough remain.
        own = np.load(files[1])
        np.save(files[1], np.random.default_rng(1).normal(size=(9, 6, 4)))
        log = system.run({**SERVER, "sites": 3, "min_sites": 2, "output": str(tmp_path / "two")})
        result = json.loads((tmp_path / "two" / "result.json").read_text())
        assert result["members"] == ["site-1", "site-3"] and "size 4" in result["refused"]["site-2"], log
        assert same(tmp_path / "two", couplet.simulate([files[0], files[2]], rank=4))

        # A site whose privacy policy is a filter of FLARE's refuses before anything of its data is touched.
        np.save(files[1], own)
        local = system.kits / "site-3" / "local"
        (local / "policy.toml").write_text("min_patients = 1000\n")
        del sites["site-3"]["policy"]
        (local / "couplet.json").write_text(json.dumps(sites["site-3"]))
        (local / "privacy.json").write_text(json.dumps({"default_scope": "public", "scopes": [
            {"name": "public", "properties": {}, **{kind: [{"path": "couplet.nvflare.PolicyFilter", "args": {}}]
                                                    for kind in ("task_data_filters", "task_result_filters")}}]}))
        log = system.run({**SERVER, "sites": 3, "output": str(tmp_path / "none")})
        assert not (tmp_path / "none" / "features.npz").exists()
        told = re.sub(r"\s+", " ", log)
        assert "2 of 3 sites take part (site-1, site-2); expected at least 3" in told, log
        assert "site-3 is refused: FLARE says: TASK_DATA_FILTER_ERROR; a filter of this site refused" in told, log
