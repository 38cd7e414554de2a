"""Exceptions and warnings of the package."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from ._engine import InputError, RunError

__all__ = ["ConversionWarning", "InputError", "RunError", "misnamed", "naming_impute", "refuse_misnamed", "wrong_type"]

_Function = TypeVar("_Function", bound=Callable[..., Any])

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


def refuse_misnamed(what: str, given: Any, meant: dict[str, str]) -> None:
    """TypeError for a parameter as other libraries call it, with the name that it has here."""
    for name in given:
        if name in meant:
            raise TypeError(f"{what}: no parameter {name}; expected {meant[name]}")


def misnamed(**meant: str) -> Callable[[_Function], _Function]:
    """A function whose parameters have other names in other libraries: whoever uses those is told."""
    def decorate(function: _Function) -> _Function:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            refuse_misnamed(function.__name__, kwargs, meant)
            return function(*args, **kwargs)
        return checked  # type: ignore[return-value]
    return decorate


def wrong_type(where: str, found: str, expected: str, remedy: str = "") -> TypeError:
    """A TypeError in the four parts of every message."""
    return TypeError(f"{where}: {found}; expected {expected}" + (f". {remedy}" if remedy else ""))
