"""Exceptions and warnings of the package."""

from __future__ import annotations

from ._engine import InputError, RunError

__all__ = ["ConversionWarning", "InputError", "RunError", "wrong_type"]

InputError.__doc__ = """What the caller gave is wrong; the message says where, what was found and what was expected."""
RunError.__doc__ = """The input was fine but the work failed: a full disk, no convergence."""


class ConversionWarning(UserWarning):
    """An array was copied because the engine reads another type or layout."""


def wrong_type(where: str, found: str, expected: str, remedy: str = "") -> TypeError:
    """A TypeError in the four parts of every message."""
    return TypeError(f"{where}: {found}; expected {expected}" + (f". {remedy}" if remedy else ""))
