"""Seeded sequences of calls, right and wrong: the answer is NumPy's or a documented exception, never a crash.

COUPLET_FUZZ_STEPS sets the length; scripts/python-asan runs it under the address sanitizer.
"""
import copy
import os
import pickle

import numpy as np
import pytest

import couplet

STEPS = int(os.environ.get("COUPLET_FUZZ_STEPS", "150"))
ALLOWED = (ValueError, TypeError, IndexError, ZeroDivisionError, MemoryError, couplet.RunError)
pytestmark = pytest.mark.filterwarnings("ignore")


def close(a, b):
    scale = max(float(np.max(np.abs(b), initial=0)), 1e-300)
    return np.allclose(np.asarray(a, dtype=np.float64) / scale, np.asarray(b, dtype=np.float64) / scale, atol=2e-4)


class Machine:
    """Trains beside the dense tensors they stand for."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.pairs = []

    def pick(self):
        if not self.pairs or self.rng.random() < 0.2:
            self.make()
        return self.pairs[self.rng.integers(len(self.pairs))]

    def put(self, train, dense):
        assert train.shape == dense.shape and close(train.full(), dense)
        self.pairs.append((train, dense))
        del self.pairs[:-12]

    def tensor(self):
        shape = tuple(self.rng.integers(1, 7, size=self.rng.integers(1, 6)))
        x = self.rng.normal(size=shape) * 10.0 ** self.rng.integers(-8, 9)
        return x.astype(self.rng.choice([np.float32, np.float64]))

    def make(self):
        x = self.tensor()
        self.put(couplet.decompose(x, eps=0, method=str(self.rng.choice(["auto", "gram", "qr"]))), x)

    def add(self):
        a, x = self.pick()
        b, y = self.pick()
        try:
            self.put(a + b if self.rng.random() < 0.5 else a - b * -1, x + y)
        except couplet.InputError:
            assert x.shape != y.shape

    def scale(self):
        a, x = self.pick()
        factor = float(self.rng.choice([0, -1, 2.5, 1e-3]))
        self.put(a * factor, x * factor)

    def round(self):
        a, x = self.pick()
        b = a.round(float(self.rng.choice([0, 1e-8, 1e-6])))
        if np.linalg.norm(x) > 0:
            self.put(b, x)

    def index(self):
        a, x = self.pick()
        key = tuple(self.rng.choice([0, -1]) if self.rng.random() < 0.4 else slice(int(self.rng.integers(0, 2)), None)
                    for _ in range(self.rng.integers(0, x.ndim + 2)))
        try:
            part = a[key]
        except IndexError:
            assert len(key) > x.ndim or x[key].size == 0
            return
        if np.ndim(x[key]) == 0:
            assert close(part, x[key])
        else:
            self.put(part, x[key])

    def travel(self):
        a, x = self.pick()
        self.put(pickle.loads(pickle.dumps(a)) if self.rng.random() < 0.5 else copy.deepcopy(a), x)

    def norms(self):
        a, x = self.pick()
        assert close(a.norm(), np.linalg.norm(x.astype(np.float64)))
        assert close(a.dot(a), np.sum(x.astype(np.float64) ** 2))

    def federation(self):
        shape = tuple(self.rng.integers(1, 6, size=self.rng.integers(1, 4)))
        clients = [self.rng.normal(size=(self.rng.integers(1, 9), *shape)) for _ in range(self.rng.integers(1, 5))]
        flags = {"rank": int(self.rng.integers(1, 6)), "aggregate": str(self.rng.choice(["stack", "average", "subspace"])),
                 "network": str(self.rng.choice(["star", "decentralized"])), "seed": int(self.rng.integers(5))}
        for name, values in {"precision": ["auto", "f32", "f64"], "bytes": [300, "2kB"], "missing": ["impute"], "eps": [0.3],
                             "scale_clients": ["norm"], "heldout": [0.3], "method": ["centralized", "local", "dpsgd"],
                             "unnamed": ["allow"], "dry_run": [True], "refit": [True, False]}.items():
            if self.rng.random() < 0.15:
                flags[name] = values[self.rng.integers(len(values))]
        if "bytes" in flags or "eps" in flags:
            del flags["rank"]
        if flags.get("method") == "dpsgd":
            flags["rounds"] = 3
        if "missing" in flags:
            clients[0][self.rng.random(clients[0].shape) < 0.1] = np.nan
        labels = self.labels(shape) if self.rng.random() < 0.4 else None
        try:
            result = couplet.simulate(clients, labels=labels, **flags)
        except couplet.InputError:
            return
        if "dry_run" in flags:
            return
        assert np.isfinite(result.rse)
        if result.features is not None:
            couplet.project(result.features, clients[-1], labels=labels, missing="impute")
            assert result.reconstruct(0).shape[1:] == clients[0].shape[1:]
            copied = pickle.loads(pickle.dumps(result))
            assert copied.to_dict() == result.to_dict() and couplet.schema(copied) == couplet.schema(result)

    def labels(self, shape):
        """Names of the modes, now and then one too many or a strange one."""
        return [None, *([f"{'ä' * int(self.rng.integers(3))}{n}" for n in range(size + int(self.rng.random() < 0.05))] for size in shape)]

    def estimator(self):
        pytest.importorskip("sklearn")
        x = self.rng.normal(size=(12, *self.rng.integers(1, 5, size=self.rng.integers(1, 4))))
        model = couplet.CoupledTensorTrain(rank=int(self.rng.integers(1, 5)), seed=int(self.rng.integers(3)))
        rows = model.fit_transform(x, groups=self.rng.integers(0, 3, size=12))
        assert np.array_equal(rows, pickle.loads(pickle.dumps(model)).transform(x))
        assert model.inverse_transform(rows).shape == x.shape

    def nonsense(self):
        values = [None, -1, 0, 3, 2.5, "x", b"", [], [[1], [2, 3]], {}, np.nan, np.inf, np.zeros((0, 2)), np.array(1.0),
                  np.zeros((2, 2), dtype=complex), np.array([object()]), np.ones((2, 3)), object(), True, 1 << 80]
        value = lambda: values[self.rng.integers(len(values))]  # noqa: E731
        a, _ = self.pick()
        calls = [lambda: couplet.decompose(value(), eps=value()), lambda: couplet.decompose(value(), max_rank=value()),
                 lambda: couplet.TensorTrain(value()), lambda: couplet.TensorTrain([value(), value()]),
                 lambda: couplet.TensorTrain([value(), np.ones((1, 2, 1))]), lambda: a + value(), lambda: a * value(),
                 lambda: a[value()], lambda: a.round(value()), lambda: a.dot(value()),
                 lambda: couplet.simulate(value(), rank=value()), lambda: couplet.simulate([value()], eps=value()),
                 lambda: couplet.simulate([np.ones((3, 2))], labels=value()), lambda: couplet.Schema(value(), value()),
                 lambda: couplet.simulate([np.ones((3, 2))], names=value(), missing=value(), schema=value()),
                 lambda: couplet.ModeLabels(value(), value(), value()), lambda: couplet.schema(value()), lambda: a.save(value()),
                 lambda: couplet.CoupledTensorTrain(rank=value(), eps=value(), missing=value()).fit(value(), groups=value()),
                 lambda: couplet.data.ecg(value(), clients=value(), missing=value()), lambda: couplet.project(value(), value()),
                 lambda: couplet.project(a, value()), lambda: couplet.load(value()), lambda: couplet.singular_values(value()),
                 lambda: couplet.data.synthetic(value(), clients=value()), lambda: couplet.set_threads(value()),
                 lambda: couplet.decompose(np.ones((2, 2)), seed=value(), method=value()),
                 lambda: couplet._engine.check(value()), lambda: couplet._engine.full([value()]),
                 lambda: couplet._engine.simulate(value(), value(), value(), value()),
                 lambda: couplet._engine.decompose(value(), 0.1, value(), "auto", 0, value())]
        before = couplet.threads()
        try:
            calls[self.rng.integers(len(calls))]()
        except ALLOWED:
            pass
        couplet.set_threads(before)

    def step(self):
        moves = [self.make, self.add, self.scale, self.round, self.index, self.travel, self.norms, self.federation, self.estimator,
                 self.nonsense, self.nonsense, self.nonsense]
        moves[self.rng.integers(len(moves))]()


@pytest.mark.parametrize("seed", range(6))
def test_any_sequence_of_calls(seed):
    machine = Machine(seed)
    for _ in range(STEPS):
        machine.step()
