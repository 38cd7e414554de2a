"""A party whose certificate is good and whose HTTP/2 is not: floods of frames that a server has to read, with its memory."""
import contextlib
import pathlib
import sys
import threading
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "chaos"))
from busy_times import at_ease  # noqa: E402
from hostile import (ATTEND, CONTINUATION, HEADERS, PING, RST_STREAM, SETTINGS, Daemons, couplet, frame,  # noqa: E402
                     header_block, http2, push, same_bits)

MOST_MEMORY = 400 << 20  # it was 2.3 GB before connections were charged for what nobody asked for
SECONDS = 6
END_HEADERS = 4


@pytest.fixture
def star(tmp_path):
    daemons = Daemons(tmp_path / "star", deadline="600s")
    yield daemons
    daemons.close()


def endless_headers(number: int) -> bytes:
    """One list of headers that never ends."""
    if number == 0:
        return frame(HEADERS, header_block(ATTEND), 1)
    return frame(CONTINUATION, header_block({f"x-{number}": "y" * 100}) * 100, 1) * 20


ATTACKS = {
    "endless headers": endless_headers,
    "settings": lambda number: frame(SETTINGS) * 1000,
    "pings": lambda number: frame(PING, bytes(8)) * 1000,
}


def strike(star, attack, over):
    """With the kit of c4, which works beside it, over one connection after another."""
    while not over.is_set():
        with contextlib.suppress(OSError), http2(star.kits / "c4", star.port) as connection:
            number = 0
            while not over.is_set() and push(connection, attack(number)):
                number += 1


@contextlib.contextmanager
def under_attack(star, attack):
    """The coordinator, after some seconds of it; its memory was bounded."""
    star.start("coordinator")
    star.await_port()
    over = threading.Event()
    attackers = [threading.Thread(target=strike, args=(star, attack, over), daemon=True) for _ in range(3)]
    for one in attackers:
        one.start()
    try:
        time.sleep(SECONDS)
        assert memory(star.pid("coordinator")) < MOST_MEMORY
        yield
    finally:
        over.set()
        for one in attackers:
            one.join()


def memory(pid: int) -> int:
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return 1024 * int(text.split("VmHWM:")[1].split()[0])


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_a_job_ends_right_under_a_flood_of_frames(star, attack):
    with under_attack(star, attack):
        assert "bytes that say nothing" in star.parties["coordinator"].said()
        star.start(*star.names)
        star.wait()
    star.expect_right()


def rapid_reset(number: int) -> bytes:
    """Streams that are opened and given up in the same breath (CVE-2023-44487)."""
    block = header_block(ATTEND)
    return b"".join(frame(HEADERS, block, 2 * k + 1, END_HEADERS) + frame(RST_STREAM, b"\0\0\0\x08", 2 * k + 1)
                    for k in range(100 * number, 100 * number + 100))


def test_a_flood_of_streams_bars_its_certificate_and_the_others_finish(tmp_path):
    star = Daemons(tmp_path / "star", flags=("--rank", "3", "--min-clients", "3"), deadline=f"{at_ease(12)}s")
    others = ["c1", "c2", "c3"]
    with contextlib.closing(star), under_attack(star, rapid_reset):
        star.start(*others)
        star.wait("coordinator", *others)
        said = star.parties["coordinator"].said()
    assert "c4 " in said and "more calls than anybody needs" in said and "It may connect again in" in said
    simulated = tmp_path / "simulated"
    couplet("simulate", *star.data[:3], "--threads", 1, "-o", simulated, "--rank", 3)
    for name in ["coordinator", *others]:
        assert star.parties[name].process.returncode == 0, star.parties[name].said()
        assert same_bits(star.parties[name].output / "features.npz", simulated / "features.npz"), name
