"""Results of a federation as Python objects."""
import pickle
import subprocess

import numpy as np
import pytest

import couplet
from conftest import COMMAND, low_rank


@pytest.fixture
def clients(rng):
    shared = rng.normal(size=(4, 42))
    return [(rng.normal(size=(n, 4)) @ shared).reshape(n, 7, 6) + 0.05 * rng.normal(size=(n, 7, 6)) for n in (15, 9, 12)]


def test_fields_are_attributes(clients):
    result = couplet.simulate(clients, rank=4, network="decentralized", aggregate="subspace", graph="ring")
    assert result.rse == result["rse"] == result.to_dict()["rse"]
    assert result.consensus.iterations > 0 and 0 <= result.consensus.lambda2 <= 1
    assert "rel_error_bound" not in result and set(result) >= {"rse", "ranks", "seconds"}
    with pytest.raises(AttributeError, match="has no field 'rsee'; it has rse"):
        result.rsee
    assert "rounds" in dir(result)


def test_the_model_has_the_error_it_states(clients):
    result = couplet.simulate(clients, rank=4)
    error2 = sum(np.sum((x - result.reconstruct(k)) ** 2) for k, x in enumerate(clients))
    norm2 = sum(np.sum(x**2) for x in clients)
    assert result.rse == pytest.approx(error2 / norm2, rel=1e-9)
    assert result.rse**0.5 <= result.rel_error_bound
    w = result.features.full().reshape(4, -1)
    assert np.allclose(w @ w.T, np.eye(4), atol=1e-12)
    assert list(result.weights) == sorted(result.weights, reverse=True)
    assert [p.shape for p in result.personal] == [(15, 4), (9, 4), (12, 4)]


def test_the_clients_are_left_alone(clients):
    kept = [x.copy() for x in clients]
    couplet.simulate(clients, rank=3, scale_clients="norm")
    assert all(np.array_equal(a, b) for a, b in zip(clients, kept))


def test_a_result_without_shared_features(clients):
    result = couplet.simulate(clients, rank=3, method="local")
    assert result.features is None
    with pytest.raises(ValueError, match="without shared features"):
        result.reconstruct(0)


def test_pickling(clients):
    result = couplet.simulate(clients, rank=3)
    other = pickle.loads(pickle.dumps(result))
    assert other.to_dict() == result.to_dict() and np.array_equal(other.personal[1], result.personal[1])
    assert np.array_equal(other.features.full(), result.features.full())


def test_projection_is_least_squares(clients, rng):
    features = couplet.simulate(clients[:2], rank=3).features
    w = features.full().reshape(3, -1)
    expected = np.linalg.lstsq(w.T, clients[2].reshape(12, -1).T, rcond=None)[0].T
    projection = couplet.project(features, clients[2])
    assert np.allclose(projection.personal, expected, atol=1e-10)
    skewed = couplet.TensorTrain([2 * features.cores[0], *features.cores[1:]])
    assert np.allclose(couplet.project(skewed, clients[2]).personal, expected / 2, atol=1e-10)
    assert couplet.project(skewed, clients[2]).rse == pytest.approx(projection.rse)


def test_infinity_is_no_missing_entry(clients):
    x = clients[0].copy()
    x[3, 2, 1] = -np.inf
    features = couplet.simulate(clients, rank=2).features
    for call in (lambda: couplet.project(features, x, missing="impute"), lambda: couplet.simulate([x], rank=2, missing="impute"),
                 lambda: couplet.project(features, x), lambda: couplet.simulate([x], rank=2)):
        with pytest.raises(ValueError, match=r"at index \(3, 2, 1\)"):
            call()


def test_a_completion_that_does_not_settle_says_so(clients, monkeypatch):
    import warnings

    holes = [x.copy() for x in clients]
    holes[0][::2, 1, :3] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        settled = couplet.simulate(holes, rank=2, missing="impute")
    assert settled.missing.settled and 0 < settled.missing.fraction < 0.1
    real = couplet._engine.simulate

    def restless(*arguments):
        text, *rest = real(*arguments)
        return text.replace('"settled":true', '"settled":false'), *rest

    monkeypatch.setattr(couplet._engine, "simulate", restless)
    with pytest.warns(RuntimeWarning, match="expected them to settle"):
        assert not couplet.simulate(holes, rank=2, missing="impute").missing.settled


def test_warnings_are_logged(clients, caplog):
    with caplog.at_level("INFO", logger="couplet"):
        couplet.simulate(clients, rank=40)
    assert any("rank 40 is more than" in record.message and record.levelname == "WARNING" for record in caplog.records)


LABELS = ["age", "systolic", "hba1c", "ldl", "hdl"]


@pytest.fixture
def table(rng):
    return low_rank(rng, (30, 5), 3, 0.1)


def test_columns_are_matched_by_name(table, caplog):
    order = [3, 0, 4, 1, 2]
    parts = [table[:10], table[10:20], table[20:][:, order]]
    labels = [[None, LABELS], [None, LABELS], [None, [LABELS[i] for i in order]]]
    with caplog.at_level("INFO", logger="couplet"):
        result = couplet.simulate(parts, rank=3, labels=labels)
    expected = couplet.simulate([table[:10], table[10:20], table[20:]], rank=3)
    assert result.rse == expected.rse and result.features.labels[0].entries == LABELS
    assert all(np.array_equal(a, b) for a, b in zip(result.features.cores, expected.features.cores))
    assert any("put in the order" in record.message and record.levelname == "INFO" for record in caplog.records)


@pytest.mark.parametrize("labels, message", [
    ([[None, LABELS], [None, ["age", "systolic", "hba1c", "ldl", "bmi"]]], "bmi"),
    ([[None, LABELS], None], "unnamed|names|labels"),
    ([[None, ("m", LABELS, ["years", "mmHg", "%", "", ""])], [None, ("m", LABELS, ["years", "kPa", "%", "", ""])]], "kPa"),
])
def test_other_names_and_units_are_refused(table, labels, message):
    with pytest.raises(ValueError, match=message):
        couplet.simulate([table[:15], table[15:]], rank=3, labels=labels)


def test_no_names_at_some_is_allowed_when_asked_for(table):
    result = couplet.simulate([table[:15], table[15:]], rank=3, labels=[[None, LABELS], None], unnamed="allow")
    assert result.features.labels[0].entries == LABELS


def test_projection_follows_the_names(table):
    features = couplet.simulate([table], rank=3, labels=[None, LABELS]).features
    order = [3, 0, 4, 1, 2]
    swapped = [None, [LABELS[i] for i in order]]
    plain = couplet.project(features, table, labels=[None, LABELS])
    other = couplet.project(features, table[:, order], labels=swapped)
    assert np.array_equal(plain.personal, other.personal) and other.reordered and not plain.reordered
    with pytest.raises(ValueError):
        couplet.project(features, table)
    assert np.array_equal(couplet.project(features, table, unnamed="allow").personal, plain.personal)
    with pytest.raises(ValueError, match="bmi"):
        couplet.project(features, table, labels=[None, ["bmi", *LABELS[1:]]])


def test_schemas(table, tmp_path, command):
    mine = couplet.Schema((5,), [("measure", LABELS)])
    mine.save(tmp_path / "s.json")
    assert couplet.schema(tmp_path / "s.json") == mine
    assert command("schema", tmp_path / "s.json")["modes"][0]["labels"] == LABELS
    with pytest.raises(ValueError, match="exists"):
        mine.save(tmp_path / "s.json")
    result = couplet.simulate([table[:15], table[15:]], rank=3, labels=[None, LABELS], schema=mine)
    assert couplet.schema(result).modes[0].entries == LABELS
    result.save(tmp_path / "r")
    assert couplet.schema(tmp_path / "r" / "features.npz").modes[0].entries == LABELS
    with pytest.raises(ValueError):
        couplet.simulate([table], rank=3, labels=[None, LABELS], schema=couplet.Schema((5,), [list("abcde")]))
    assert mine.verdict(couplet.Schema((5,))) == "unnamed" and mine.verdict(couplet.Schema((4,))) == "different"
    assert mine.verdict(couplet.Schema((5,), [("measure", LABELS[::-1])])) == "order" and mine.verdict(mine) == "same"
    for wrong in (lambda: couplet.schema(3), lambda: mine.compare(3), lambda: couplet.Schema("5")):
        with pytest.raises(TypeError):
            wrong()
    for wrong in (lambda: couplet.Schema((5,), [LABELS[:2]]), lambda: couplet.schema(tmp_path / "no.json")):
        with pytest.raises(ValueError):
            wrong()


def test_saved_cores_say_of_which_features_they_are(clients, tmp_path):
    couplet.simulate(clients, rank=2).save(tmp_path / "a")
    couplet.simulate(clients[:2], rank=2).save(tmp_path / "b")
    join = lambda features, core: subprocess.run(
        [COMMAND, "reconstruct", tmp_path / features / "features.npz", "--personal", tmp_path / core / "personal_1.npz", "-o",
         tmp_path / "x.npy", "--force"], text=True, capture_output=True)
    own = join("a", "a")
    assert own.returncode == 0 and own.stderr == ""
    other = join("b", "a")
    assert other.returncode == 2 and "a personal core of the features" in other.stderr, other.stderr


def test_a_client_that_comes_again_replaces_itself(clients, tmp_path):
    state = tmp_path / "state.npz"
    flags = {"eps": 0.2, "precision": "f64"}  # coarser messages are rounded otherwise where less or more is sent
    couplet.simulate(clients[:2], save_state=state, names=["north", "south"], **flags)
    again = couplet.simulate([clients[1] * 1.5], resume=state, names=["south"], **flags)
    both = couplet.simulate([clients[0], clients[1] * 1.5], **flags)
    assert again.rel_error_bound == pytest.approx(both.rel_error_bound, rel=1e-9)


def two_sites(rng):
    pandas = pytest.importorskip("pandas")
    age = rng.normal(55, 10, 30)
    first = pandas.DataFrame({"age": age, "systolic": 100 + age / 2, "hba1c": rng.normal(6, 1, 30)})
    return first, first.sample(20, random_state=1)[["hba1c", "age", "systolic"]]


def test_columns_of_frames_are_matched_by_name(rng):
    first, other = two_sites(rng)
    result = couplet.simulate([first, other], rank=1)
    assert result.features.labels[0].entries in (["age", "systolic", "hba1c"], ["hba1c", "age", "systolic"])
    assert result.rse == pytest.approx(couplet.simulate([first, other[first.columns]], rank=1).rse, rel=1e-9)
    assert couplet.project(result.features, other).rse == pytest.approx(
        couplet.project(result.features, other[first.columns]).rse, rel=1e-9)
    with pytest.raises(ValueError, match="weight"):
        couplet.simulate([first, first, other.rename(columns={"age": "weight"})], rank=1)
    with pytest.raises(ValueError, match="unnamed"):
        couplet.simulate([first, other.to_numpy()], rank=1)
    numbered = first.set_axis(range(3), axis=1)
    assert not couplet.simulate([numbered, numbered], rank=1).features.labels, "numbers that pandas gives are no names"


def test_columns_of_frames_are_matched_by_name_in_classify(rng):
    first, other = two_sites(rng)
    labels = [(x.age > 55).astype(int).tolist() for x in (first, other)]
    told = [couplet.classify(first, x, labels=labels, rank=1, folds=3).result("federated", "logistic").auc
            for x in (other, other[first.columns])]
    assert told[0] == pytest.approx(told[1], rel=1e-9)


def test_numbered_columns_of_frames_are_matched_too(rng):
    first, other = (x.set_axis(names, axis=1) for x, names in zip(two_sites(rng), ([10, 20, 30], [30, 10, 20])))
    model = couplet.CoupledTensorTrain(rank=1).fit([first, other])
    assert model.score(other) == pytest.approx(model.score(other[[10, 20, 30]]), rel=1e-9)


def test_arithmetic_keeps_the_centring(clients):
    features = couplet.simulate(clients, rank=2, centre=True).features
    expected = couplet.project(features, clients[0]).rse
    for same in (features * 1.0, -1 * (features * -1), features + features * 0.0):
        assert couplet.project(same, clients[0]).rse == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ValueError, match="centred or scaled otherwise"):
        features + couplet.simulate(clients, rank=2).features


def test_nodes_that_do_not_agree_have_features_of_their_own(clients, tmp_path):
    flags = dict(rank=3, network="decentralized", graph="path", aggregate="average", iterations=1, refit=True)
    result = couplet.simulate(clients, output=str(tmp_path), **flags)
    for k, x in enumerate(clients):
        features = couplet.load(tmp_path / f"features_{k + 1}.npz")
        model = couplet.load(tmp_path / f"personal_{k + 1}.npz") @ features.full().reshape(3, -1)
        error = np.sum((x.reshape(len(x), -1) - model) ** 2) / np.sum(x**2)
        assert error == pytest.approx(result.rse_per_client[k], rel=1e-9)
    with pytest.raises(ValueError, match="features of its own"):
        result.reconstruct(1)
    with pytest.raises(ValueError, match="features of their own"):
        result.save(tmp_path / "other")


def test_saving_is_all_or_nothing(clients, tmp_path):
    result = couplet.simulate(clients, rank=3)
    (tmp_path / "features.npz").write_bytes(b"another's")
    with pytest.raises(ValueError, match="features.npz: a file that exists.*force=True"):
        result.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["features.npz"]
    result.save(tmp_path, force=True)
    couplet.simulate(clients[:2], rank=3).save(tmp_path, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["features.npz", "personal_1.npz", "personal_2.npz"]
    assert len(couplet.explain(tmp_path).components) == 3
    with pytest.raises(TypeError, match="a SimulationResult, or the path of a result's folder"):
        couplet.explain(result.features)


def test_a_personal_core_of_rank_one_is_an_array(clients, tmp_path):
    couplet.simulate(clients, rank=1).save(tmp_path)
    assert couplet.load(tmp_path / "personal_1.npz").shape == (15, 1)
    out = subprocess.run([COMMAND, "info", tmp_path / "personal_1.npz"], capture_output=True, text=True, check=True).stdout
    assert "personal" in out and "fewer than the tensor" not in out


def test_clients_may_come_by_name(clients):
    by_name = dict(zip(("north", "south", "west"), clients))
    named, listed = couplet.simulate(by_name, rank=3), couplet.simulate(clients, rank=3)
    assert named.rse == listed.rse and named.rse_per_client == listed.rse_per_client
    with pytest.raises(couplet.InputError, match="names: given with a mapping"):
        couplet.simulate(by_name, rank=3, names=["a", "b", "c"])


def test_parameters_as_other_libraries_call_them_are_named(clients):
    with pytest.raises(TypeError, match="simulate: no parameter n_components; expected rank"):
        couplet.simulate(clients, n_components=3)
    with pytest.raises(TypeError, match="decompose: no parameter rank; expected max_rank"):
        couplet.decompose(clients[0], rank=3)


def test_results_are_tables_in_notebooks(clients):
    result = couplet.simulate(clients, rank=3)
    shown = result._repr_html_()
    assert shown.startswith("<table>") and f"<td style='text-align:left'>{result.rse:.6g}</td>" in shown
    assert "&lt;b&gt;" in couplet._federation.Fields({"name": "<b>"})._repr_html_()


def test_a_result_is_explained_as_it_is(clients, tmp_path):
    result = couplet.simulate(clients, rank=3)
    result.save(tmp_path / "saved")
    told, saved = couplet.explain(result), couplet.explain(tmp_path / "saved")
    assert [one.title for one in told.components] == [one.title for one in saved.components]
    assert told.explained == saved.explained and told._repr_html_().startswith("<table>")


def test_a_column_of_categories_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"age": [60.0, 70.0, 65.0], "ward": ["p0", "p1", "p0"]})
    for data in (frame, frame.astype({"ward": "category"})):
        with pytest.raises(couplet.InputError, match="column 'ward' of .*; expected numbers"):
            couplet.simulate([data, data], rank=1)
