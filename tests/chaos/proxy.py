"""A TCP proxy that does to connections what bad networks do: seeded, and told what to do while it runs.

One Proxy serves many routes, each from its own port to one target, in a thread of its own. A route passes bytes on until
it is told otherwise:

    drop        ends the connections that stand
    delay       holds everything back for so long
    duplicate   sends one piece twice
    truncate    sends half of one piece and ends the connection
    corrupt     flips a bit of one piece
    cut, heal   a partition: connections stand but carry nothing, new ones are accepted and carry nothing

TLS turns duplicated and corrupted bytes into broken connections; that is the point.
"""
import asyncio
import contextlib
import os
import random
import socket
import threading

PIECE = 1 << 16


class Ports:
    """Ports below those that the kernel hands out itself, so that no outgoing connection takes one before its owner listens, which
    may be much later. Other tests, and other checkouts' tests, run at the same time: a process claims ports by the hundred.
    tests/support/ports.hpp does the same for C++."""

    HUNDREDS = range(100, 320)

    def __init__(self):
        self.lock, self.claims, self.waiting, self.given = threading.Lock(), [], [], []

    def next(self) -> int:
        """A port that nobody listens on now, as well as the next; the same one again only when there are no others."""
        with self.lock:
            for _ in range(100 * len(self.HUNDREDS)):
                if not self.waiting:
                    self.waiting = self.claim()
                if not self.waiting:  # all are taken: its own once more
                    self.waiting, self.given = self.given, []
                if not self.waiting:
                    break
                port = self.waiting.pop(0)
                self.given.append(port)
                if can_bind(port) and can_bind(port + 1):
                    return port
        raise RuntimeError("no free port")

    def claim(self) -> list:
        """A hundred, by a name that the kernel gives to one process at a time, and takes back however that ends."""
        for k in range(len(self.HUNDREDS)):
            hundred = self.HUNDREDS[(os.getpid() + k) % len(self.HUNDREDS)]  # not where the process before began
            held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            try:
                held.bind(f"\0couplet-test-ports-{hundred}")
            except OSError:
                held.close()
                continue
            self.claims.append(held)
            return list(range(100 * hundred, 100 * hundred + 100, 2))
        return []


def can_bind(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


free_port = Ports().next


class Route:
    """From `source` to `target`, names that faults are told by; every connection is a pair of pumps."""

    def __init__(self, source: str, target: str, port: int, seed: int):
        self.source, self.target, self.port = source, target, port
        self.listen = free_port()
        self.random = random.Random(seed)
        self.delay = 0.0
        self.open = asyncio.Event()
        self.once = None  # duplicate, truncate or corrupt the next piece
        self.writers = set()

    async def serve(self, reader, writer):
        """Ends like any other when it is cancelled: Python 3.11 would write a traceback for each that does not."""
        with contextlib.suppress(asyncio.CancelledError):
            await self.connect(reader, writer)

    async def connect(self, reader, writer):
        try:
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.close()
            return
        pair = {writer, back_writer}
        self.writers |= pair
        await asyncio.gather(self.pump(reader, back_writer, pair), self.pump(back_reader, writer, pair))
        self.writers -= pair

    async def pump(self, reader, writer, pair):
        try:
            while piece := await reader.read(PIECE):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await self.open.wait()
                if not await self.send(writer, piece):
                    break
        except (OSError, asyncio.IncompleteReadError):
            pass
        for end in pair:
            end.close()

    async def send(self, writer, piece: bytes) -> bool:
        fault, self.once = self.once, None
        if fault == "truncate":
            writer.write(piece[: len(piece) // 2])
            await writer.drain()
            return False
        if fault == "corrupt":
            at = self.random.randrange(len(piece))
            piece = piece[:at] + bytes([piece[at] ^ (1 << self.random.randrange(8))]) + piece[at + 1:]
        writer.write(piece + piece if fault == "duplicate" else piece)
        await writer.drain()
        return True

    def drop(self):
        for writer in self.writers:
            writer.transport.abort()


class Proxy:
    def __init__(self, seed: int):
        self.seed = seed
        self.routes = []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def _call(self, function):
        """Runs `function` in the proxy's thread."""
        async def run():
            return function()
        return asyncio.run_coroutine_threadsafe(run(), self.loop).result()

    def add(self, source: str, target: str, port: int) -> int:
        """The port that `source` must use to reach `target` at `port`."""
        async def start():
            route = Route(source, target, port, self.seed * 1000 + len(self.routes))
            route.open.set()
            for _ in range(20):
                try:
                    route.server = await asyncio.start_server(route.serve, "127.0.0.1", route.listen)
                    break
                except OSError:
                    route.listen = free_port()
            self.routes.append(route)
            return route.listen
        return asyncio.run_coroutine_threadsafe(start(), self.loop).result()

    def between(self, one: set, other: set) -> list:
        return [r for r in self.routes if (r.source in one and r.target in other) or (r.source in other and r.target in one)]

    def drop(self, routes):
        self._call(lambda: [route.drop() for route in routes])

    def delay(self, routes, seconds: float):
        self._call(lambda: [setattr(route, "delay", seconds) for route in routes])

    def once(self, routes, fault: str):
        self._call(lambda: [setattr(route, "once", fault) for route in routes])

    def cut(self, routes):
        self._call(lambda: [route.open.clear() for route in routes])

    def heal(self, routes):
        self._call(lambda: [route.open.set() for route in routes])

    def close(self):
        async def stop():
            for route in self.routes:
                route.server.close()
                route.open.set()
                route.drop()
            tasks = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        asyncio.run_coroutine_threadsafe(stop(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()
