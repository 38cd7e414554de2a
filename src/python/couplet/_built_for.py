"""Says for which Pythons the engine was built, where this is another one: the loader would name a missing symbol."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable

_STABLE = (3, 12)  # the oldest version of the stable ABI that the engine is built for


def complaint(files: Iterable[str], version: tuple[int, int]) -> str:
    """What is wrong with a package of these engine files under that version of CPython; empty where nothing is."""
    files = list(files)
    own = {(int(major), int(minor)) for name in files for major, minor in re.findall(r"^_engine\.cpython-(\d)(\d+)-.*\.so$", name)}
    stable = "_engine.abi3.so" in files
    if version in own or (stable and version >= _STABLE) or not (own or stable):
        return ""
    built = [f"{major}.{minor}" for major, minor in sorted(own)] + [f"{_STABLE[0]}.{_STABLE[1]} and newer"] * stable
    return (f"couplet: this is CPython {version[0]}.{version[1]}; expected {', '.join(built)}, for which this package was built. "
            "Use such a Python, or a wheel that `make wheel` made where this one is installed (make-wheel --newest leaves older ones out).")


def require_engine() -> None:
    """Throws ImportError where the engine beside this file is of other Pythons."""
    if sys.implementation.name != "cpython":
        return
    wrong = complaint(os.listdir(os.path.dirname(os.path.abspath(__file__))), sys.version_info[:2])
    if wrong:
        raise ImportError(wrong)
