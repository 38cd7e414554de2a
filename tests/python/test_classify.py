"""Cross-validated classification: every figure again by scikit-learn, and labels of every kind."""
import csv
import os
import stat

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (accuracy_score, balanced_accuracy_score, brier_score_loss, confusion_matrix, recall_score,
                             roc_auc_score)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

import couplet


def people(count=120, classes=2, features=6, signal=1.2, seed=0):
    random = np.random.default_rng(seed)
    y = random.choice(classes, size=count, p=[0.7, 0.3] if classes == 2 else None)
    x = random.normal(size=(count, features)) * np.linspace(3, 0.5, features)
    x[:, 1] += signal * y
    x[:, 4] -= signal * (y == 0)
    return x, y


def test_every_probability_is_that_of_scikit_learn():
    """With two modes and full rank the features are the right singular vectors of the training people: each fold is done again
    here. It agrees only if the test people had no part in the features, the scales or the coefficients."""
    x, y = people()
    found = couplet.classify(x, labels=y, rank=6, folds=4, clients=3, ridge=0.5, neighbours=7, seed=5)
    told = {name: np.concatenate([site[name] for site in found.predictions]) for name in ("fold", "arm", "model", "label", "p_1")}
    size = len(y) // 3
    for model in ("logistic", "knn"):
        mine = (told["arm"] == "centralized") & (told["model"] == model)
        np.testing.assert_array_equal(told["label"][mine].astype(int), y)
        local = (told["arm"] == "local") & (told["model"] == model)
        fold = told["fold"][mine]
        for f in range(1, 5):
            rows = fold == f
            np.testing.assert_allclose(told["p_1"][mine][rows], again(model, x[~rows], y[~rows], x[rows]), atol=2e-6)
            for site in range(3):
                own = np.arange(len(y)) // size == site
                np.testing.assert_allclose(told["p_1"][local][rows & own],
                                           again(model, x[~rows & own], y[~rows & own], x[rows & own]), atol=2e-6)


def again(model, x, y, test):
    """Probabilities of class 1 by scikit-learn on the personal cores."""
    basis = np.linalg.svd(x, full_matrices=False)[2].T
    if model == "knn":
        return KNeighborsClassifier(7).fit(x @ basis, y).predict_proba(test @ basis)[:, 1]
    scale = StandardScaler().fit(x @ basis)
    fit = LogisticRegression(C=2, tol=1e-10, max_iter=10000).fit(scale.transform(x @ basis), y)
    return fit.predict_proba(scale.transform(test @ basis))[:, 1]


def area_within(sites, classes):
    """The mean over the classes of their areas within sites and folds, each by its pairs; and how many pairs there are."""
    areas, pairs = np.zeros(classes), np.zeros(classes)
    for frame in sites:
        for _, block in frame.groupby("fold"):
            label = block["label"].astype(int)
            for c in range(classes):
                count = (label == c).sum() * (label != c).sum()
                if count > 0:
                    areas[c] += count * roc_auc_score(label == c, block[f"p_{c}"])
                    pairs[c] += count
    return np.mean(areas / pairs), pairs.sum() / 2


@pytest.mark.parametrize("classes", [2, 4])
def test_every_figure_follows_from_the_predictions(classes):
    x, y = people(200, classes, seed=1)
    found = couplet.classify(x[:80], x[80:], labels=[y[:80], y[80:]], rank=5)
    assert len(found.results) == 8
    for one in found.results:
        frames = map(pd.DataFrame, found.predictions)
        sites = [frame[(frame["arm"] == one.arm) & (frame["model"] == one.model)] for frame in frames]
        frame = pd.concat(sites)
        label, predicted = frame["label"].astype(int), frame["predicted"].astype(int)
        p = frame[[f"p_{c}" for c in range(classes)]].to_numpy()
        np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
        area, pairs = area_within(sites, classes)
        assert one.auc == pytest.approx(area, abs=1e-9)
        assert one.auc_interval[0] < area < one.auc_interval[1]
        assert one.auc_pairs == pairs
        assert one.balanced_accuracy == pytest.approx(balanced_accuracy_score(label, predicted))
        assert one.accuracy == pytest.approx(accuracy_score(label, predicted))
        np.testing.assert_array_equal(one.confusion, confusion_matrix(label, predicted, labels=range(classes)))
        np.testing.assert_allclose([c["recall"] for c in one.per_class], recall_score(label, predicted, average=None))
        if classes == 2:
            assert one.brier == pytest.approx(brier_score_loss(label, p[:, 1]))
        assert sum(bin["people"] for bin in one.calibration) == 200
        for frame, site in zip(sites, one.sites):
            assert site["people"] == len(frame)
            assert site["auc"] == pytest.approx(area_within([frame], classes)[0], abs=1e-9)
            assert site["balanced_accuracy"] == pytest.approx(
                balanced_accuracy_score(frame["label"].astype(int), frame["predicted"].astype(int)))


def test_the_share_of_ill_people_is_no_skill():
    """Noise, 90% ill at one site and 10% at the other: an area over both sites would be near 0.9."""
    random = np.random.default_rng(11)
    y = [random.permutation(np.arange(100) < ill).astype(int) for ill in (90, 10)]
    found = couplet.classify(*random.normal(size=(2, 100, 5, 4)), labels=y, rank=4)
    for one in found.results:
        assert 0.35 < one.auc < 0.65, (one.arm, one.model)
        assert one.auc_interval[0] < one.auc < one.auc_interval[1]
        assert one.auc_pairs == 2 * 5 * 2 * 18
    for one in found.comparisons:
        assert abs(one.auc_difference) < 0.25, (one.arm, one.against)
    assert found.notes == ["class 0 is 10% of one site and 90% of another: accuracies and Brier's score of all people reward "
                           "knowing the site, areas do not"]


def test_a_patient_at_two_sites_is_refused():
    x, y = people(40)
    frame = pd.DataFrame({"patient": [f"p{i}" for i in range(40)], "state": y})
    pytest.importorskip("pyarrow")
    with pytest.raises(couplet.InputError, match="^site_2: 10 patients of site_1;"):
        couplet.classify(x[:25], x[15:], labels=[frame[:25], frame[15:]], rank=3)
    found = couplet.classify(x[:25], x[15:], labels=[y[:25], y[15:]], rank=3)
    assert found.notes[0].startswith("20 records are the same as one of another site")


def test_labels_of_every_kind_are_the_same_labels(tmp_path):
    x, y = people(60)
    words = np.where(y == 1, "ill", "healthy")
    frame = pd.DataFrame({"patient": [f"p{i}" for i in range(60)], "state": words})
    frame.to_csv(tmp_path / "labels.csv", index=False)
    np.save(tmp_path / "y.npy", y)
    how = dict(rank=4, folds=3)
    by_words = couplet.classify(x, labels=list(words), **how)
    assert by_words.classes == ["healthy", "ill"]
    pytest.importorskip("pyarrow")
    for labels in (y, list(y), y.astype(float), tmp_path / "y.npy", tmp_path / "labels.csv", frame, pd.Series(y)):
        other = couplet.classify(x, labels=labels, **how)
        assert [one.auc for one in other.results] == [one.auc for one in by_words.results]
    assert couplet.classify(x, labels=frame, **how).predictions[0]["patient"][:2] == ["p0", "p1"]
    mixed = [np.bool_(one) if i % 2 else bool(one) for i, one in enumerate(y)]
    assert couplet.classify(x, labels=mixed, **how).classes == ["0", "1"]
    quoted = couplet.classify(x, labels=[f'say "{one}"' for one in words], **how)
    assert quoted.classes == ['say "healthy"', 'say "ill"']
    unknown = [None, float("nan"), pd.NA, *words[3:]]
    left = couplet.classify(x, labels=unknown, **how)
    assert left.report["people"] == 57
    assert left.notes[0] == "3 people without a label left out"


def test_tables_are_matched_by_identifier(tmp_path):
    random = np.random.default_rng(3)
    rows = [(f"n{p}", f"c{c}", random.normal() + 5 * (p % 2) * (c == 1)) for p in range(40) for c in range(4)]
    with open(tmp_path / "events.csv", "w", newline="") as file:
        csv.writer(file).writerows([("patient", "code", "value"), *rows])
    table = couplet.table(tmp_path / "events.csv", output=tmp_path / "north", patient="patient", modes=["code"], value="value")
    with open(tmp_path / "labels.csv", "w", newline="") as file:
        csv.writer(file, delimiter=";").writerows([("id", "state"), *((f"n{p}", "ab"[p % 2]) for p in random.permutation(50))])
    out = tmp_path / "out"
    found = couplet.classify(table, labels=tmp_path / "labels.csv", predictions=out, folds=4)
    assert found.result().auc > 0.9
    for site in found.predictions:
        for patient, label in zip(site["patient"], site["label"]):
            assert label == "ab"[int(patient[1:]) % 2]
    assert stat.S_IMODE(os.stat(out / "predictions_1.csv").st_mode) == 0o600
    with pytest.raises(couplet.InputError, match="exists already"):
        couplet.classify(table, labels=tmp_path / "labels.csv", predictions=out, folds=4)


def test_odd_sites_and_refusals():
    x, y = people(50)
    y[40:] = 1
    found = couplet.classify(x[:40], x[40:], x[:3], labels=[y[:40], y[40:], [0, 1, 0]], rank=5)
    assert any("site_2 has one class only" in note for note in found.notes)
    assert found.result("local").sites[1]["auc"] is None
    assert np.isfinite([one.auc for one in found.results]).all()
    huge = couplet.classify(x * 1e140, labels=y, rank=5)
    usual = couplet.classify(x, labels=y, rank=5)
    for a, b in zip(huge.results, usual.results):
        assert a.auc == pytest.approx(b.auc, abs=0.02)
    with pytest.raises(couplet.InputError, match="one class"):
        couplet.classify(x, labels=np.ones(50))
    with pytest.raises(couplet.InputError, match="^labels: 40 .*expected 50"):
        couplet.classify(x, labels=y[:40])
    holes = np.where(x > 4, np.nan, x)
    with pytest.raises(couplet.InputError, match="^site_2: NaN at"):  # nobody has seen the file that it was put into
        couplet.classify(x, holes, labels=[y, y])
    with pytest.raises(couplet.InputError, match="measurement"):
        couplet.classify(x, labels=x[:, 0])
    with pytest.raises(TypeError, match="data"):
        couplet.classify()
    with pytest.raises(TypeError, match="labels"):
        couplet.classify(x, x, labels=y)
    with pytest.raises(couplet.InputError, match="expected one of"):
        usual.result("global")
    assert "federated-joint" in str(usual)
