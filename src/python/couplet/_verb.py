"""What the package leaves to its own command line: verbs that read and write files anyway."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from ._errors import InputError, RunError

__all__ = ["flags", "run_verb"]

_BINARY = Path(__file__).parent / "bin" / "couplet"


def flags(**options: Any) -> list[str]:
    """Arguments of the command line: None and False are left out, True is a flag, a list gives all its words."""
    words: list[str] = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + name.replace("_", "-"))
        if value is True:
            continue
        words += [str(one) for one in value] if isinstance(value, (list, tuple)) else [str(value)]
    return words


def run_verb(*words: Any) -> dict[str, Any]:
    """Runs `couplet WORDS --json`. Raises InputError or RunError with its message."""
    done = subprocess.run([str(_BINARY), *map(str, words), "--json", "--quiet"], text=True, capture_output=True)
    if done.returncode == 0:
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer
    message = done.stderr.strip()
    prefix = f"couplet {words[0]}: "
    message = message[len(prefix):] if message.startswith(prefix) else message
    raise (InputError if done.returncode == 2 else RunError)(message)
