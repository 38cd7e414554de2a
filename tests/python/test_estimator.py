"""CoupledTensorTrain among scikit-learn's own."""
import os
import warnings

import numpy as np
import pytest

pytest.importorskip("sklearn")
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import couplet
from couplet import CoupledTensorTrain
from conftest import low_rank

# Checks that assume what the estimator is not; each with its reason. None so far: two-dimensional data is a tensor too.
EXPECTED_FAILURES: dict[str, str] = {}


@pytest.mark.parametrize("estimator", [CoupledTensorTrain(rank=2), CoupledTensorTrain(), CoupledTensorTrain(rank=2, centre=True)],
                         ids=["rank", "eps", "centre"])
def test_estimator_checks(estimator):
    results = check_estimator(estimator, on_fail=None, on_skip=None, expected_failed_checks=EXPECTED_FAILURES)
    bad = [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped", "xfail")]
    assert not bad
    assert sum(r["status"] == "passed" for r in results) >= 40


@pytest.fixture
def clients(rng):
    shared = rng.normal(size=(4, 42))
    return [(rng.normal(size=(n, 4)) @ shared).reshape(n, 7, 6) + 0.05 * rng.normal(size=(n, 7, 6)) for n in (15, 9, 12)]


def test_attributes_are_those_of_the_simulation(clients):
    model = CoupledTensorTrain(rank=4).fit(clients)
    result = couplet.simulate(clients, rank=4)
    assert model.rse_ == result.rse and model.rel_error_bound_ == result.rel_error_bound
    assert model.ranks_ == tuple(result.ranks) and list(model.rse_per_client_) == result.rse_per_client
    assert all(np.array_equal(a, b) for a, b in zip(model.personal_cores_, result.personal))
    assert all(np.array_equal(a, b) for a, b in zip(model.feature_cores_.cores, result.features.cores))
    assert CoupledTensorTrain(rank=4, network="decentralized", aggregate="subspace", graph="ring").fit(clients).rel_error_bound_ is None


def test_groups_are_clients(clients, rng):
    whole = np.concatenate(clients)
    groups = np.repeat(["a", "b", "c"], [15, 9, 12])
    order = rng.permutation(len(whole))
    mixed = CoupledTensorTrain(rank=4).fit(whole[order], groups=groups[order])
    ordered = CoupledTensorTrain(rank=4).fit(whole, groups=groups)
    assert ordered.rse_ == CoupledTensorTrain(rank=4).fit(clients).rse_
    assert mixed.rse_ == pytest.approx(ordered.rse_, rel=1e-10)
    assert np.array_equal(ordered.fit_transform(whole, groups=groups), ordered.transform(whole))
    for wrong in (groups[:-1], "abc", groups[:, None], np.where(groups == "a", None, groups), np.full(36, np.nan)):
        with pytest.raises(ValueError, match="groups"):
            CoupledTensorTrain(rank=4).fit(whole, groups=wrong)
    with pytest.raises(ValueError, match="groups"):
        CoupledTensorTrain(rank=4).fit(clients, groups=groups)


def test_transform_inverse_and_score(clients):
    model = CoupledTensorTrain(rank=4)
    scores = model.fit_transform(clients)
    assert scores.shape == (36, 4)
    assert np.array_equal(model.transform(clients[1]), couplet.project(model.feature_cores_, clients[1]).personal)
    back = model.inverse_transform(model.transform(clients[1]))
    rse = np.sum((back - clients[1]) ** 2) / np.sum(clients[1] ** 2)
    assert back.shape == clients[1].shape and model.score(clients[1]) == pytest.approx(1 - rse)
    with pytest.raises(ValueError):
        model.inverse_transform(scores[:, :2])
    with pytest.raises(ValueError):
        model.transform(clients[0][:, :, :3])


def test_clone_and_parameters():
    model = CoupledTensorTrain(3, network="decentralized", graph="ring", aggregate="subspace", seed=5)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(rank=7).rank == 7
    assert "rank=7" in repr(model)


def test_pipeline_and_grid_search(rng):
    labels = rng.integers(0, 2, 90)
    shared = rng.normal(size=(3, 42))
    x = ((rng.normal(size=(90, 3)) + 1.5 * labels[:, None]) @ shared).reshape(90, 7, 6) + 0.3 * rng.normal(size=(90, 7, 6))
    pipeline = make_pipeline(CoupledTensorTrain(rank=3), StandardScaler(), LogisticRegression())
    assert cross_val_score(pipeline, x, labels, cv=3).mean() > 0.8
    search = GridSearchCV(pipeline, {"coupledtensortrain__rank": [1, 3]}, cv=3).fit(x, labels)
    assert search.best_params_["coupledtensortrain__rank"] in (1, 3)
    by_error = GridSearchCV(CoupledTensorTrain(), {"rank": [1, 2, 3]}, cv=3).fit(x)
    assert by_error.best_params_ == {"rank": 3}
    in_parallel = GridSearchCV(CoupledTensorTrain(), {"rank": [1, 2, 3]}, cv=3, n_jobs=2).fit(x)
    assert in_parallel.best_score_ == by_error.best_score_


def test_pandas(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(low_rank(rng, (20, 5), 2, 0.1), columns=["age", "bmi", "hba1c", "ldl", "hdl"])
    model = CoupledTensorTrain(rank=2).set_output(transform="pandas").fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    out = model.transform(frame)
    assert list(out.columns) == ["coupledtensortrain0", "coupledtensortrain1"] and list(out.index) == list(frame.index)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[["bmi", "age", "hba1c", "ldl", "hdl"]])
    names = list(frame.columns)
    labelled = CoupledTensorTrain(rank=2).fit([frame.to_numpy(), 2 * frame.to_numpy()], labels=[None, names])
    assert list(labelled.feature_names_in_) == names
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        labelled.transform(frame.to_numpy())
        labelled.transform(frame)
    with pytest.raises(ValueError, match="expected 5"):
        labelled.transform(frame.to_numpy()[:, :3])
    deep = CoupledTensorTrain(rank=2).fit([rng.normal(size=(9, 2, 3))], labels=[None, ["a", "b"], ["x", "y", "z"]])
    assert [mode.entries for mode in deep.feature_labels_] == [["a", "b"], ["x", "y", "z"]]
    both = CoupledTensorTrain(rank=2).fit([frame, frame + 1])
    assert list(both.feature_names_in_) == list(frame.columns) and len(both.personal_cores_) == 2


def test_pandas_keeps_the_index(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(low_rank(rng, (20, 5), 2, 0.1), columns=list("abcde"), index=[f"p{i}" for i in range(20)])
    model = CoupledTensorTrain(rank=2).set_output(transform="pandas")
    parts = [frame[:12], frame[12:]]
    rows = model.fit_transform(parts)
    assert list(rows.index) == list(frame.index) and list(rows.columns) == ["coupledtensortrain0", "coupledtensortrain1"]
    assert np.array_equal(rows.to_numpy(), model.transform(frame).to_numpy())
    assert list(model.transform(parts[1]).index) == list(parts[1].index)
    assert list(model.fit_transform(frame, groups=[0, 1] * 10).index) == list(frame.index)
    arrays = model.fit_transform([part.to_numpy() for part in parts])
    assert list(arrays.index) == list(range(20))
    assert isinstance(CoupledTensorTrain(rank=2).fit_transform(parts), np.ndarray)
    with sklearn.config_context(transform_output="pandas"):
        assert list(CoupledTensorTrain(rank=2).fit_transform(parts).index) == list(frame.index)


def test_columns_of_frames_are_matched_by_name(rng):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(low_rank(rng, (30, 5), 2, 0.1), columns=["age", "bmi", "hba1c", "ldl", "größe"])
    parts = [frame[:10], frame[10:20], frame[20:]]
    other = ["größe", "age", "hba1c", "ldl", "bmi"]
    expected = CoupledTensorTrain(rank=2).fit(parts)
    mixed = [parts[0][other], parts[1], parts[2]]
    model = CoupledTensorTrain(rank=2)
    rows = model.fit_transform(mixed)
    assert list(model.feature_names_in_) == list(frame.columns) == model.feature_labels_[0].entries
    assert all(np.array_equal(a, b) for a, b in zip(model.feature_cores_.cores, expected.feature_cores_.cores))
    assert np.array_equal(rows, np.concatenate([expected.transform(part) for part in parts]))
    assert np.array_equal(rows[:10], model.transform(mixed[0].to_numpy(), labels=[None, other]))
    assert couplet.schema(model).modes[0].entries == list(frame.columns)
    with pytest.raises(ValueError, match="client 2.*weight"):
        CoupledTensorTrain(rank=2).fit([parts[0], parts[1].rename(columns={"bmi": "weight"})])
    with pytest.raises(ValueError, match="labels|names"):
        CoupledTensorTrain(rank=2).fit([parts[0], parts[1].to_numpy()])
    assert CoupledTensorTrain(rank=2, unnamed="allow").fit([parts[0], parts[1].to_numpy()]).rse_ > 0
    # Columns of two levels are no names to scikit-learn, but they are labels here.
    levels = pandas.MultiIndex.from_tuples([("lab", "a"), ("lab", "b"), ("vital", "a"), ("vital", "b"), ("age", "")])
    deep = [part.set_axis(levels, axis=1) for part in parts]
    swapped = [deep[0], deep[1][list(levels[::-1])], deep[2]]
    model = CoupledTensorTrain(rank=2).fit(swapped)
    assert all(np.array_equal(a, b) for a, b in zip(model.feature_cores_.cores, expected.feature_cores_.cores))
    numbers = [part.set_axis([7, 3, 5, 1, 2], axis=1) for part in parts]
    swapped = [numbers[0], numbers[1][[1, 2, 3, 5, 7]], numbers[2]]
    model = CoupledTensorTrain(rank=2).fit(swapped)
    assert all(np.array_equal(a, b) for a, b in zip(model.feature_cores_.cores, expected.feature_cores_.cores))


def test_arrays_in_another_order_are_told_by_labels(rng):
    x = low_rank(rng, (24, 5), 2, 0.1)
    order = [4, 2, 0, 1, 3]
    names = list("abcde")
    labels = [[None, names], [None, names], [None, [names[i] for i in order]]]
    clients = [x[:8], x[8:16], x[16:][:, order]]
    model = CoupledTensorTrain(rank=2)
    rows = model.fit_transform(clients, labels=labels)
    assert np.array_equal(rows, model.transform(x))
    assert np.array_equal(rows[16:], model.transform(clients[2], labels=labels[2]))
    assert model.score(clients[2], labels=labels[2]) == model.score(x[16:]) > model.score(clients[2])


def test_missing_entries(clients):
    holes = [x.copy() for x in clients]
    holes[0][::4, 2, 1:3] = np.nan
    model = CoupledTensorTrain(rank=4, missing="impute").fit(holes)
    assert model.result_.missing.settled and model.rse_ == couplet.simulate(holes, rank=4, missing="impute").rse
    assert np.isfinite(model.transform(holes[0])).all() and model.score(holes[0]) > 0.9
    for refused in (lambda: CoupledTensorTrain(rank=4).fit(holes), lambda: CoupledTensorTrain(rank=4).fit(holes[0]),
                    lambda: CoupledTensorTrain(rank=4).fit(clients).transform(holes[0])):
        with pytest.raises(ValueError, match="NaN.*missing='impute'"):
            refused()


def test_centring_and_scaling(clients):
    moved = [5 + 3 * x for x in clients]
    flags = {"rank": 4, "centre": True, "scale": True}
    model = CoupledTensorTrain(**flags).fit(moved)
    result = couplet.simulate(moved, **flags)
    assert model.rse_ == result.rse
    assert all(np.array_equal(a, b) for a, b in zip(model.feature_cores_.cores, result.features.cores))
    rows = model.transform(moved[1])
    assert np.array_equal(rows, couplet.project(result.features, moved[1]).personal)
    back = model.inverse_transform(rows)
    assert np.abs(back - moved[1]).max() < 0.5 * np.abs(moved[1] - moved[1].mean()).max()
    assert clone(model).get_params() == model.get_params()
    search = GridSearchCV(CoupledTensorTrain(rank=4), {"centre": [False, True]}, cv=3).fit(np.concatenate(moved))
    assert set(search.cv_results_["param_centre"]) == {False, True}
    with pytest.raises(TypeError, match="centre"):
        CoupledTensorTrain(rank=4, centre="yes").fit(moved)


def test_secure_sums(clients):
    model = CoupledTensorTrain(rank=3, secure=True).fit(clients)
    assert model.result_.privacy.mu == 4 and model.rel_error_bound_ is None
    assert model.rse_ != couplet.simulate(clients, rank=3, secure=True).rse  # noise is drawn anew
    with pytest.raises(ValueError, match="secure: 2 clients"):
        CoupledTensorTrain(rank=3, secure=True).fit(clients[:2])


def test_every_parameter_is_a_flag_and_does_what_it_says(clients):
    flags = dict(couplet._engine.simulate_flags())
    assert all(name.replace("_", "-") in flags for name in CoupledTensorTrain().get_params())
    small = CoupledTensorTrain(bytes="2kB").fit(clients)
    assert small.result_.to_dict() | {"seconds": 0} == couplet.simulate(clients, bytes=2000).to_dict() | {"seconds": 0}
    assert small.result_.bytes_total <= 3 * 2000
    wide = CoupledTensorTrain(rank=4, precision="f64", heldout=0.2).fit(clients)
    assert wide.result_.bytes_total > small.result_.bytes_total and wide.result_.rse_heldout < 0.1
    schema = couplet.Schema((7, 6), [[f"l{i}" for i in range(7)], [f"d{i}" for i in range(6)]])
    assert couplet.schema(CoupledTensorTrain(rank=2, schema=schema, unnamed="allow").fit(clients)) == schema


@pytest.mark.parametrize("kind", ["ecg", "diabetes"])
def test_a_pipeline_computes_what_the_command_line_does(kind, command, tmp_path):
    """Fitted inside a Pipeline with a classifier; the same data and flags by the command line give the same bits."""
    if not os.environ.get("COUPLET_DATA"):
        pytest.skip("COUPLET_DATA is not set")
    more = {"points": 20} if kind == "ecg" else {}
    data = getattr(couplet.data, kind)(clients=1, count=240, **more)
    x, y = data.tensors[0], (data.classes[0] > 0).astype(int)
    hospitals = np.arange(240) // 60
    pipeline = make_pipeline(CoupledTensorTrain(rank=6), StandardScaler(), LogisticRegression(max_iter=1000))
    pipeline.fit(x[:180], y[:180], coupledtensortrain__groups=hospitals[:180])
    assert cross_val_score(pipeline, x, y, cv=3).mean() > 0.5
    flags = [word for name, value in more.items() for word in (f"--{name}", value)]
    command("data", kind, "--clients", 4, "--count", 240, *flags, "-o", tmp_path / "d")
    files = [tmp_path / "d" / f"client_{k}.npy" for k in (1, 2, 3)]
    printed = command("simulate", *files, "--rank", 6, "-o", tmp_path / "r")
    model = pipeline[0]
    assert model.rse_ == printed["rse"] and list(model.ranks_) == printed["ranks"]
    theirs = couplet.load(tmp_path / "r" / "features.npz")
    assert all(np.array_equal(a, b) for a, b in zip(model.feature_cores_.cores, theirs.cores))
    for k, personal in enumerate(model.personal_cores_, start=1):
        assert np.array_equal(personal, couplet.load(tmp_path / "r" / f"personal_{k}.npz"))
    command("project", tmp_path / "r" / "features.npz", tmp_path / "d" / "client_4.npy", "-o", tmp_path / "p.npz")
    assert np.array_equal(model.transform(x[180:]), couplet.load(tmp_path / "p.npz"))


def test_parameters_and_columns_that_it_does_not_know_are_named():
    with pytest.raises(TypeError, match="CoupledTensorTrain: no parameter n_components; expected rank"):
        CoupledTensorTrain(n_components=3)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [60.0, 70.0, 65.0], "ward": ["p0", "p1", "p0"]})
    with pytest.raises(couplet.InputError, match="X: column 'ward' of .*; expected numbers"):
        CoupledTensorTrain(rank=1).fit(frame)
