"""Exceptions and warnings of the package."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ._engine import InputError, RunError

__all__ = ["ConversionWarning", "InputError", "RunError", "naming_impute", "wrong_type"]

_NAN_REMEDY = "Replace or remove missing values first."

InputError.__doc__ = """What the caller gave is wrong; the message says where, what was found and what was expected."""
RunError.__doc__ = """The input was fine but the work failed: a full disk, no convergence."""


class ConversionWarning(UserWarning):
    """An array was copied because the engine reads another type or layout."""


@contextlib.contextmanager
def naming_impute(what: str) -> Iterator[None]:
    """Around calls that could do with missing="impute": the engine, which does not know who asks, says only that NaN must go."""
    try:
        yield
    except InputError as error:
        text = str(error)
        if ": NaN at index" not in text or not text.endswith(_NAN_REMEDY):
            raise
        raise InputError(f"{text[:-len(_NAN_REMEDY)]}{what} Or replace or remove missing values first.") from None


def wrong_type(where: str, found: str, expected: str, remedy: str = "") -> TypeError:
    """A TypeError in the four parts of every message."""
    return TypeError(f"{where}: {found}; expected {expected}" + (f". {remedy}" if remedy else ""))
