"""Tensor trains: the promised error, arithmetic against NumPy, indexing, pickling, conversions."""
import copy
import pickle

import numpy as np
import pytest

import couplet
from conftest import low_rank

SHAPES = [(7,), (6, 5), (5, 4, 3), (3, 4, 2, 5), (2,) * 7, (1, 5, 1), (40, 30, 20)]


def relative(a, b):
    return np.linalg.norm(np.asarray(a) - b) / np.linalg.norm(b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("eps", [0.5, 0.1, 1e-3])
def test_the_error_is_the_promised_one(rng, shape, eps, dtype):
    x = low_rank(rng, shape, 2, 0.05).astype(dtype)
    train = couplet.decompose(x, eps=eps)
    achieved = relative(train.full().astype(np.float64), x.astype(np.float64))
    assert achieved <= eps
    assert achieved <= train.rel_error + (1e-6 if dtype == np.float32 else 1e-12)
    assert train.dtype == dtype and train.full().dtype == dtype
    assert train.shape == shape and len(train.ranks) == len(shape) + 1 and train.ranks[0] == train.ranks[-1] == 1
    assert [core.shape for core in train.cores] == [(a, i, b) for a, i, b in zip(train.ranks, shape, train.ranks[1:])]


@pytest.mark.parametrize("method", ["auto", "gram", "qr", "random"])
def test_a_rank_alone_cuts_nothing_else(rng, method):
    x = rng.normal(size=(12, 10, 8))
    assert couplet.decompose(x, max_rank=4, method=method).ranks == (1, 4, 4, 1)
    full = couplet.decompose(x, max_rank=100, method=method)
    assert relative(full.full(), x) < 1e-6
    assert couplet.decompose(x, max_rank=4).metadata["eps"] == 0
    assert couplet.decompose(x).metadata["eps"] == 0.01


def test_the_result_does_not_depend_on_threads_or_runs(rng):
    x = rng.normal(size=(60, 50, 40))
    before = couplet.threads()
    trains = []
    for threads in (1, 2, 5):
        couplet.set_threads(threads)
        trains.append(couplet.decompose(x, max_rank=7))
    couplet.set_threads(before)
    for other in trains[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(trains[0].cores, other.cores))


def test_arithmetic_is_that_of_the_tensors(rng):
    x, y = rng.normal(size=(2, 6, 5, 4))
    a, b = couplet.decompose(x, eps=0), couplet.decompose(y, max_rank=2)
    dense = b.full()
    assert relative((a + b).full(), x + dense) < 1e-12
    assert relative((a - b).full(), x - dense) < 1e-12
    assert relative((3 * a).full(), 3 * x) < 1e-12
    assert relative((a * np.float32(0.5)).full(), 0.5 * x) < 1e-12
    assert relative((a / 4).full(), x / 4) < 1e-12
    assert relative((-a).full(), -x) < 1e-12
    assert (+a) is a
    assert (a + b).ranks == (1, *(p + q for p, q in zip(a.ranks[1:-1], b.ranks[1:-1])), 1)
    assert a.dot(b) == pytest.approx(float(np.sum(x * dense)), rel=1e-12)
    assert a.norm() == pytest.approx(np.linalg.norm(x), rel=1e-12)
    assert (a - a).round(1e-6).norm() < 1e-5 * a.norm()
    mixed = couplet.decompose(x.astype(np.float32), eps=0) + b
    assert mixed.dtype == np.float64 and relative(mixed.full(), x + dense) < 1e-6


def test_rounding_keeps_its_promise_and_counts_what_was_lost_before(rng):
    x = low_rank(rng, (20, 12, 10), 4, 0.1)
    first = couplet.decompose(x, eps=0.05)
    rounded = first.round(0.2)
    assert all(a <= b for a, b in zip(rounded.ranks, first.ranks))
    assert relative(rounded.full(), first.full()) <= 0.2
    assert relative(rounded.full(), x) <= rounded.rel_error + 1e-12
    assert first.round(max_rank=2).ranks == (1, 2, 2, 1)
    # Of a sum or a part nobody knows what it stands for, so that nobody knows its error.
    for derived in (first + first, first[:5]):
        assert derived.round(1e-6).rel_error is None
        assert derived.round(1e-6).metadata["rounding_error"] <= 1e-6


def test_indexing_is_that_of_the_tensor(rng):
    x = rng.normal(size=(5, 4, 3, 2))
    train = couplet.decompose(x, eps=0)
    for key in [(1, 2, 0, 1), (-1, -4, 2, 0), 0, (slice(1, 4),), (slice(None), 2), (Ellipsis, 1), (0, Ellipsis, 1),
                (slice(None, None, 2), [3, 0], slice(2, 0, -1)), (np.array([True, False, True, False, True]),),
                (slice(None), np.int64(1), slice(0, 2))]:
        part, expected = train[key], x[key]
        if np.ndim(expected) == 0:
            assert isinstance(part, float) and part == pytest.approx(float(expected), rel=1e-12)
        else:
            assert part.shape == expected.shape and relative(part.full(), expected) < 1e-12
    assert len(train) == 5 and len(list(train)) == 5
    for key in [5, (0, 4), (0,) * 5, None, True, 1.5, "a", (slice(3, 3),), (Ellipsis, Ellipsis), [9], [[0]], [True]]:
        with pytest.raises(IndexError):
            train[key]


def test_indexing_of_huge_and_tiny_cores():
    """Products on the way may be of any size; what no number can hold is refused, as full() does."""
    train = couplet.TensorTrain([np.full((1, 2, 1), value) for value in (1e300, 1e300, 1e-300, 1e-300, 3.0)])
    assert train[0, 1, 0, 1, 0] == pytest.approx(3.0, rel=1e-14)
    assert np.allclose(train[0, 1, 0, 1].full(), 3.0, rtol=1e-14)
    assert np.allclose(train[:, 1, 0, 1, 0].full(), 3.0, rtol=1e-14)
    huge = couplet.TensorTrain([np.full((1, 2, 1), 1e300)] * 3)
    for key in ((0, 0, 0), (0, 0), (slice(None), 1, 1)):
        with pytest.raises(ValueError, match="beyond the largest number"):
            huge[key]


def test_more_modes_than_an_array_has():
    train = couplet.TensorTrain([np.ones((1, 1, 1))] * 65)
    with pytest.raises(ValueError, match="65 modes"):
        train.full()
    assert train.norm() == 1 and train[(0,) * 64].full().shape == (1,)


def test_names_follow_the_indices():
    labels = [couplet.ModeLabels("person"), couplet.ModeLabels("measure", ["age", "bmi", "hba1c"], ["years", "", "%"])]
    train = couplet.decompose(np.eye(4, 3), labels=labels)
    assert train[:, 1:].labels[1] == couplet.ModeLabels("measure", ["bmi", "hba1c"], ["", "%"])
    assert train[0].labels == [labels[1]]


def test_cores_are_protected_and_outlive_the_train(rng):
    x = rng.normal(size=(30, 20, 10))
    train = couplet.decompose(x, max_rank=5)
    cores, whole = train.cores, train.full()
    with pytest.raises(ValueError):
        cores[1][0, 0, 0] = 1
    kept = [np.array(core) for core in cores]
    del train, x
    junk = [rng.normal(size=(30, 20, 10)) for _ in range(20)]
    assert len(junk) == 20 and all(np.array_equal(a, b) for a, b in zip(cores, kept))
    whole += 1  # a result is the caller's own


def test_pickling_and_copying(rng):
    train = couplet.decompose(rng.normal(size=(6, 5, 4)), max_rank=3, labels=["a", "b", "c"])
    for other in (pickle.loads(pickle.dumps(train)), copy.copy(train), copy.deepcopy(train)):
        assert all(np.array_equal(a, b) for a, b in zip(train.cores, other.cores))
        assert other.metadata == train.metadata and other.labels == train.labels
        with pytest.raises(ValueError):
            other.cores[0][...] = 0


def test_tensorly_and_lists(rng):
    tensorly = pytest.importorskip("tensorly")
    from tensorly.decomposition import tensor_train

    x = rng.normal(size=(6, 5, 4))
    train = couplet.decompose(x, max_rank=3)
    assert relative(tensorly.tt_to_tensor(train.to_tensorly()), train.full()) < 1e-12
    theirs = tensor_train(tensorly.tensor(x), rank=[1, 3, 3, 1])
    ours = couplet.TensorTrain.from_tensorly(theirs)
    assert relative(ours.full(), tensorly.tt_to_tensor(theirs)) < 1e-12
    # Both cut the same spectrum.
    assert relative(train.full(), x) <= 1.001 * relative(ours.full(), x)
    again = couplet.TensorTrain(train.to_list())
    assert np.array_equal(again.full(), train.full()) and again.rel_error is None
    with pytest.raises(TypeError):
        couplet.TensorTrain.from_tensorly(x)


def test_arrays_and_trains_do_not_mix_unasked(rng):
    x = rng.normal(size=(4, 3))
    train = couplet.decompose(x, eps=0)
    for wrong in (lambda: train + 1, lambda: x - train, lambda: train - x, lambda: train * train, lambda: train * x,
                  lambda: train @ train, lambda: train * "a"):
        with pytest.raises(TypeError):
            wrong()
    assert relative(np.asarray(train), x) < 1e-12 and np.asarray(train, dtype=np.float32).dtype == np.float32
    with pytest.raises(ZeroDivisionError):
        train / 0
    for wrong in (lambda: train * np.inf, lambda: train * np.nan, lambda: train * 1e308 * 1e308):
        with pytest.raises(ValueError):
            wrong()


def test_numbers_that_are_no_factors(rng):
    train = couplet.decompose(rng.normal(size=(4, 3)), eps=0)
    for wrong in (1j, np.complex128(2 + 1j), np.array(1j), None, np.timedelta64(3, "s"), np.ones(1), "2"):
        for call in (lambda: train * wrong, lambda: wrong * train, lambda: train / wrong):
            with pytest.raises(TypeError):
                call()
    assert (train * np.array(2.0)).norm() == (train * np.uint8(2)).norm() == (np.int8(2) * train).norm()
    with pytest.raises(ValueError):
        train * 10**400
    # What vanishes loses its digits, and with them the promise.
    single = couplet.decompose(rng.normal(size=(4, 3)).astype(np.float32), eps=0.1)
    assert (single * 2).rel_error == single.rel_error and (single * 1e-60).rel_error is None
    assert (single * 0).rel_error is None


def test_names_are_compared_before_numbers_are_added(rng):
    x = rng.normal(size=(5, 3, 2))
    names, other = [None, ["a", "b", "c"], ["u", "v"]], [None, ["b", "a", "c"], ["u", "v"]]
    train, twisted = couplet.decompose(x, labels=names), couplet.decompose(x, labels=other)
    for wrong in (lambda: train + twisted, lambda: train - twisted, lambda: train.dot(twisted)):
        with pytest.raises(ValueError, match="same names in the same order"):
            wrong()
    plain = couplet.decompose(x)
    assert (train + plain).labels == (plain + train).labels == train.labels
    patients = couplet.decompose(x, labels=[list("pqrst"), *names[1:]])
    assert (train + patients).labels == train.labels  # who the patients are is not compared
    units = couplet.decompose(x, labels=[None, ("", ["a", "b", "c"], ["kg", "m", "s"]), ["u", "v"]])
    with pytest.raises(ValueError):
        units + couplet.decompose(x, labels=[None, ("", ["a", "b", "c"], ["g", "m", "s"]), ["u", "v"]])


def test_features_stay_features(rng, tmp_path):
    """Also with a first rank of 1, where nothing but the file says which cores they are."""
    for rank in (1, 3):
        features = couplet.simulate([rng.normal(size=(9, 4, 3))], rank=rank).features
        for derived in (2 * features, -features, features + features, features.round(1e-9), features - 0.5 * features):
            derived.save(tmp_path / "f.npz", force=True)
            with np.load(tmp_path / "f.npz") as file:
                assert {"core_2", "core_3"} <= set(file) and "core_1" not in file
            assert couplet.schema(couplet.load(tmp_path / "f.npz")).shape == (4, 3)
        with pytest.raises(ValueError, match="two of a kind"):
            features + couplet.decompose(rng.normal(size=(4, 3)))


def test_a_tensor_that_cannot_fit_is_a_memory_error():
    train = couplet.TensorTrain([np.ones((1, 100_000, 1))] * 3)
    with pytest.raises(MemoryError, match="100000x100000x100000"):
        train.full()
    assert train.norm() == pytest.approx(100_000**1.5)


def test_singular_values_are_those_of_the_unfoldings(rng):
    x = rng.normal(size=(6, 5, 4))
    for n, values in enumerate(couplet.singular_values(x), start=1):
        expected = np.linalg.svd(x.reshape(int(np.prod(x.shape[:n])), -1), compute_uv=False)
        assert np.allclose(values, expected, rtol=1e-10)
