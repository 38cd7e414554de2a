"""Tensor trains: decomposition, arithmetic, files."""

from __future__ import annotations

import json
import math
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _engine
from ._arrays import Array, as_tensor, count, is_real, path_of, real, seed_of
from ._errors import InputError, misnamed, wrong_type
from ._labels import ModeLabels, as_labels
from ._watch import Watch

_METHODS = ("auto", "gram", "qr", "random")


class TensorTrain:
    """A tensor as a chain of small cores: X[i, j, k] = G1[:, i, :] @ G2[:, j, :] @ G3[:, k, :].

    Core n is an array of shape (R_{n-1}, I_n, R_n); the ranks at both ends are 1. A train that was loaded from the
    features of a federation has an open first rank R_1 and stands for R_1 tensors at once. Cores cannot be written to, so
    that `rel_error` stays true; `numpy.array(core)` is a copy that can.

    >>> import numpy as np, couplet
    >>> x = np.arange(24.0).reshape(2, 3, 4)
    >>> train = couplet.decompose(x, eps=1e-10)
    >>> train.ranks
    (1, 2, 2, 1)
    >>> bool(np.allclose(train.full(), x))
    True
    >>> round(train[1, 2, 3], 6)
    23.0
    """

    __slots__ = ("_cores", "_labels", "metadata", "__weakref__")
    __array_ufunc__ = None  # an array and a train do not mix unasked: that would multiply the train out

    _cores: tuple[Array, ...]
    _labels: list[ModeLabels]
    metadata: dict[str, Any]

    def __init__(self, cores: Sequence[Any], *, labels: Any = None, metadata: Mapping[str, Any] | None = None) -> None:
        """A train of these cores, which are copied. Neighbouring ranks must agree (ValueError)."""
        arrays = [as_tensor(core, f"core {n + 1}", quiet=True) for n, core in enumerate(_as_sequence(cores))]
        kind = np.result_type(*arrays) if arrays else np.dtype(np.float64)
        arrays = [np.array(core, dtype=kind, order="C") for core in arrays]
        for n, core in enumerate(arrays):
            if not np.isfinite(core).all():
                raise InputError(f"core {n + 1}: NaN or infinity; expected finite numbers")
        _engine.check(arrays)
        self._take(arrays, as_labels(labels, [core.shape[1] for core in arrays]), dict(metadata or {}))

    @classmethod
    def _made(cls, cores: list[Array], labels: list[ModeLabels], metadata: dict[str, Any]) -> TensorTrain:
        """A train of cores that the engine made: nothing to check, nothing to copy."""
        train = cls.__new__(cls)
        train._take(cores, labels, metadata)
        return train

    def _take(self, cores: list[Array], labels: list[ModeLabels], metadata: dict[str, Any]) -> None:
        for core in cores:
            core.flags.writeable = False
        self._cores = tuple(cores)
        self._labels = labels
        self.metadata = metadata

    @property
    def cores(self) -> tuple[Array, ...]:
        """The cores, each (R_{n-1}, I_n, R_n)."""
        return self._cores

    @property
    def ranks(self) -> tuple[int, ...]:
        """R_0, ..., R_N: one more than there are modes."""
        return (self._cores[0].shape[0], *(core.shape[2] for core in self._cores))

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the modes; an open first rank is not among them."""
        return tuple(core.shape[1] for core in self._cores)

    @property
    def ndim(self) -> int:
        """Number of modes."""
        return len(self._cores)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._cores[0].dtype

    @property
    def size(self) -> int:
        """Numbers in all cores together."""
        return sum(core.size for core in self._cores)

    @property
    def labels(self) -> list[ModeLabels]:
        """Names of the modes and of their indices; empty when there are none."""
        return self._labels

    @property
    def rel_error(self) -> float | None:
        """||X - train|| / ||X|| as achieved; None for a train that was not made from a tensor."""
        return self.metadata.get("rel_error")

    def full(self) -> Array:
        """The tensor itself; an open first rank comes first as a mode of its own. MemoryError when it cannot fit."""
        sizes = (*(self.ranks[:1] if self.ranks[0] > 1 else ()), *self.shape)
        needed = self.dtype.itemsize
        for size in sizes:
            needed *= size
        if len(sizes) > _MOST_MODES:
            raise InputError(f"full: {len(sizes)} modes; expected at most {_MOST_MODES}, as many as an array can have")
        if needed > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"):
            raise MemoryError(f"full: a tensor {'x'.join(map(str, sizes))} of {needed:.3g} bytes; "
                              "expected no more than the memory of this machine")
        return _engine.full(self._list(), Watch)

    def norm(self) -> float:
        """Frobenius norm, without forming the tensor.

        >>> import couplet
        >>> couplet.TensorTrain([[[[3.0], [4.0]]]]).norm()
        5.0
        """
        return _engine.norm(self._list(), Watch)

    def dot(self, other: TensorTrain) -> float:
        """Sum over all entries of the product of both."""
        a, b = self._matched(other, "dot")
        return _engine.dot(a, b, Watch)

    def round(self, eps: float | None = None, *, max_rank: int | None = None) -> TensorTrain:
        """The same train with ranks as small as a relative error of `eps` allows, and none above `max_rank`.

        Neither: 0.01, as in decompose(). `rel_error` of the result counts this rounding and what was lost before, where
        that is known; metadata["rounding_error"] is this rounding alone.

        >>> import numpy as np, couplet
        >>> train = couplet.decompose(np.ones((4, 5, 6)))
        >>> (train + train).ranks, (train + train).round(1e-8).ranks
        ((1, 2, 2, 1), (1, 1, 1, 1))
        """
        limit = None if max_rank is None else count("max_rank", max_rank)
        cores, error = _engine.round(self._list(), _effective_eps(eps, limit), limit, Watch)
        metadata: dict[str, Any] = {key: self.metadata[key] for key in ("features", "centring", "seed", "version") if key in self.metadata}
        metadata["rounding_error"] = error
        if self.rel_error is not None:
            # Errors of one after the other add up at most; the first is relative to the norm of the tensor itself.
            metadata["rel_error"] = self.rel_error + error * (1 + self.rel_error)
        return TensorTrain._made(cores, self._labels, metadata)

    def __add__(self, other: Any) -> TensorTrain:
        """The exact sum; ranks add up. round() the result to shrink it."""
        if not isinstance(other, TensorTrain):
            return NotImplemented
        a, b = self._matched(other, "+")
        if (self.metadata.get("centring") or {}) != (other.metadata.get("centring") or {}):
            raise InputError("+: features of data that was centred or scaled otherwise; expected the same centring. "
                             "Use features of one simulation.")
        return TensorTrain._made(_engine.add(a, b, Watch), self._labels or other._labels, self._kind())

    def __sub__(self, other: Any) -> TensorTrain:
        if not isinstance(other, TensorTrain):
            return NotImplemented
        return self + other * -1.0

    def __mul__(self, factor: Any) -> TensorTrain:
        if not is_real(factor):
            return NotImplemented
        number = real("factor", factor)
        if not np.isfinite(number):
            raise InputError(f"factor: {number}; expected a finite number")
        cores = [np.array(core) for core in self._cores]
        with np.errstate(over="ignore"):
            cores[-1] *= self.dtype.type(number)
        if not np.isfinite(cores[-1]).all():
            raise InputError(f"factor: {number} makes entries of the last core overflow; expected a smaller one")
        kept = self._kind()
        # Entries that become subnormal, or zero, lose digits: the error is no longer known then.
        if self.rel_error is not None and float(np.max(np.abs(cores[-1]))) > np.finfo(self.dtype).tiny / np.finfo(self.dtype).eps:
            kept["rel_error"] = self.rel_error
        return TensorTrain._made(cores, self._labels, kept)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> TensorTrain:
        if not is_real(divisor):
            return NotImplemented
        if float(divisor) == 0:
            raise ZeroDivisionError("division of a tensor train by zero")
        return self * (1 / float(divisor))

    def __neg__(self) -> TensorTrain:
        return self * -1.0

    def __pos__(self) -> TensorTrain:
        return self

    def __getitem__(self, key: Any) -> Any:
        """An entry for one index per mode; a train of what is left where some are slices, lists or left out. Every mode is
        indexed on its own: lists in two modes select rows and columns, and modes stay in their order.

        >>> import numpy as np, couplet
        >>> train = couplet.decompose(np.arange(60.0).reshape(3, 4, 5), eps=0)
        >>> train[1:, 0].shape
        (2, 5)
        """
        if self.ranks[0] != 1:
            raise InputError("index: a train with an open first rank; expected one that starts with rank 1. "
                             "Use full() or the cores.")
        selections = self._selections(key)
        kept: list[Array] = []
        labels: list[ModeLabels] = []
        carried: Array | None = None  # product of the indexed cores since the last kept one
        exponent = 0  # products are kept near 1, times this power of two: those of huge and tiny cores stay numbers
        for mode, (core, item) in enumerate(zip(self._cores, selections)):
            part = core[:, item, :]
            if part.ndim == 2:
                part, own = _near_one(part)
                carried, shift = _near_one(part if carried is None else carried @ part)
                exponent += own + shift
                continue
            if part.shape[1] == 0:
                raise IndexError(f"index: nothing selected in mode {mode}; expected at least one index")
            kept.append(part if carried is None else np.tensordot(carried, part, 1))
            carried = None
            if self._labels:
                labels.append(_selected(self._labels[mode], item, core.shape[1]))
        if not kept:
            assert carried is not None
            return float(_scaled(carried, exponent)[0, 0])
        if carried is not None:
            kept[-1] = np.tensordot(kept[-1], carried, 1)
        kept[-1] = _scaled(kept[-1], exponent)
        return TensorTrain._made([np.array(core, order="C") for core in kept], labels, {})

    def _selections(self, key: Any) -> list[Any]:
        items = list(key) if isinstance(key, tuple) else [key]
        dots = [n for n, item in enumerate(items) if item is Ellipsis]
        if len(dots) > 1:
            raise IndexError("index: more than one '...'; expected one at most")
        given = len(items) - len(dots)
        if given > self.ndim:
            raise IndexError(f"index: {given} indices; expected at most {self.ndim}, one per mode")
        missing = [slice(None)] * (self.ndim - given)
        at = dots[0] if dots else len(items)
        items[at:at + len(dots)] = missing
        return [_index(item, size, mode) for mode, (item, size) in enumerate(zip(items, self.shape))]

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the train as `couplet decompose -o` does; an existing file is replaced only with `force`.

        >>> import numpy as np, couplet, tempfile, os
        >>> folder = tempfile.mkdtemp()
        >>> couplet.decompose(np.ones((2, 3))).save(os.path.join(folder, "m.npz"))
        >>> couplet.load(os.path.join(folder, "m.npz")).ranks
        (1, 1, 1)
        """
        target = path_of("path", path)
        if not target.endswith(b".npz"):
            raise InputError(f"path: {os.fsdecode(target)!r}; expected a name that ends in .npz")
        metadata = {key: value for key, value in self.metadata.items() if key != "features"}
        try:
            text = json.dumps(metadata, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise InputError(f"metadata: {error}; expected what JSON can hold: texts and finite numbers") from None
        _engine.save(target, self._list(), 2 if self._is_features() else 1, [tuple(mode) for mode in self._labels],
                     text, bool(force))

    def to_list(self) -> list[Array]:
        """Copies of the cores."""
        return [np.array(core) for core in self._cores]

    def to_tensorly(self) -> Any:
        """The same train as tensorly.tt_tensor.TTTensor."""
        from tensorly.tt_tensor import TTTensor

        return TTTensor(self.to_list())

    @classmethod
    def from_tensorly(cls, train: Any) -> TensorTrain:
        """A train from tensorly's TTTensor, or from anything with `factors`."""
        if not hasattr(train, "factors"):
            raise wrong_type("train", f"a {type(train).__name__}", "a TTTensor of TensorLy")
        return cls([np.asarray(factor) for factor in train.factors])

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError("array: a tensor train has to be multiplied out; expected copy=None or copy=True")
        return self.full() if dtype is None else self.full().astype(dtype, copy=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (list(self._cores), self._labels, self.metadata)

    def __copy__(self) -> TensorTrain:
        return TensorTrain._made(list(self._cores), list(self._labels), dict(self.metadata))

    def __repr__(self) -> str:
        error = "" if self.rel_error is None else f", rel_error={self.rel_error:.3g}"
        return f"TensorTrain(shape={self.shape}, ranks={self.ranks}, dtype={self.dtype.name}{error})"

    def _list(self) -> list[Array]:
        return list(self._cores)

    def _is_features(self) -> bool:
        """Whether the first mode is one of features and the patients are in another core."""
        return self.ranks[0] != 1 or bool(self.metadata.get("features"))

    def _kind(self) -> dict[str, Any]:
        """What a train made of this one still is: features, and of data that was moved and scaled so."""
        kept = {"features": True} if self.metadata.get("features") else {}
        return kept | {key: self.metadata[key] for key in ("centring",) if self.metadata.get(key)}

    def _matched(self, other: TensorTrain, what: str) -> tuple[list[Array], list[Array]]:
        if not isinstance(other, TensorTrain):
            raise wrong_type(what, f"a {type(other).__name__}", "another TensorTrain")
        if self._is_features() != other._is_features():
            raise InputError(f"{what}: features and a train of a whole tensor; expected two of a kind")
        for found, expected in _names_apart(self, other):
            raise InputError(f"{what}: {found}; expected {expected} as in the first. "
                             "Only trains with the same names in the same order go together.")
        kind = np.promote_types(self.dtype, other.dtype)
        return ([core.astype(kind, copy=False) for core in self._cores],
                [core.astype(kind, copy=False) for core in other._cores])


def _names_apart(a: TensorTrain, b: TensorTrain) -> list[tuple[str, str]]:
    """(found in b, expected as in a) where both have names and they differ; those of patients are not compared."""
    if not (a.labels and b.labels) or a.shape != b.shape:
        return []
    skip = 0 if a._is_features() else 1
    sizes, mine, theirs = a.shape[skip:], a.labels[skip:], b.labels[skip:]
    if not sizes:
        return []
    found = _engine.compare_schemas(sizes, [tuple(mode) for mode in mine], sizes, [tuple(mode) for mode in theirs])
    return [(what, expected) for what, expected, unnamed, _ in found if not unnamed]


@misnamed(rank="max_rank", ranks="max_rank", n_components="max_rank", tol="eps")
def decompose(x: Any, *, eps: float | None = None, max_rank: int | None = None, method: str = "auto", seed: int = 0,
              labels: Any = None) -> TensorTrain:
    """The tensor train of a dense tensor (TT-SVD), as `couplet decompose`.

    x: array of float64 or float32 in C order, which is read where it lies; anything else is copied with a warning.
    eps: relative error to stay within, 0 <= eps < 1. max_rank: no rank exceeds it, even if the error then does. With
    `max_rank` alone only the rank cuts; with neither eps is 0.01. method: how singular vectors are found: "gram" is
    fastest but cannot see errors below 1e-6, "qr" is accurate to rounding, "random" suits small ranks, "auto" picks.
    seed: of "random"; the same seed gives the same result, on any number of threads. labels: names of the modes.

    ValueError for NaN, infinity, an empty tensor and options out of range; TypeError for what is no array of numbers.

    >>> import numpy as np, couplet
    >>> x = np.random.default_rng(0).normal(size=(20, 10, 10))
    >>> train = couplet.decompose(x, eps=0.1)
    >>> train.rel_error <= 0.1
    True
    >>> bool(np.linalg.norm(train.full() - x) <= 0.1 * np.linalg.norm(x))
    True
    >>> couplet.decompose(x, max_rank=3).ranks
    (1, 3, 3, 1)
    """
    array = as_tensor(x)
    limit = None if max_rank is None else count("max_rank", max_rank)
    cut = _effective_eps(eps, limit)
    if method not in _METHODS:
        raise InputError(f"method: {method!r}; expected one of {', '.join(_METHODS)}")
    number = seed if type(seed) is int and 0 <= seed < 2**64 else seed_of(seed)
    cores, rel_error, norm, rank_limited, used = _engine.decompose(array, cut, limit, method, number, Watch)
    metadata = {"eps": cut, "method": used, "norm": norm, "rank_limited": rank_limited, "rel_error": rel_error,
                "seed": number, "version": _VERSION}
    return TensorTrain._made(cores, as_labels(labels, array.shape) if labels is not None else [], metadata)


def load(path: str | os.PathLike[str]) -> Any:
    """What a model file holds: a TensorTrain, also of `features.npz` (with an open first rank); of a personal core the
    array patients x R_1.

    >>> import couplet
    >>> couplet.load("nowhere.npz")
    Traceback (most recent call last):
    ...
    couplet._engine.InputError: nowhere.npz: no such file; expected an existing file. Check the spelling and the current folder.
    """
    first_mode, cores, labels, text = _engine.load(path_of("path", path), Watch)
    metadata = json.loads(text)
    # A personal core of rank 1 looks like the train of a vector; what the file says of its origin tells them apart.
    if first_mode == 1 and len(cores) == 1 and (cores[0].shape[2] != 1 or _is_personal(metadata)):
        return cores[0][0]
    if first_mode == 2:
        metadata["features"] = True
    return TensorTrain._made(cores, [ModeLabels(*mode) for mode in labels], metadata)


def _is_personal(metadata: dict[str, Any]) -> bool:
    return any(mark in metadata for mark in ("client", "features", "features_print"))


def read_tensor(path: str | os.PathLike[str]) -> tuple[Array, list[ModeLabels]]:
    """The tensor of a .npy, .csv, .csv.gz, .tns or .tns.gz file, and its labels (of csv headers)."""
    array, labels = _engine.read_tensor(path_of("path", path), Watch)
    return array, [ModeLabels(*mode) for mode in labels]


def singular_values(x: Any) -> list[Array]:
    """Singular values of each unfolding, largest first: how well any rank can do, as `couplet ranks`.

    >>> import numpy as np, couplet
    >>> values = couplet.singular_values(np.eye(3).reshape(3, 3, 1))
    >>> [len(v) for v in values]
    [3, 1]
    """
    array = as_tensor(x)
    if array.ndim < 2 or array.size == 0:
        raise InputError(f"x: shape {array.shape}; expected at least two modes, none of them empty")
    return [np.array(_engine.singular_values(array, n, Watch)) for n in range(1, array.ndim)]


_VERSION = _engine.version()
_MOST_MODES = 64 if int(np.__version__.split(".")[0]) >= 2 else 32


def _effective_eps(eps: float | None, max_rank: int | None) -> float:
    if eps is None:
        return 0.01 if max_rank is None else 0.0
    return real("eps", eps)


def _as_sequence(cores: Any) -> Sequence[Any]:
    if isinstance(cores, TensorTrain):
        return cores.cores
    if isinstance(cores, (str, bytes)) or not hasattr(cores, "__len__"):
        raise wrong_type("cores", f"a {type(cores).__name__}", "a list of arrays")
    return list(cores)


def _index(item: Any, size: int, mode: int) -> Any:
    """One mode's index: an int, a slice, or an array of ints within the mode."""
    if isinstance(item, slice):
        return item
    if isinstance(item, (bool, np.bool_)) or item is None:
        raise IndexError(f"index: {item!r} in mode {mode}; expected integers, slices, lists of integers or '...'")
    try:
        number = operator.index(item)
    except TypeError:
        array = np.asarray(item)
        if array.ndim != 1 or array.dtype.kind not in "iub":
            raise IndexError(f"index: {item!r} in mode {mode}; "
                             "expected integers, slices, lists of integers or '...'") from None
        if array.dtype.kind == "b" and len(array) != size:
            raise IndexError(f"index: {len(array)} booleans in mode {mode}; expected {size}, its size") from None
        if array.dtype.kind != "b" and ((array < -size) | (array >= size)).any():
            raise IndexError(f"index: out of range in mode {mode}; expected less than {size}, its size") from None
        return array
    if not -size <= number < size:
        raise IndexError(f"index: {number} in mode {mode}; expected less than {size}, its size")
    return number


def _near_one(x: Array) -> tuple[Array, int]:
    """x divided by a power of two so that its largest entry is near 1, and the exponent."""
    largest = float(np.max(np.abs(x)))
    exponent = math.frexp(largest)[1] if largest > 0 else 0
    return np.ldexp(x, -exponent), exponent


def _scaled(x: Array, exponent: int) -> Array:
    near, own = _near_one(x)
    with np.errstate(over="ignore"):
        result = np.ldexp(near, max(min(own + exponent, 5000), -5000))
    if not np.isfinite(result).all():
        raise InputError("index: entries beyond the largest number; expected what a number can hold. Scale the train first.")
    return result


def _selected(mode: ModeLabels, item: Any, size: int) -> ModeLabels:
    chosen = np.arange(size)[item]

    def pick(texts: list[str]) -> list[str]:
        return [texts[i] for i in chosen] if texts else []

    return ModeLabels(mode.name, pick(mode.entries), pick(mode.units))


def _unpickled(cores: list[Array], labels: list[ModeLabels], metadata: dict[str, Any]) -> TensorTrain:
    return TensorTrain._made([np.ascontiguousarray(core) for core in cores], labels, metadata)
