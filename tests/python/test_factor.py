"""Models of a federation's result: couplet.factor() and the estimators."""
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import couplet
from couplet import FederatedCP, FederatedNNCP, FederatedTucker


@pytest.fixture
def parts(rng):
    """Three phenotypes, sparse and non-negative, and the clients whose patients have them."""
    b, c = np.zeros((8, 3)), np.zeros((7, 3))
    for k in range(3):
        b[2 * k:2 * k + 3, k] = 1, 2, 1
        c[2 * k:2 * k + 2, k] = 2, 1
    clients = [np.einsum("pr,ir,jr->pij", rng.random((n, 3)), b, c) + 0.03 * rng.random((n, 8, 7)) for n in (50, 40)]
    return clients, b, c


def congruence(found, truth):
    products = 1
    for a, b in zip(found, truth):
        products = products * ((a / np.linalg.norm(a, axis=0)).T @ (b / np.linalg.norm(b, axis=0)))
    return np.abs(products).max(axis=0)


def rebuilt(model, client):
    head, factors = model.to_tensorly(client)
    if model.core is None:
        return np.einsum("r,pr,ir,jr->pij", head, *factors)
    return np.einsum("rst,pr,is,jt->pij", head, *factors)


@pytest.mark.parametrize("name", ["cp", "nncp", "tucker"])
def test_factors_are_those_of_the_command_line_and_rebuild_the_data(parts, tmp_path, command, name):
    clients, b, c = parts
    result = couplet.simulate(clients, rank=8)
    found = couplet.factor(result, model=name, components=3, data=clients)
    assert found.model == name and found.components == 3
    x = rebuilt(found, 1)
    assert np.linalg.norm(x - clients[1]) < 0.1 * np.linalg.norm(clients[1])
    assert found.rse < 0.01 and found.rel_error <= found.rel_error_bound
    error = sum(np.sum((rebuilt(found, k) - client) ** 2) for k, client in enumerate(clients))
    assert error / sum(np.sum(client**2) for client in clients) == pytest.approx(found.rse, rel=1e-6)
    if name != "tucker":
        assert congruence(found.factors, (b, c)).min() > 0.95
    result.save(tmp_path / "result")
    told = command("factor", tmp_path / "result", "--model", name, "--components", 3)
    assert told["weights"] == found.weights.tolist()
    again = found.project(clients[0])
    assert np.allclose(again.personal, found.loadings[0], atol=1e-8)
    if name == "nncp":
        assert min(found.factors[0].min(), again.personal.min()) >= 0


def test_a_path_an_output_and_projections(parts, tmp_path):
    clients, _, _ = parts
    couplet.simulate(clients, rank=6, output=str(tmp_path / "result"))
    found = couplet.factor(tmp_path / "result", model="pca", components=2, output=tmp_path / "made")
    assert (tmp_path / "made" / "factors.npz").exists()
    assert found.rse is None and found.loadings[1].shape == (40, 2)
    with pytest.raises(couplet.InputError, match="to_tensorly: pca"):
        found.to_tensorly()
    assert couplet.explain(tmp_path / "made").report["model"] == "pca"


def test_auto_finds_the_planted_number_and_nothing_in_noise(parts, rng):
    clients, _, _ = parts
    found = couplet.factor(couplet.simulate(clients, rank=10), model="nncp", components="auto", most=5)
    assert found.components == 3
    assert found.report.choice.compared == "halves"
    noise = couplet.simulate([rng.normal(size=(50, 12, 11)) for _ in range(2)], rank=15)
    with pytest.raises(couplet.RunError, match="nothing is stable"):
        couplet.factor(noise, model="cp", most=3)


def test_what_makes_no_sense_is_refused(parts):
    clients, _, _ = parts
    result = couplet.simulate(clients, rank=4)
    with pytest.raises(couplet.InputError, match="at most 4"):
        couplet.factor(result, components=5)
    with pytest.raises(couplet.InputError, match="pca, cp, nncp"):
        couplet.factor(result, model="ica", components=2)
    with pytest.raises(TypeError, match="what simulate"):
        couplet.factor(3, components=2)
    with pytest.raises(TypeError, match="one array or path per client"):
        couplet.factor(result, components=2, data=clients[0])
    with pytest.raises(couplet.InputError, match="1 files; expected 2"):
        couplet.factor(result, components=2, data=clients[:1])


@pytest.mark.parametrize("estimator", [FederatedCP, FederatedNNCP, FederatedTucker])
def test_estimators_follow_the_conventions(parts, estimator):
    clients, _, _ = parts
    model = estimator(components=3, seed=1)
    assert clone(model).get_params() == model.get_params()
    assert model.fit(clients) is model
    assert model.n_components_ == 3 and [f.shape for f in model.factors_] == [(8, 3), (7, 3)]
    assert model.transform(clients[1]).shape == (40, 3)
    assert np.allclose(model.transform(clients[1]), model.loadings_[1], atol=1e-8)
    assert model.score(clients[1]) > 0.98
    assert np.allclose(model.inverse_transform(model.loadings_[0]), rebuilt(model.model_, 0))
    assert len(model.get_feature_names_out()) == 3
    assert (model.core_ is None) == (estimator is not FederatedTucker)
    if estimator is FederatedNNCP:
        assert model.transform(clients[0]).min() >= 0


def test_one_array_with_groups_in_a_pipeline(parts):
    clients, _, _ = parts
    x = np.concatenate(clients)
    owners = np.repeat([0, 1], [50, 40])
    model = FederatedNNCP(components=3).fit(x, groups=owners)
    apart = FederatedNNCP(components=3).fit(clients)
    assert np.array_equal(model.factors_[0], apart.factors_[0])
    scaled = make_pipeline(FederatedCP(components=2), StandardScaler()).fit_transform(x)
    assert scaled.shape == (90, 2)


def test_tensorly_takes_the_factors(parts):
    tensorly = pytest.importorskip("tensorly")
    clients, _, _ = parts
    whole = np.concatenate(clients)
    cp = FederatedCP(components=3).fit(clients).to_tensorly()
    assert np.linalg.norm(tensorly.cp_to_tensor(cp) - whole) < 0.1 * np.linalg.norm(whole)
    tucker = FederatedTucker(components=3).fit(clients).to_tensorly()
    assert np.linalg.norm(tensorly.tucker_to_tensor(tucker) - whole) < 0.1 * np.linalg.norm(whole)


def test_columns_in_another_order_are_put_right(parts):
    clients, b, _ = parts
    names = [[None, [f"t{i}" for i in range(8)], [f"d{j}" for j in range(7)]]] * 2
    turned = [None, names[0][1][::-1], names[0][2]]
    model = FederatedCP(components=3).fit([clients[0], clients[1][:, ::-1]], labels=[names[0], turned])
    assert model.rse_ < 0.01
    assert model.score(clients[1][:, ::-1], labels=turned) > 0.98
