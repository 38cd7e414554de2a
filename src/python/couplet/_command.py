"""The verbs of the command line that have no function of their own here."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import path_of, real
from ._errors import InputError, RunError, wrong_type
from ._federation import Fields

_BINARY = Path(__file__).parent / "bin" / "couplet"


def command(verb: str, *arguments: Any, **flags: Any) -> Fields:
    """Runs `couplet VERB ARGUMENTS... --flags` in a process of its own; returns what it prints with --json, field by field.

    For what has no function here: tune, reproduce, info, provision and the daemons. flags are those of the verb, with
    underscores; True switches one on, False and None leave it out, lists are joined by commas. ValueError where the command
    line ends with exit 2, RunError where it fails otherwise, in its words.

    >>> import numpy as np, couplet, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "x.npy")
    >>> np.save(path, np.ones((4, 3)))
    >>> couplet.command("info", path).shape
    [4, 3]
    """
    if not isinstance(verb, str) or not verb.isalpha():
        raise wrong_type("verb", repr(verb), "a verb of the command line, such as 'info'")
    words = [os.fsencode(_BINARY), verb.encode()]
    for name, value in flags.items():
        words += _flag(name, value)
    words += [b"--json", b"--quiet"]
    words += [_argument(argument) for argument in arguments]
    done = subprocess.run(words, capture_output=True)
    said = os.fsdecode(done.stderr).strip().removeprefix(f"couplet {verb}: ").removeprefix("couplet: ")
    if done.returncode != 0:
        kind = InputError if done.returncode == 2 else RunError
        raise kind(said or f"{verb}: ended with exit status {done.returncode}; expected 0")
    try:
        return Fields(json.loads(done.stdout))
    except ValueError:
        raise InputError(f"verb: {verb!r}, which prints no JSON; expected a verb that does") from None


def _argument(value: Any) -> bytes:
    word = path_of("arguments", _shown("arguments", value))
    if word.startswith(b"-"):
        raise InputError(f"arguments: {value!r}, which reads as a flag; expected flags by name, and files as './{value}'")
    return word


def _flag(name: str, value: Any) -> list[bytes]:
    if name in ("json", "quiet", "help", "help_all"):
        raise TypeError(f"{name}: set by this function; expected other flags")
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    if value is True:
        return [flag.encode()]
    parts = value if isinstance(value, (list, tuple)) else [value]
    return [os.fsencode(f"{flag}={','.join(_shown(name, part) for part in parts)}")]


def _shown(name: str, value: Any) -> str:
    """One value as the command line takes it; numbers with every digit."""
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return str(int(value))
    return repr(real(name, value))
