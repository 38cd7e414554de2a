"""Times on a machine that has other work: what is sure to happen is waited for, with a limit that no load outlasts; a window that
somebody else waits to its end is as long as the machine is busy. tests/support/busy_times.hpp does the same for C++."""
import os
import pathlib
import time

LIMIT = 900.0  # seconds; nobody waits so long but for what never happens


def eventually(happens, what="", pause=0.05):
    """What `happens` returns, as soon as that is true; `what`, or what it returns, is told when it never is."""
    until = time.monotonic() + LIMIT
    while not (found := happens()):
        assert time.monotonic() < until, what() if callable(what) else what
        time.sleep(pause)
    return found


def busyness() -> float:
    """How many want each core, over the last minute or now: 1 to 10."""
    minute, _, _, running = pathlib.Path("/proc/loadavg").read_text().replace("/", " ").split()[:4]
    return min(10.0, max(1.0, max(float(minute), float(running)) / (os.cpu_count() or 1)))


def at_ease(alone: float) -> float:
    """Seconds for somebody who needs far less than `alone` on a machine of its own: twice that, and more beside other work."""
    return round(alone * (1 + busyness()), 1)
