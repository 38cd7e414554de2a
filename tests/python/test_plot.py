"""Every picture is drawn, with what it is about on it."""
import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt

import couplet


@pytest.fixture(autouse=True)
def no_figures_left():
    yield
    plt.close("all")


def drawn(figure):
    """The figure as pixels: it must not be blank."""
    figure.canvas.draw()
    pixels = np.asarray(figure.canvas.buffer_rgba())[..., :3]
    assert pixels.std() > 5
    return pixels


@pytest.fixture(scope="module")
def result():
    made = couplet.data.synthetic("40x6x5:rank=4,noise=0.1", clients=4)
    labels = [None, ("lab", [f"lab {i}" for i in range(6)]), ("drug", [f"drug {i}" for i in range(5)])]
    return couplet.simulate(made.tensors, rank=4, labels=labels)


def test_features_carry_their_names(result):
    grid = couplet.plot.features(result, components=[0, 3])
    assert [text.get_text() for text in grid[0, 0].get_xticklabels()] == [f"drug {i}" for i in range(5)]
    assert "direction 4" in grid[0, 1].get_title()
    drawn(grid[0, 0].figure)
    flat = couplet.simulate([np.random.default_rng(0).normal(size=(9, 5))], rank=2, labels=[None, list("abcde")])
    ax = couplet.plot.features(flat)[0, 0]
    assert [text.get_text() for text in ax.get_yticklabels()] == list("abcde")
    odd = couplet.simulate([np.random.default_rng(0).normal(size=(9, 2))], rank=1, labels=[None, ["a$x^2$", "b$_{"]])
    label = couplet.plot.features(odd)[0, 0].get_yticklabels()[0]
    assert label.get_text() == "a$x^2$" and not label.get_parse_math()  # a name is no formula
    drawn(label.figure)
    four = couplet.simulate(synthetic="30x4x3x2:rank=2", clients=2, rank=2)
    assert "\nat " in couplet.plot.features(four.features)[0, 0].get_title()


def test_names_of_many_features_can_be_read():
    rng = np.random.default_rng(0)
    names = [f"code {i}" for i in range(80)]
    flat = couplet.simulate([rng.normal(size=(90, 80))], rank=2, labels=[None, names])
    ax = couplet.plot.features(flat, components=1)[0, 0]
    shown = [text.get_text() for text in ax.get_yticklabels()]
    assert len(shown) == 45 and set(shown) < set(names) and "45 strongest of 80" in ax.get_xlabel()
    strength = np.abs(flat.features.full().reshape(2, 80)[0])
    assert shown[0] == names[int(np.argmax(strength))]
    deep = couplet.simulate([rng.normal(size=(30, 80, 3))], rank=2, labels=[None, names, list("abc")])
    ax = couplet.plot.features(deep, components=1)[0, 0]
    assert [text.get_text() for text in ax.get_yticklabels()] == names[::2]
    drawn(ax.figure)


def test_singular_values_and_error_against_rank(result):
    x = np.random.default_rng(0).normal(size=(9, 8, 7))
    ax = couplet.plot.singular_values(x)
    assert len(ax.get_lines()) == 2 and ax.get_yscale() == "log"
    drawn(ax.figure)
    ax = couplet.plot.error_against_rank(x)
    assert ax.get_lines()[0].get_ydata()[0] == pytest.approx(1) and ax.get_lines()[0].get_ydata()[-1] == 0
    results = [couplet.simulate([x], rank=r) for r in (4, 1, 2)]
    line, bound = couplet.plot.error_against_rank({"stack": results}).get_lines()
    assert list(line.get_xdata()) == [1, 2, 4] and np.all(line.get_ydata() <= bound.get_ydata())


def test_error_against_bytes(result):
    other = couplet.simulate(synthetic="40x6x5:rank=4,noise=0.1", clients=4, method="fedgtf-ef", rank=4, rounds=10)
    ax = couplet.plot.error_against_bytes([result, other])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["ctt, star, stack", "fedgtf-ef, star"]
    drawn(ax.figure)


def test_network():
    peers = couplet.simulate(synthetic="40x6x5:rank=4", clients=8, network="decentralized", aggregate="subspace",
                             graph="paper8", rank=3)
    ax = couplet.plot.network("paper8", result=peers)
    assert f"error {peers.consensus.error:.1e}" in ax.get_title() and "8 peers" in ax.get_title()
    drawn(ax.figure)
    assert len(couplet.plot.network("ring", 5).get_lines()) == 5


def test_wrong_things():
    for wrong in (lambda: couplet.plot.features(3), lambda: couplet.plot.network(3), lambda: couplet.plot.error_against_bytes([1])):
        with pytest.raises(TypeError):
            wrong()
    pair = couplet.simulate(synthetic="40x6x5:rank=4", clients=2, rank=3)
    for wrong in (lambda: couplet.plot.network("ring", 3, result=pair), lambda: couplet.plot.network("rign"), lambda: couplet.plot.error_against_bytes([])):
        with pytest.raises(ValueError):
            wrong()
