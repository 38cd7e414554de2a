"""What a long computation says: a bar where somebody looks, and the log."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any

from ._arrays import word

log = logging.getLogger("couplet")
log.addHandler(logging.NullHandler())

_mode = "auto"
_DELAY = 0.5  # seconds before a bar appears: what is over sooner needs none


def set_progress(mode: str) -> None:
    """Where progress bars appear: "auto" (a terminal or a notebook, when tqdm is installed), "on" or "off".

    >>> import couplet
    >>> couplet.set_progress("off")
    >>> couplet.set_progress("auto")
    """
    global _mode
    _mode = word("mode", mode, ("auto", "on", "off"))


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    current = shell.get_ipython() if shell is not None else None
    return current is not None and type(current).__name__ == "ZMQInteractiveShell"


def _bar_class() -> Any:
    """tqdm's bar, or None where there is nothing to draw on or with."""
    if _mode == "off":
        return None
    terminal = sys.stderr is not None and sys.stderr.isatty()
    if _mode == "auto" and not terminal and not _in_notebook():
        return None
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return None
    return tqdm


class Watch:
    """One computation's progress. The engine makes it, calls it while it works, and closes it."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._phase = ""
        self._tqdm = _bar_class()
        self._begin = self._phase_begin = time.monotonic()

    def progress(self, phase: str, done: int, total: int) -> None:
        now = time.monotonic()
        if phase != self._phase:
            self._end_bar()
            self._phase, self._phase_begin = phase, now
        if self._tqdm is not None and now - self._begin > _DELAY and done < total:
            if self._bar is None:
                self._bar = self._tqdm(total=total, desc=phase, leave=False)
            self._bar.total = total
            self._bar.update(done - self._bar.n)
        if done >= total:
            log.debug("%s done in %.3f s", phase, now - self._phase_begin)
            self._end_bar()
            self._phase = ""

    def note(self, text: str) -> None:
        """A line of the engine: warnings start with the word."""
        kind, _, rest = text.partition(": ")
        if kind == "warning":
            log.warning("%s", rest)
        else:
            log.info("%s", rest if kind == "note" else text)

    def close(self) -> None:
        self._end_bar()

    def _end_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None
