"""Mistakes: every one is a ValueError or a TypeError that says what, where and what was expected; none crashes."""
import os
import warnings

import numpy as np
import pytest

import couplet

X = np.random.default_rng(0).normal(size=(5, 4, 3))
READ_ONLY = X.copy()
READ_ONLY.flags.writeable = False
UNALIGNED = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(X.shape)


@pytest.mark.parametrize("x", [X, X.astype(np.float32), READ_ONLY, X.tolist(), np.ma.array(X), X[1:3]],
                         ids=["f8", "f4", "read-only", "lists", "no mask", "rows"])
def test_taken_as_they_are(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        train = couplet.decompose(x, eps=0)
    assert np.allclose(train.full(), np.asarray(x), atol=1e-5)


@pytest.mark.parametrize("x", [np.asfortranarray(X), X[:, ::2], X[::-1], X.astype(">f8"), X.astype(">f4"), UNALIGNED,
                               X.astype(np.float16), (10 * X).astype(np.int32), X > 0, X.astype(np.longdouble),
                               np.broadcast_to(X[:1], (4, 4, 3))],
                         ids=["fortran", "strided", "reversed", "big endian", "big endian f4", "unaligned", "f2", "i4",
                              "bool", "long double", "broadcast"])
def test_converted_with_a_word(x):
    with pytest.warns(couplet.ConversionWarning, match="is copied as C-ordered float"):
        train = couplet.decompose(x, eps=0)
    assert np.allclose(train.full(), np.asarray(x, dtype=np.float64), atol=1e-5)


@pytest.mark.parametrize("x", [X + 0j, X.astype(object), np.array(["a", "b"]), "x.npy", b"abc", None, {"a": 1}, {1, 2},
                               np.zeros(3, dtype=[("a", float)]), np.array(["2020-01-01"], dtype="M8[D]"),
                               np.ma.masked_greater(X, 0), (i for i in range(3)), object()])
def test_what_is_no_array_of_numbers(x):
    for call in (couplet.decompose, couplet.singular_values, lambda bad: couplet.simulate([X, bad], rank=2)):
        with pytest.raises(TypeError, match="; expected "):
            call(x)


@pytest.mark.parametrize("x, message", [
    ([[1, 2], [3]], "lists that make no array"),
    (np.where(X > 1, np.nan, X), r"NaN at index \(0, 2, 0\)"),
    (np.where(X > 1, np.inf, X), r"Inf at index \(0, 2, 0\)"),
    (np.float64(3), "order 0"),
    (np.array(3.0), "order 0"),
    (np.empty((0, 3)), "size 0"),
    (np.empty((3, 0, 2)), "size 0"),
    ([], "size 0"),
])
def test_what_is_no_tensor(x, message):
    with pytest.raises(ValueError, match=message):
        couplet.decompose(x)


@pytest.mark.parametrize("options, error", [
    ({"eps": -1}, ValueError), ({"eps": 1}, ValueError), ({"eps": np.nan}, ValueError), ({"eps": "a"}, TypeError),
    ({"eps": True}, TypeError), ({"eps": [1]}, TypeError), ({"max_rank": 0}, ValueError), ({"max_rank": -3}, ValueError),
    ({"max_rank": 2.5}, TypeError), ({"max_rank": True}, TypeError), ({"max_rank": 2**70}, ValueError),
    ({"max_rank": "3"}, TypeError), ({"method": "svd"}, ValueError), ({"method": 3}, ValueError),
    ({"seed": -1}, ValueError), ({"seed": 2**64}, ValueError), ({"seed": 0.5}, TypeError), ({"ranks": 3}, TypeError),
    ({"labels": ["a"]}, ValueError), ({"labels": [["a"], None, None]}, ValueError), ({"labels": [3, None, None]}, TypeError),
])
def test_options_of_decompose(options, error):
    with pytest.raises(error):
        couplet.decompose(X, **options)


@pytest.mark.parametrize("flags, error, message", [
    ({"rank": 0}, ValueError, "rank: 0; expected a whole number of at least 1"),
    ({"rank": "many"}, ValueError, "rank: 'many'"),
    ({"rank": [3]}, TypeError, "rank: a list"),
    ({"rnk": 3}, TypeError, "'rnk': no such flag.*Did you mean rank"),
    ({"eps": 2.0}, ValueError, "eps: 2.0; expected a number from 0"),
    ({"network": "start"}, ValueError, "Did you mean star"),
    ({"sketch": "gram", "rank": 2}, ValueError, "sketch: given with aggregate stack"),
    ({"graph": "ring", "rank": 2}, ValueError, "graph: given with network star"),
    ({"rank": 2, "eps": 0.1, "aggregate": "subspace"}, ValueError, "eps"),
    ({"threads": 2}, TypeError, "set_threads"),
    ({"json": True}, TypeError, "every field"),
    ({"output": 3}, TypeError, "a text"),
    ({"refit": "no"}, TypeError, "True or False"),
    ({"help": True}, TypeError, "no such flag"),
    ({"method": "dpsgd"}, ValueError, "rank"),
    ({"resume": "nowhere.npz", "rank": 2, "names": ["a", "b"]}, ValueError, "nowhere.npz"),
    ({"resume": "nowhere.npz", "rank": 2}, ValueError, "names: missing"),
    ({"names": ["a"], "rank": 2}, ValueError, "names: 1 names"),
    ({"names": ["a", "a"], "rank": 2}, ValueError, "1 of them different"),
    ({"names": "ab", "rank": 2}, TypeError, "a list of texts"),
    ({"unnamed": "maybe", "rank": 2}, ValueError, "unnamed: 'maybe'"),
    ({"schema": "nowhere.json", "rank": 2}, ValueError, "nowhere.json"),
    ({"schema": 3, "rank": 2}, TypeError, "a text"),
    ({"rank": False}, TypeError, "rank: a bool"),
    ({"rank": 2 + 0j}, TypeError, "rank: a complex"),
    ({"rank": np.float64(2.5)}, ValueError, "rank: "),
    ({"rnk": None}, TypeError, "no such flag"),
    ({"rnk": False}, TypeError, "no such flag"),
    ({"dry_run": 1}, TypeError, "dry_run: 1; expected True or False"),
    ({"graph": "ri\0ng", "rank": 2}, ValueError, "without NUL"),
    ({"precision": "f16", "rank": 2}, ValueError, "precision: 'f16'"),
    ({"bytes": "some"}, ValueError, "bytes: 'some'"),
    ({"bytes": 10}, ValueError, "bytes"),
    ({"missing": "impute"}, ValueError, "missing"),
    ({"labels": "ab", "rank": 2}, TypeError, "labels: a str"),
    ({"labels": 3, "rank": 2}, TypeError, "labels: a int"),
    ({"labels": {"a": 1}, "rank": 2}, TypeError, "labels: a dict"),
    ({"labels": [None, ["a", "b", "c", "\ud800"], None], "rank": 2}, ValueError, "no text of Unicode"),
    ({"labels": [None, ["a", "b", "c", None], None], "rank": 2}, TypeError, "expected a name"),
])
def test_flags_of_simulate(flags, error, message):
    with pytest.raises(error, match=message) as refused:
        couplet.simulate([X, X], **flags)
    assert "`" not in str(refused.value) and "--" not in str(refused.value).replace("--help", "")


@pytest.mark.parametrize("flags, message", [
    ({"aggregate": "average"}, "rank: no rank; expected a rank for aggregate average or subspace. Only aggregate stack can choose it "
                               "from eps."),
    ({"rank": 2, "bytes_total": 900, "eps": 0.1}, "bytes_total: a number of bytes together with an error; expected one or the other. "
                                                  "The bytes choose rank and precision for the least error."),
    ({"rank": 2, "refit": False}, "refit=False: no refit with an aggregate other than average; expected refit. Only the CTT of Zhang "
                                  "et al. 2024 (aggregate average) has a personal core before the features are known."),
    ({"rank": 2, "method": "trip", "compression": False}, "compression=False: given with method trip; expected a method that "
                                                          "compresses: fedgtf-ef, fedgtf-ef-pc or cidertf. Leave it out."),
    ({"rank": 2, "method": "dpsgd", "rho": 0.1}, "rho: given with method dpsgd; expected a parameter that this method has. Leave it out."),
])
def test_the_library_speaks_of_arguments(flags, message):
    with pytest.raises(ValueError) as refused:
        couplet.simulate([X, X], **flags)
    assert str(refused.value) == message


def test_a_command_in_a_remedy_is_whole():
    with pytest.raises(ValueError) as refused:
        couplet.simulate([X, X], labels=[[None, list("abcd"), None], [None, list("abce"), None]], rank=2)
    assert str(refused.value).endswith("couplet schema --compare shows what differs. Or say which it is with schema.")


@pytest.mark.parametrize("clients, message", [
    ([], "no clients"),
    ([X, X[:, :2]], "client 2: mode 2 has size 2; expected 4 as client 1 has"),
    ([X, np.where(X > 1, np.nan, X)], "client 2: NaN at index"),
    ([X[0, 0]], "order 1"),
    ([X, X[0]], "client 2"),
    ([np.empty((0, 3))], "empty"),
    ([X, [[1, 2], [3]]], "client 2: lists that make no array"),
    ("nowhere.npy", "no such file"),
])
def test_clients_of_simulate(clients, message):
    with pytest.raises(ValueError, match=message):
        couplet.simulate(clients, rank=2)


def test_other_things_that_are_no_clients():
    for wrong in (3, {1: X}, [X, "a.npy"]):
        with pytest.raises(TypeError):
            couplet.simulate(wrong)


@pytest.mark.parametrize("cores", [[], [np.ones((1, 2))], [np.ones((1, 2, 3)), np.ones((2, 2, 1))], [np.ones((1, 2, 2))],
                                   [np.full((1, 2, 1), np.nan)], [np.ones((1, 0, 1))]])
def test_cores_that_make_no_train(cores):
    with pytest.raises(ValueError):
        couplet.TensorTrain(cores)


def test_files_of_any_name(tmp_path):
    """Names of files are bytes: spaces, umlauts, and what is no UTF-8 at all."""
    folder = os.fsencode(tmp_path)
    train = couplet.decompose(X)
    for name in (b"m m.npz", "größe-日本.npz".encode(), b"latin-\xe4.npz"):
        path = os.path.join(folder, name)
        train.save(path)
        assert couplet.load(path).ranks == couplet.load(os.fsdecode(path)).ranks == train.ranks
    np.save(os.fsdecode(os.path.join(folder, b"\xff.npy")), X)
    result = couplet.simulate([os.fsdecode(os.path.join(folder, b"\xff.npy"))], rank=2, output=os.fsdecode(folder + b"/\xfe"))
    assert os.path.exists(folder + b"/\xfe/features.npz") and result.rse > 0
    with pytest.raises(ValueError, match="no such file") as error:
        couplet.load(os.path.join(folder, b"\xfd.npz"))
    assert os.fsdecode(b"\xfd.npz") in str(error.value)
    for wrong in ("a\0b.npz", b"a\0b.npz", "", "\ud800.npz"):
        for call in (couplet.load, couplet.read_tensor, couplet.schema, train.save):
            with pytest.raises((ValueError, TypeError)):
                call(wrong)
    assert not (tmp_path / "a").exists()


def test_names_in_any_script(tmp_path):
    labels = [None, couplet.ModeLabels("значение", ["größe", "血圧", "", "\U0001f600"], ["", "mmHg", "µg", "%"]), None]
    for k, wild in enumerate([labels, [None, ["a\nb", "c\td", '"', "\\"], None]]):
        train = couplet.decompose(X, labels=wild)
        train.save(tmp_path / f"{k}.npz")
        assert couplet.load(tmp_path / f"{k}.npz").labels == train.labels
    result = couplet.simulate([X], rank=2, labels=labels)
    assert result.features.labels[0] == labels[1]
    latin = tmp_path / "latin.csv"
    latin.write_bytes("alter,größe\n1,2\n3,4\n5,7\n".encode("latin-1"))
    with pytest.raises(ValueError, match="a header that is not UTF-8"):
        couplet.read_tensor(latin)
    assert couplet.ModeLabels().entries is not couplet.ModeLabels().entries


def test_metadata_that_no_file_can_hold(tmp_path):
    for value in (np.nan, object(), {1, 2}):
        train = couplet.TensorTrain([np.ones((1, 2, 1))], metadata={"a": value})
        with pytest.raises(ValueError, match="metadata"):
            train.save(tmp_path / "m.npz")
    assert not (tmp_path / "m.npz").exists()


def test_files(tmp_path):
    train = couplet.decompose(X)
    for wrong in (lambda: couplet.load(tmp_path), lambda: couplet.load(tmp_path / "no.npz"), lambda: train.save(tmp_path / "a.txt"),
                  lambda: train.save(tmp_path / "no" / "a.npz"), lambda: couplet.read_tensor(tmp_path / "x.npy")):
        with pytest.raises(ValueError):
            wrong()
    for wrong in (lambda: couplet.load(3), lambda: train.save(None)):
        with pytest.raises(TypeError):
            wrong()
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04 and then nothing of use" * 10)
    with pytest.raises(ValueError, match="bad.npz"):
        couplet.load(tmp_path / "bad.npz")


def test_features_of_another_shape():
    features = couplet.simulate([X], rank=2).features
    with pytest.raises(ValueError, match="feature modes 4x2; expected 4x3"):
        couplet.project(features, X[:, :, :2])
    with pytest.raises(ValueError, match="NaN"):
        couplet.project(features, np.where(X > 1, np.nan, X))
    with pytest.raises(TypeError):
        couplet.project(3, X)
