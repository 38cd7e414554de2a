"""Names, order and units of the feature modes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import _engine
from ._arrays import count, path_of
from ._errors import InputError, wrong_type
from ._labels import ModeLabels, as_labels
from ._tensor_train import TensorTrain


class Difference(NamedTuple):
    """One difference between two schemas, in words. kind: "order" (the same labels in another order), "unnamed" (one side
    says nothing) or "different"."""

    kind: str
    found: str
    expected: str


class Schema:
    """What the feature modes of a tensor are: sizes and, where known, names, labels in order, and units.

    >>> import couplet
    >>> mine = couplet.Schema((3,), [("measure", ["age", "systolic", "hba1c"], ["years", "mmHg", "%"])])
    >>> theirs = couplet.Schema((3,), [("measure", ["systolic", "age", "hba1c"], ["mmHg", "years", "%"])])
    >>> [difference.kind for difference in mine.compare(theirs)], mine.verdict(theirs)
    (['order'], 'order')
    """

    __slots__ = ("modes", "shape")

    def __init__(self, shape: Sequence[int], modes: Any = None) -> None:
        """shape: sizes of the feature modes, without the patients'. modes: ModeLabels for each."""
        if isinstance(shape, (str, bytes)) or not isinstance(shape, Sequence):
            raise wrong_type("shape", repr(shape), "the sizes of the feature modes")
        self.shape = tuple(count("shape", size) for size in shape)
        self.modes: list[ModeLabels] = as_labels(modes, self.shape, "modes")

    @property
    def named(self) -> bool:
        """Whether anything but the sizes is known."""
        return any(mode.name or mode.entries or mode.units for mode in self.modes)

    def compare(self, other: Schema) -> list[Difference]:
        """What differs in `other`, mode by mode; empty: nothing."""
        if not isinstance(other, Schema):
            raise wrong_type("other", f"a {type(other).__name__}", "a Schema")
        found = _engine.compare_schemas(self.shape, self._tuples(), other.shape, other._tuples())
        return [Difference("order" if reorders else "unnamed" if unnamed else "different", what, expected)
                for what, expected, unnamed, reorders in found]

    def verdict(self, other: Schema) -> str:
        """What a federation makes of `other`: "same", "order" (put right by itself), "unnamed" (refused unless
        unnamed="allow") or "different" (refused)."""
        kinds = {difference.kind for difference in self.compare(other)}
        return next((kind for kind in ("different", "unnamed", "order") if kind in kinds), "same")

    def save(self, path: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes the schema as `couplet schema -o` does."""
        _engine.save_schema(path_of("path", path), self.shape, self._tuples(), bool(force))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and self.shape == other.shape and self.modes == other.modes

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = [mode.name or (", ".join(mode.entries[:3]) + ("..." if len(mode.entries) > 3 else "")) for mode in self.modes]
        return f"Schema({'x'.join(map(str, self.shape))}{': ' + ' | '.join(names) if self.named else ', no names'})"

    def _tuples(self) -> list[tuple[Any, ...]]:
        return [tuple(mode) for mode in self.modes]


def schema(source: Any) -> Schema:
    """The schema of a file (a tensor with labels, features, a saved merge, manifest.json, schema.json), of a TensorTrain of
    features, or of anything that has some (a SimulationResult, a fitted CoupledTensorTrain), as `couplet schema`.

    >>> import numpy as np, couplet
    >>> result = couplet.simulate([np.eye(4)], rank=2, labels=[None, ["a", "b", "c", "d"]])
    >>> couplet.schema(result).modes[0].entries
    ['a', 'b', 'c', 'd']
    """
    if isinstance(source, Schema):
        return source
    if isinstance(source, (str, os.PathLike)):
        sizes, modes = _engine.read_schema(path_of("source", source))
        return Schema(sizes, [ModeLabels(*mode) for mode in modes])
    train = source if isinstance(source, TensorTrain) else getattr(source, "features", getattr(source, "feature_cores_", None))
    if not isinstance(train, TensorTrain):
        raise wrong_type("source", f"a {type(source).__name__}", "a path, features, or a result that has some")
    if not train.metadata.get("features"):
        raise InputError("source: a train of a whole tensor; expected features, whose first rank is open")
    return Schema(train.shape, train.labels)
