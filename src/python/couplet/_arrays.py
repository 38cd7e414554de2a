"""What callers hand in, as arrays the engine reads where they lie."""

from __future__ import annotations

import numbers
import os
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._errors import ConversionWarning, InputError, wrong_type

Array = NDArray[Any]

_DOUBLE = np.dtype(np.float64)
_SINGLE = np.dtype(np.float32)


def as_tensor(x: Any, name: str = "x", *, quiet: bool = False) -> Array:
    """`x` as a C-ordered array of float32 or float64: the very same memory where it is one already.

    Other real numbers, other byte orders and other layouts are copied with a ConversionWarning unless `quiet`. What is
    no array of real numbers is refused with TypeError.
    """
    if type(x) is np.ndarray and (x.dtype is _DOUBLE or x.dtype is _SINGLE) and _lies_right(x):
        return x
    array = _to_array(x, name)
    kind = array.dtype.kind
    if kind not in "fiub":
        raise wrong_type(name, f"an array of dtype {array.dtype}", "real numbers: float64, float32, integers or bool",
                         _remedy_for(array.dtype))
    target = _SINGLE if array.dtype.newbyteorder("=") == _SINGLE else _DOUBLE
    if array.dtype == target and array.dtype.isnative and _lies_right(array):
        return np.asarray(array)
    if not quiet and isinstance(x, np.ndarray):
        warnings.warn(f"{name}: {_found(array)} is copied as C-ordered {target.name}", ConversionWarning, stacklevel=3)
    return np.require(array, dtype=target, requirements=["C", "A"])


def as_client(x: Any, name: str) -> Array:
    """A client's tensor: float64, C order, at least two modes. Copied without a word where it is something else: the
    federation computes in double precision, as the command line does."""
    array = np.require(as_tensor(x, name, quiet=True), dtype=_DOUBLE, requirements=["C", "A"])
    if array.ndim < 2:
        raise InputError(f"{name}: a tensor of order {array.ndim}; expected at least two modes: patients and a feature")
    return array


def _lies_right(array: Array) -> bool:
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def refuse_categories(x: Any, name: str) -> None:
    """InputError that names the column of a data frame that holds texts or categories."""
    if not hasattr(x, "columns") or not hasattr(x, "dtypes"):
        return
    for column, dtype in zip(x.columns, x.dtypes):
        if getattr(dtype, "kind", "O") in "biufc" and not hasattr(dtype, "categories"):
            continue
        try:
            np.asarray(x[column], dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{name}: column {column!r} of {dtype}; expected numbers. Give texts and categories columns of "
                             "numbers: couplet.table() does, and pandas.get_dummies().") from None


def _to_array(x: Any, name: str) -> Array:
    refuse_categories(x, name)
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise wrong_type(name, "an array with masked entries", "every entry known",
                         "Fill them with NaN and use simulate(..., missing='impute').")
    if hasattr(x, "tocsr") or hasattr(x, "todense"):
        raise wrong_type(name, f"a sparse {type(x).__name__}", "a dense array", "Use .toarray().")
    if isinstance(x, (str, bytes, os.PathLike)):
        raise wrong_type(name, f"a {type(x).__name__}", "an array", "couplet.read_tensor(path) reads a file.")
    try:
        with warnings.catch_warnings():
            # Older NumPy makes an array of objects out of ragged lists, with a warning.
            warnings.simplefilter("error", getattr(getattr(np, "exceptions", np), "VisibleDeprecationWarning", UserWarning))
            return np.asarray(x)
    except (ValueError, Warning) as error:
        raise InputError(f"{name}: lists that make no array ({error}); expected rows of equal length") from error


def _found(array: Array) -> str:
    if not array.dtype.isnative:
        return f"{array.dtype.name} in another byte order"
    if array.dtype in (_DOUBLE, _SINGLE):
        return "an array that is not C-contiguous" if not array.flags.c_contiguous else "an unaligned array"
    return f"dtype {array.dtype.name}"


def _remedy_for(dtype: np.dtype[Any]) -> str:
    if dtype.kind == "c":
        return "Pass real and imaginary parts as a mode of their own."
    if dtype.kind == "O":
        return "Convert numbers with x.astype(float); give texts and categories columns of numbers, as couplet.table() does."
    return ""


def count(name: str, value: Any, least: int = 1, most: int = 2**63 - 1) -> int:
    """A whole number in a range, NumPy's integers included; bool and float are refused."""
    if isinstance(value, (bool, np.bool_)) or not hasattr(value, "__index__"):
        raise wrong_type(name, f"{value!r}", f"a whole number of at least {least}")
    number = int(value.__index__())
    if not least <= number <= most:
        limit = f" of at least {least}" if most == 2**63 - 1 else f" from {least} to {most}"
        raise InputError(f"{name}: {number}; expected a whole number{limit}")
    return number


def seed_of(value: Any) -> int:
    return count("seed", value, 0, 2**64 - 1)


def real(name: str, value: Any) -> float:
    """A number; the engine knows its range."""
    if not is_real(value):
        raise wrong_type(name, f"{value!r}", "a number")
    try:
        return float(value)
    except OverflowError:
        raise InputError(f"{name}: {value!r}; expected a number that a double can hold") from None


def is_real(value: Any) -> bool:
    """Whether it is one real number: of Python, of NumPy, or an array without modes. True and False are none."""
    if isinstance(value, (bool, np.bool_)):
        return False
    if isinstance(value, numbers.Real):
        return True
    return isinstance(value, (np.ndarray, np.generic)) and value.ndim == 0 and value.dtype.kind in "fiu"


def word(name: str, value: Any, words: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str):
        raise wrong_type(name, f"{value!r}", "one of " + ", ".join(words))
    if value not in words:
        raise InputError(f"{name}: {value!r}; expected one of {', '.join(words)}")
    return value


def path_of(name: str, value: Any) -> bytes:
    """A path as the engine takes it: the bytes of the file's name, which need not be UTF-8."""
    try:
        path = os.fsencode(value)
    except TypeError:
        raise wrong_type(name, f"a {type(value).__name__}", "a path") from None
    except UnicodeEncodeError:
        raise InputError(f"{name}: {value!r}, which is no name of a file; expected a path") from None
    if b"\0" in path or not path:
        raise InputError(f"{name}: {value!r}; expected a path" + (" without NUL" if path else ""))
    return path
