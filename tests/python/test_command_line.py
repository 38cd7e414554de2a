"""The package and its command line compute the same bits and write the same bytes."""
import json
import re
import subprocess
import sys

import numpy as np
import pytest

import couplet
from conftest import COMMAND, low_rank

# Fields that tell when and where, not what.
ELSEWHERE = ("seconds", "output", "state", "trace")


def same_fields(result, printed):
    mine = {key: value for key, value in result.to_dict().items() if key not in ELSEWHERE}
    theirs = {key: value for key, value in printed.items() if key not in ELSEWHERE}
    assert mine == theirs


@pytest.fixture
def clients(rng, tmp_path):
    tensors = [low_rank(rng, (n, 7, 6), 4, 0.1) for n in (15, 9, 12, 11)]
    paths = []
    for k, x in enumerate(tensors):
        paths.append(tmp_path / f"client_{k + 1}.npy")
        np.save(paths[-1], x)
    return tensors, paths


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"eps": 0.2}, {"max_rank": 3}, {"max_rank": 4, "method": "random", "seed": 5},
                                     {"eps": 1e-9, "method": "qr"}])
def test_decompose_writes_the_same_file(rng, tmp_path, command, options, dtype):
    x = low_rank(rng, (30, 20, 10), 5, 0.1).astype(dtype)
    np.save(tmp_path / "x.npy", x)
    flags = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", value)]
    printed = command("decompose", tmp_path / "x.npy", *flags, "-o", tmp_path / "theirs.npz")
    train = couplet.decompose(x, **options)
    train.save(tmp_path / "ours.npz")
    assert (tmp_path / "ours.npz").read_bytes() == (tmp_path / "theirs.npz").read_bytes()
    assert train.rel_error == printed["rel_error"] and list(train.ranks) == printed["ranks"]
    loaded = couplet.load(tmp_path / "theirs.npz")
    assert all(np.array_equal(a, b) for a, b in zip(train.cores, loaded.cores))
    assert loaded.metadata == train.metadata


FEDERATIONS = [
    {"rank": 4},
    {"eps": 0.3},
    {},
    {"rank": 3, "eps1": 0.05, "eps2": 0.1},
    {"rank": 3, "aggregate": "average"},
    {"rank": 3, "aggregate": "subspace", "sketch": "random", "passes": 2, "seed": 3},
    {"rank": 3, "network": "decentralized", "graph": "ring", "aggregate": "subspace", "consensus": "chebyshev"},
    {"rank": 3, "network": "decentralized", "aggregate": "average", "iterations": 5},
    {"rank": 3, "network": "decentralized", "graph": "path", "aggregate": "stack"},
    {"rank": 4, "scale_clients": "norm", "heldout": 0.2},
    {"rank": 4, "dry_run": True},
    {"rank": 3, "method": "centralized"},
    {"rank": 3, "method": "local"},
    {"rank": 3, "method": "fedsvd"},
    {"rank": 3, "method": "dpsgd", "rounds": 10, "graph": "ring", "step": 0.5},
    {"rank": 3, "method": "fedgtf-ef", "rounds": 5, "compression": False},
    {"rank": 3, "refit": True, "aggregate": "average"},
    {"rank": 3, "precision": "f32"},
    {"eps": 0.2, "precision": "f64"},
    {"bytes": "2kB"},
    {"bytes_total": 5000},
    {"eps": 0.3, "network": "decentralized", "graph": "ring", "precision": "f32"},
    {"bytes": 3000, "network": "decentralized"},
    {"rank": 3, "missing": "impute"},
    {"rank": 3, "missing": "impute", "network": "decentralized", "aggregate": "subspace"},
    {"rank": 3, "unnamed": "allow"},
]


@pytest.mark.parametrize("flags", FEDERATIONS, ids=lambda flags: " ".join(f"{k}={v}" for k, v in flags.items()) or "none")
def test_simulate_gives_the_same_result(clients, command, flags):
    tensors, paths = clients
    words = {"compression": "no-compression"}
    arguments = []
    for name, value in flags.items():
        flag = "--" + words.get(name, name).replace("_", "-")
        arguments += [flag] if isinstance(value, bool) else [flag, value]
    printed = command("simulate", *paths, *arguments)
    same_fields(couplet.simulate(tensors, names=[path.stem for path in paths], **flags), printed)
    same_fields(couplet.simulate(paths, **flags), printed)


def test_every_flag_of_the_verb_is_there():
    """What `couplet simulate --help-all` lists, no more and no less, by the same names."""
    text = subprocess.run([str(COMMAND), "simulate", "--help-all"], text=True, capture_output=True, check=True).stdout
    listed = set(re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", text, re.MULTILINE)) - {"help", "help-all"}
    known = dict(couplet._engine.simulate_flags())
    assert listed == set(known) and len(listed) > 40
    x = np.ones((3, 2))
    for flag, takes_value in known.items():
        name = flag.replace("-", "_")
        for wrong in [object()] + ([True, False] if takes_value else [3, "yes"]):
            with pytest.raises(TypeError, match=f"^{name}: "):
                couplet.simulate([x], names=["a"], **{name: wrong})


def test_a_schema_for_all(rng, command, tmp_path):
    names = ["age", "bmi", "ldl"]
    (tmp_path / "a.csv").write_text("\n".join([",".join(names), *(",".join(map(str, row)) for row in rng.normal(size=(9, 3)))]))
    (tmp_path / "b.csv").write_text("\n".join([",".join(names[::-1]), *(",".join(map(str, row)) for row in rng.normal(size=(7, 3)))]))
    schema = couplet.Schema((3,), [names[::-1]])
    schema.save(tmp_path / "s.json")
    paths = [tmp_path / "a.csv", tmp_path / "b.csv"]
    printed = command("simulate", *paths, "--rank", 2, "--schema", tmp_path / "s.json")
    same_fields(couplet.simulate(paths, rank=2, schema=schema), printed)
    read = [couplet.read_tensor(path) for path in paths]
    result = couplet.simulate([x for x, _ in read], labels=[labels for _, labels in read], rank=2, schema=tmp_path / "s.json")
    assert result.reordered == ["client 1"]
    same_fields(result, printed | {"reordered": ["client 1"]})
    assert result.features.labels[0].entries == names[::-1]


def test_the_model_is_the_one_in_the_folder(clients, command, tmp_path):
    tensors, paths = clients
    command("simulate", *paths, "--rank", 4, "-o", tmp_path / "theirs")
    result = couplet.simulate(tensors, names=[path.stem for path in paths], rank=4, output=tmp_path / "ours")
    for name in ("features.npz", *(f"personal_{k}.npz" for k in range(1, 5))):
        assert (tmp_path / "ours" / name).read_bytes() == (tmp_path / "theirs" / name).read_bytes(), name
    result.save(tmp_path / "saved")
    loaded = couplet.load(tmp_path / "saved" / "features.npz")
    assert all(np.array_equal(a, b) for a, b in zip(loaded.cores, result.features.cores))
    assert np.array_equal(couplet.load(tmp_path / "theirs" / "personal_2.npz"), result.personal[1])
    with pytest.raises(ValueError, match="exists"):
        result.save(tmp_path / "saved")
    result.save(tmp_path / "saved", force=True)


def test_what_was_centred_and_scaled_is_so_in_every_way_in_and_out(clients, command, tmp_path):
    """The features know how the data was moved: new patients are moved the same way, and a model is moved back."""
    tensors, paths = clients
    moved = [x * 3 + np.arange(7.0)[:, None] * 100 for x in tensors]
    for x, path in zip(moved, paths):
        np.save(path, x)
    command("simulate", *paths, "--rank", 6, "--centre", "--scale", "-o", tmp_path / "theirs")
    result = couplet.simulate(moved, names=[path.stem for path in paths], rank=6, centre=True, scale=True)
    result.save(tmp_path / "ours")
    for folder in ("ours", "theirs"):
        printed = command("project", tmp_path / folder / "features.npz", paths[1], "-o", tmp_path / f"{folder}.npz")
        fit = couplet.project(result.features, moved[1])
        assert fit.rse == printed["rse"] < 0.5
        assert np.array_equal(fit.personal, couplet.load(tmp_path / f"{folder}.npz"))
    spread = np.linalg.norm(moved[1] - np.mean(np.concatenate(moved), 0))
    assert np.linalg.norm(moved[1] - result.reconstruct(1)) < 0.7 * spread
    assert couplet.load(tmp_path / "ours" / "features.npz").metadata["client_names"] == [path.stem for path in paths]


def test_a_personal_core_of_rank_one_is_an_array(clients, command, tmp_path):
    tensors, paths = clients
    result = couplet.simulate(tensors, rank=1, output=tmp_path / "r")
    assert np.array_equal(couplet.load(tmp_path / "r" / "personal_2.npz"), result.personal[1])
    assert result.personal[1].shape == (9, 1)
    command("project", tmp_path / "r" / "features.npz", paths[0], "-o", tmp_path / "p.npz")
    assert couplet.load(tmp_path / "p.npz").shape == (15, 1)
    assert isinstance(couplet.load(tmp_path / "r" / "features.npz"), couplet.TensorTrain)
    couplet.decompose(tensors[0][0, 0]).save(tmp_path / "vector.npz")
    assert isinstance(couplet.load(tmp_path / "vector.npz"), couplet.TensorTrain)


def test_project_gives_the_same_numbers(clients, command, tmp_path):
    tensors, paths = clients
    command("simulate", *paths[:3], "--rank", 4, "-o", tmp_path / "r")
    printed = command("project", tmp_path / "r" / "features.npz", paths[3], "-o", tmp_path / "p.npz")
    projection = couplet.project(tmp_path / "r" / "features.npz", tensors[3])
    assert projection.rse == printed["rse"]
    assert np.array_equal(projection.personal, couplet.load(tmp_path / "p.npz"))
    holes = tensors[3].copy()
    holes[::3, 2, 1] = np.nan
    holes[4] = np.nan
    np.save(tmp_path / "holes.npy", holes)
    printed = command("project", tmp_path / "r" / "features.npz", tmp_path / "holes.npy", "--missing", "impute", "-o",
                      tmp_path / "q.npz")
    projection = couplet.project(tmp_path / "r" / "features.npz", holes, missing="impute")
    assert projection.rse == printed["rse"] and projection.missing_fraction == printed["missing"]["fraction"]
    assert projection.unknown == printed["missing"]["unknown"] == [4]
    assert np.array_equal(projection.personal, couplet.load(tmp_path / "q.npz"))
    with pytest.raises(ValueError, match="NaN.*With missing='impute' every patient"):
        couplet.project(tmp_path / "r" / "features.npz", holes)


def test_split_synthetic_missing_and_a_late_joiner(clients, command, tmp_path):
    tensors, paths = clients
    whole = np.concatenate(tensors)
    np.save(tmp_path / "all.npy", whole)
    same_fields(couplet.simulate(whole, split=3, rank=3), command("simulate", "--split", 3, tmp_path / "all.npy", "--rank", 3))
    same_fields(couplet.simulate(synthetic="30x5x4:rank=3,noise=0.1", clients=3, rank=3, seed=4),
                command("simulate", "--synthetic", "30x5x4:rank=3,noise=0.1", "--clients", 3, "--rank", 3, "--seed", 4))
    holes = whole.copy()
    holes[::5, 2, 3] = np.nan
    np.save(tmp_path / "holes.npy", holes)
    same_fields(couplet.simulate(holes, split=2, rank=3, missing="impute"),
                command("simulate", "--split", 2, tmp_path / "holes.npy", "--rank", 3, "--missing", "impute"))
    with pytest.raises(ValueError, match="NaN.*With missing='impute' and a rank"):
        couplet.simulate(holes, split=2, rank=3)
    command("simulate", *paths[:3], "--eps", 0.3, "--save-state", tmp_path / "theirs.npz")
    couplet.simulate(tensors[:3], eps=0.3, save_state=tmp_path / "ours.npz", names=["a", "b", "c"])
    same_fields(couplet.simulate(tensors[3:], eps=0.3, resume=tmp_path / "ours.npz", names=["d"]),
                command("simulate", paths[3], "--eps", 0.3, "--resume", tmp_path / "theirs.npz"))


@pytest.mark.parametrize("kind, spec, options", [
    ("synthetic", "20x6x5:rank=3,noise=0.1", {"clients": 3, "seed": 2, "missing": 0.1}),
    ("ecg", None, {"clients": 2, "count": 40, "points": 12, "classes": "five", "shuffle": True, "seed": 3}),
    ("ecg", None, {"clients": 1, "count": 30, "points": 9, "embedding": "lag"}),
    ("diabetes", None, {"clients": 3, "count": 60, "missing": 0.2, "missing_as": "zero"}),
    ("ehr", None, {"clients": 2, "top": "9x8", "frequent_by": "patients"}),
    ("ehr", None, {"clients": 2, "source": "synthea", "top": "9x8"}),
])
def test_data_is_the_same(command, tmp_path, kind, spec, options):
    import os
    if kind != "synthetic" and not os.environ.get("COUPLET_DATA"):
        pytest.skip("COUPLET_DATA is not set")
    flags = []
    for name, value in options.items():
        flags += ["--" + name.replace("_", "-")] + ([] if value is True else [value])
    command("data", kind, *([spec] if spec else []), *flags, "-o", tmp_path)
    builder = getattr(couplet.data, kind)
    made = builder(spec, **options) if spec else builder(**options)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert len(made.tensors) == options["clients"]
    for k, x in enumerate(made.tensors, start=1):
        assert np.array_equal(x, np.load(tmp_path / f"client_{k}.npy"), equal_nan=True)
        if made.classes[k - 1] is not None:
            assert np.array_equal(made.classes[k - 1], np.load(tmp_path / f"labels_{k}.npy"))
    assert [mode.entries for mode in made.labels[1:]] == [mode["entries"] for mode in manifest["mode_labels"][1:]]


def test_names_arrive_in_the_features(clients):
    tensors, _ = clients
    labels = [None, couplet.ModeLabels("lab", [f"l{i}" for i in range(7)]), couplet.ModeLabels("drug", [f"d{i}" for i in range(6)])]
    result = couplet.simulate(tensors, rank=3, labels=labels)
    assert [mode.name for mode in result.features.labels] == ["lab", "drug"]
    assert result.features.labels[1].entries == labels[2].entries


def test_the_command_is_on_the_path_and_starts_without_numpy():
    import shutil
    import os
    script = os.path.join(os.path.dirname(sys.executable), "couplet")
    assert shutil.which("couplet", path=os.path.dirname(sys.executable)) == script
    done = subprocess.run([script, "--version"], text=True, capture_output=True)
    assert done.stdout == f"couplet {couplet.__version__}\n"
    done = subprocess.run([sys.executable, "-m", "couplet", "nonsense"], text=True, capture_output=True)
    assert done.returncode == 2 and "no such verb" in done.stderr
    assert COMMAND.exists()


def test_other_verbs(rng, tmp_path):
    np.save(tmp_path / "x.npy", low_rank(rng, (20, 5, 4), 2))
    assert couplet.command("info", tmp_path / "x.npy").shape == [20, 5, 4]
    made = couplet.command("data", "synthetic", "30x5x4:rank=2", clients=2, output=tmp_path / "d", seed=3, force=False)
    assert made.clients == 2 and (tmp_path / "d" / "client_2.npy").exists()
    clients = [tmp_path / "d" / f"client_{k}.npy" for k in (1, 2)]
    found = couplet.command("tune", *clients, method="dpsgd", rank=2, rounds=5, cache=tmp_path / "t.json")
    assert found.results and (tmp_path / "t.json").exists()
    kit = couplet.command("provision", coordinator="localhost:7999", clients=["a", "b"], output=tmp_path / "kits")
    assert {"a", "b", "coordinator"} <= {path.name for path in (tmp_path / "kits").iterdir()} and kit.to_dict()
    with pytest.raises(ValueError, match="^.*nowhere.npy: no such file"):
        couplet.command("info", tmp_path / "nowhere.npy")
    with pytest.raises(ValueError, match="no such verb"):
        couplet.command("nonsense")
    with pytest.raises(ValueError, match="reads as a flag"):
        couplet.command("info", "--help")
    for wrong in (lambda: couplet.command(3), lambda: couplet.command("info", json=True), lambda: couplet.command("info", object()),
                  lambda: couplet.command("info", "x.npy", threads=1j)):
        with pytest.raises(TypeError):
            wrong()
