"""Names of modes and of what stands in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ._errors import InputError, wrong_type


class _Mode(NamedTuple):
    name: str
    entries: list[str]
    units: list[str]


class ModeLabels(_Mode):
    """What one mode is called, what each of its indices is called, and what it is measured in.

    >>> ModeLabels("measure", ["age", "systolic"], ["years", "mmHg"]).entries
    ['age', 'systolic']
    """

    __slots__ = ()

    def __new__(cls, name: str = "", entries: Iterable[Any] | None = (), units: Iterable[Any] | None = ()) -> ModeLabels:
        return super().__new__(cls, _text(name, "name"), _texts(entries, "entries"), _texts(units, "units"))


def as_labels(labels: Any, shape: Sequence[int], name: str = "labels") -> list[ModeLabels]:
    """Labels for the modes of a shape; an item may be ModeLabels, (name, entries[, units]), a list of entries or None.

    >>> as_labels([None, ["a", "b"]], (3, 2))[1]
    ModeLabels(name='', entries=['a', 'b'], units=[])
    """
    if labels is None:
        return []
    if isinstance(labels, (str, bytes, dict, set)) or not isinstance(labels, Sequence):
        raise wrong_type(name, f"a {type(labels).__name__}", "a list with an item for each mode")
    if len(labels) == 0:
        return []
    if len(labels) != len(shape):
        raise InputError(f"{name}: {len(labels)} modes; expected {len(shape)}, as many as the tensor has")
    result = [_one(item, f"{name}[{n}]") for n, item in enumerate(labels)]
    for n, (mode, size) in enumerate(zip(result, shape)):
        for what, texts in (("entries", mode.entries), ("units", mode.units)):
            if texts and len(texts) != size:
                raise InputError(f"{name}[{n}]: {len(texts)} {what}; expected {size}, the size of the mode")
    return result


def columns_of(x: Any) -> list[Any] | None:
    """Labels of the two modes of a data frame from the names of its columns; None for what has no names. Columns that are
    merely numbered, as pandas does where nobody named them, are no names."""
    columns = getattr(x, "columns", None)
    if columns is None or callable(columns):
        return None
    names = [_text(name, "columns") for name in columns]
    return None if names == [str(n) for n in range(len(names))] else [None, names]


def _one(item: Any, where: str) -> ModeLabels:
    if item is None:
        return ModeLabels()
    if isinstance(item, str):
        return ModeLabels(_text(item, where))
    if isinstance(item, tuple) and 2 <= len(item) <= 3 and isinstance(item[0], str) and not isinstance(item[1], str):
        return ModeLabels(_text(item[0], where), _texts(item[1], where), _texts(item[2], where) if len(item) == 3 else ())
    return ModeLabels("", _texts(item, where))


def _texts(items: Iterable[Any] | None, where: str) -> list[str]:
    if items is None:
        return []
    if isinstance(items, (str, bytes, dict, set)) or not hasattr(items, "__iter__"):
        raise wrong_type(where, f"{items!r}", "a list of names")
    return [_text(item, where) for item in items]


def _text(item: Any, where: str) -> str:
    """A name as text that every file can hold; numbers and tuples, such as columns of pandas, as they are printed."""
    if item is None or (isinstance(item, float) and item != item):
        raise wrong_type(where, f"{item!r}", "a name")
    text = str(item)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: {item!r}, which is no text of Unicode; expected a name") from None
    return text
