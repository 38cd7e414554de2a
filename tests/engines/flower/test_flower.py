"""Couplet on Flower: its simulation engine, and real SuperNodes with TLS and keys on this machine."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import tomllib

import numpy as np

import couplet

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
from engine_support import ROOT, close, make_clients, remembers, same, same_personal, secure_sites, shown  # noqa: E402
from simulation import APP, loopback, simulation  # noqa: E402


def test_a_simulation_of_8_as_the_readme_shows_it_gives_the_bits_of_couplet_simulate(tmp_path):
    app = tmp_path / "app"
    shutil.copytree(APP, app, ignore=shutil.ignore_patterns("__pycache__"))
    (app / "data").mkdir()
    files = make_clients(app / "data", 8)
    command = next(line for line in shown(APP / "README.md") if line.startswith("flwr run . --stream"))
    with simulation(tmp_path) as engine:
        log = engine.command(["bash", "-c", command], app)
        out = app / "result"
        assert (out / "features.npz").exists(), log
        expected = couplet.simulate(files, rank=10)
        assert same(out, expected), log
        result = json.loads((out / "result.json").read_text())
        assert result["rse"] == expected.rse and result["bytes_up"] == expected.bytes_up
        assert same_personal(out, expected)

        # Secure sums: everybody's are masked, and their total has the same bits.
        secure = tmp_path / "secure"
        files = files[:4]
        data = ",".join(map(str, files))
        log = engine.run(f'rank=4 flags="--secure --policy off" deadline=300.0 data="{data}" output="{secure}"', 4)
        assert (secure / "result.json").exists(), log
        expected = couplet.simulate(files, rank=4, secure=True, policy="off")
        assert same(secure, expected) and same_personal(secure, expected)
        result = json.loads((secure / "result.json").read_text())
        assert result["privacy"]["threshold"] == 3 and "rse" not in result

        # Many sites, merged in a tree.
        (tmp_path / "many").mkdir()
        files = make_clients(tmp_path / "many", 16, patients=8)
        tree = tmp_path / "tree"
        log = engine.run(f'rank=4 tree=4 deadline=300.0 data="{tmp_path / "many"}" output="{tree}"', 16)
        assert (tree / "result.json").exists(), log
        assert close(tree, couplet.simulate(files, rank=4), 4 + 1)


def test_the_other_commands_of_the_documents_are_understood(tmp_path):
    known = set(tomllib.loads((APP / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"])
    lines = [*shown(APP / "README.md"), *shown(ROOT / "docs" / "flower-and-flare.md")]
    understood = 0
    for words in map(shlex.split, lines):
        match words[0]:
            case "pip":
                assert re.fullmatch(r"(dist/couplet-VERSION.whl|couplet)\[(flower|nvflare)\]", words[2])
            case "./run" | "examples/flower/run":
                options = loopback.loopback_common.parse(loopback.arguments(), words[1:])
                assert len(options.files) in (3, 4) and options.rank == 10 and str(options.output) in ("result", "nodes", "masked")
            case "flower-supernode":
                helped = subprocess.run([loopback.BIN / words[0], "--help"], text=True, capture_output=True, check=True).stdout
                assert all(word in helped for word in words if word.startswith("--"))
                node = dict(pair.split("=", 1) for pair in shlex.split(words[-1]))
                assert set(node) <= {"name", "data", "output", "policy", "force", "kit", "memory"}
            case "flwr":
                given = re.findall(r"([a-z-]+)=", words[words.index("--run-config") + 1])
                assert set(given) <= known
            case _:
                raise AssertionError(f"nobody has tried: {words}")
        understood += 1
    assert understood == len(lines) > 5


def kill_in_mid_round(deployment, name, asked_before):
    """Kills a SuperNode and all it started when it has greeted and been asked for its answer."""
    until = time.monotonic() + 600
    while deployment.log_of(name).count("Received successfully") < asked_before + 2 and time.monotonic() < until:
        time.sleep(0.05)
    os.killpg(deployment.nodes[name].pid, signal.SIGKILL)


def test_a_deployment_of_3_gives_the_same_bits_also_masked_and_survives_a_node_that_is_killed(tmp_path):
    files = make_clients(tmp_path, 3)
    sites = {f"client-{k}": {"name": f"client-{k}", "data": str(file), "output": str(tmp_path / f"at-{k}"), "force": True}
             for k, file in enumerate(files, 1)}
    folder = tmp_path / "deployment"
    folder.mkdir()
    kit = secure_sites(loopback, sites, folder)
    with loopback.Loopback(sites, folder) as deployment:
        out = tmp_path / "out"
        log = deployment.run(f'rank=4 sites=3 deadline=300.0 output="{out}"', timeout=3600)
        expected = couplet.simulate(files, rank=4)
        assert (out / "features.npz").exists(), log
        assert same(out, expected)
        for k, core in enumerate(expected.personal, 1):
            assert np.array_equal(np.load(tmp_path / f"at-{k}" / "personal.npz")["core_1"][0], core)
            assert same(tmp_path / f"at-{k}", expected)
        assert json.loads((out / "result.json").read_text())["members"] == ["client-1", "client-2", "client-3"]

        # Secure sums: the same bits as simulate's, and the sites keep what they must not forget between their processes.
        flags = "--secure --policy off --sketch gram"
        secure = tmp_path / "secure"
        log = deployment.run(f'rank=4 flags="{flags}" sites=3 deadline=300.0 output="{secure}" kit="{kit}"', timeout=3600)
        assert (secure / "result.json").exists(), log
        expected = couplet.simulate(files, rank=4, secure=True, policy="off", sketch="gram")
        assert same(secure, expected) and same(tmp_path / "at-2", expected), log
        result = json.loads((secure / "result.json").read_text())
        assert result["privacy"]["secure"] and "rse" not in result
        assert "question 8: answered by 3 of 3 sites" in log
        assert all(remembers(kit.parent / name, result["job"]) for name in sites)

        # One is killed between its greeting and its answer: the result of the quorum.
        asked = deployment.log_of("client-2").count("Received successfully")
        killer = threading.Thread(target=kill_in_mid_round, args=(deployment, "client-2", asked))
        killer.start()
        quorum = tmp_path / "quorum"
        log = deployment.run(f'rank=4 sites=3 min-sites=2 deadline=60.0 output="{quorum}"', timeout=3600)
        killer.join()
        assert (quorum / "result.json").exists(), log
        result = json.loads((quorum / "result.json").read_text())
        assert result["members"] == ["client-1", "client-3"] and list(result["lost"]) == ["client-2"], log
        assert same(quorum, couplet.simulate([files[0], files[2]], rank=4))

        # Without a quorum: a failure that says so, and no files.
        log = deployment.run(f'rank=4 sites=3 deadline=5.0 output="{tmp_path / "none"}"', timeout=3600)
        assert "expected at least 3" in re.sub(r"\s+", " ", log), log
        assert not (tmp_path / "none" / "features.npz").exists()
