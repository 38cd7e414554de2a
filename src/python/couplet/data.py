"""Tensors of a federation's clients: made up, or from public files. As `couplet data`, without writing files."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from . import _engine
from ._arrays import Array, count, path_of, real, seed_of, word
from ._errors import InputError, wrong_type
from ._labels import ModeLabels
from ._watch import Watch

__all__ = ["Clients", "diabetes", "ecg", "ehr", "synthetic"]


class Clients(NamedTuple):
    """Clients of a federation.

    tensors: one array per client, patients first. classes: of each client's patients, or None where there are none.
    labels: of the modes. source: the file they were made from; available: people or beats in it.
    """

    tensors: list[Array]
    classes: list[Array | None]
    labels: list[ModeLabels]
    source: str = ""
    available: int = 0


def synthetic(spec: str, *, clients: int = 4, seed: int = 0, missing: float = 0.0, missing_as: str = "nan") -> Clients:
    """Random tensors of known rank: `spec` is a shape, and how it is made after a colon.

    "200x30x30:rank=20,density=0.4,personal=uniform,noise=0,patients=total" shows the defaults.

    >>> import couplet
    >>> [x.shape for x in couplet.data.synthetic("10x4x3:rank=2", clients=3).tensors]
    [(4, 4, 3), (3, 4, 3), (3, 4, 3)]
    """
    if not isinstance(spec, str):
        raise wrong_type("spec", repr(spec), "a text such as '200x30x30:rank=20'")
    return _clients(_engine.synthetic(spec, _dealing(clients, seed, False, missing, missing_as), Watch))


def ecg(data: str | os.PathLike[str] | None = None, *, clients: int = 4, count: int | None = 1000, points: int = 110,
        embedding: str = "outer", classes: str = "two", seed: int = 0, shuffle: bool = False, missing: float = 0.0,
        missing_as: str = "nan") -> Clients:
    """Heart beats x points x 140 from ecg.csv; `data` is the file or a folder that holds it (default: the folder in the
    environment variable COUPLET_DATA). count: beats picked at random, None for all."""
    return _clients(_engine.ecg(_place(data), _people(count), _whole("points", points),
                                word("embedding", embedding, ("outer", "lag")), word("classes", classes, ("two", "five")),
                                _dealing(clients, seed, shuffle, missing, missing_as), Watch))


def diabetes(data: str | os.PathLike[str] | None = None, *, clients: int = 4, count: int | None = 1000, seed: int = 0,
             shuffle: bool = False, missing: float = 0.0, missing_as: str = "nan") -> Clients:
    """People x 20 physiological x 24 habitual indicators from the BRFSS 2015 survey; arguments as in ecg()."""
    return _clients(_engine.diabetes(_place(data), _people(count),
                                     _dealing(clients, seed, shuffle, missing, missing_as), Watch))


def ehr(data: str | os.PathLike[str] | None = None, *, source: str = "cms", clients: int = 4, top: str = "40x40",
        duplicates: str = "clip", frequent_by: str = "records", seed: int = 0, shuffle: bool = False,
        missing: float = 0.0, missing_as: str = "nan") -> Clients:
    """Patients x diagnoses x medications, of CMS SynPUF or of Synthea's csv export (source="synthea"). top: how many of
    the most frequent of each to keep."""
    first, second = _top(top)
    how = _dealing(clients, seed, shuffle, missing, missing_as)
    if word("source", source, ("cms", "synthea")) == "synthea":
        if duplicates != "clip" or frequent_by != "records":
            raise InputError("duplicates, frequent_by: given with source='synthea'; expected source='cms'. Leave them out.")
        return _clients(_engine.synthea(_place(data), first, second, how, Watch))
    return _clients(_engine.cms(_place(data), first, second, word("duplicates", duplicates, ("clip", "sum")),
                                word("frequent_by", frequent_by, ("records", "patients")), how, Watch))


def _clients(made: tuple[Any, ...]) -> Clients:
    tensors, classes, labels, source, available = made
    return Clients(tensors, classes, [ModeLabels(*mode) for mode in labels], source, available)


_whole = count  # two builders have an argument of that name


def _people(number: Any) -> int | None:
    return None if number is None or number == "all" else _whole("count", number)


def _place(data: Any) -> bytes | None:
    return None if data is None else path_of("data", data)


def _dealing(clients: Any, seed: Any, shuffle: Any, missing: Any, missing_as: Any) -> dict[str, Any]:
    fraction = real("missing", missing)
    if not 0 <= fraction < 1:
        raise InputError(f"missing: {fraction}; expected a number from 0 up to, but not including, 1")
    return {"clients": _whole("clients", clients, 1, 1_000_000), "seed": seed_of(seed), "shuffle": bool(shuffle),
            "missing": fraction, "missing_as": word("missing_as", missing_as, ("nan", "zero"))}


def _top(text: Any) -> tuple[int, int]:
    if isinstance(text, tuple) and len(text) == 2:
        return _whole("top", text[0]), _whole("top", text[1])
    parts = text.split("x") if isinstance(text, str) else []
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise InputError(f"top: {text!r}; expected two numbers joined by x. Write for example '40x40'.")
    return _whole("top", int(parts[0])), _whole("top", int(parts[1]))
