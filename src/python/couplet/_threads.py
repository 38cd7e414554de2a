"""How many threads the engine uses."""

from __future__ import annotations

import os

from . import _engine
from ._arrays import count


def threads() -> int:
    """Threads the engine uses; at first every core that the process may run on, or COUPLET_NUM_THREADS, or
    OMP_NUM_THREADS where that is less (joblib sets it in its workers). The result never depends on it."""
    return _engine.threads()


def set_threads(number: int) -> None:
    """Sets threads(), from 1 to 1024.

    >>> import couplet
    >>> before = couplet.threads()
    >>> couplet.set_threads(1)
    >>> couplet.threads()
    1
    >>> couplet.set_threads(before)
    """
    _engine.set_threads(count("number", number, 1, 1024))


def _from_environment() -> None:
    own = os.environ.get("COUPLET_NUM_THREADS", "")
    if own.isdigit() and 1 <= int(own) <= 1024:
        _engine.set_threads(int(own))
        return
    common = os.environ.get("OMP_NUM_THREADS", "").split(",")[0]
    if common.isdigit() and 1 <= int(common) < _engine.threads():
        _engine.set_threads(int(common))


_from_environment()
