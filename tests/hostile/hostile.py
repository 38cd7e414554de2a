"""Somebody who does not play by the rules: floods of connections, and calls with a kit's certificate by a program that
shares no code with couplet's own (Python's grpcio; frames and digests are written here from the protocol's description)."""
import contextlib
import ctypes
import ctypes.util
import functools
import hashlib
import json
import os
import pathlib
import queue
import re
import resource
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

# Daemons are started beside calls that are open; gRPC would wait for those to end before a fork.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"
import grpc  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "chaos"))
from federation import BUILD, COUPLET, Party, couplet, make_data, same_bits  # noqa: E402
from busy_times import LIMIT, eventually  # noqa: E402
from proxy import free_port  # noqa: E402

GENERATED = BUILD / "test-protocol"


@functools.cache
def protocol():
    """The messages as Python classes, made by protoc."""
    newest = max(p.stat().st_mtime for p in (ROOT / "src" / "wire" / "proto").glob("*.proto"))
    made = GENERATED / "federation_pb2.py"
    if made.exists() and made.stat().st_mtime < newest:
        shutil.rmtree(GENERATED)
    if not (GENERATED / "federation_pb2.py").exists():
        GENERATED.mkdir(parents=True, exist_ok=True)
        folder = ROOT / "src" / "wire" / "proto"
        subprocess.run(["protoc", f"--proto_path={folder}", f"--python_out={GENERATED}",
                        *(str(p) for p in folder.glob("*.proto"))], check=True)
    sys.path.insert(0, str(GENERATED))
    import federation_pb2
    import health_pb2
    import peer_bodies_pb2
    return federation_pb2, peer_bodies_pb2, health_pb2


def raise_own_limit(wanted: int):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


HANG_UP = object()


@contextlib.contextmanager
def flood(port: int, count: int = 1100, say=b""):
    """So many connections that are held; those that are ended are opened again by nobody. Each says something first, or
    that it has nothing to say."""
    raise_own_limit(count + 200)
    held = []
    try:
        for _ in range(count):
            one = socket.socket()
            one.setblocking(False)
            with contextlib.suppress(OSError):
                one.connect(("127.0.0.1", port))
            held.append(one)
        if say:
            time.sleep(0.2)
            for one in held:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_WR) if say is HANG_UP else one.send(say)
        yield held
    finally:
        for one in held:
            one.close()


@contextlib.contextmanager
def stream_of_strangers(port: int, hosts, per_second: float, say: bytes):
    """Connections that keep coming, so many a second, in turn from each of those addresses: each says something and
    waits to be ended. Yields the list of those that were opened."""
    raise_own_limit(8192)
    over, opened = threading.Event(), []

    def call(host):
        one = socket.socket()
        opened.append(one)
        with contextlib.suppress(OSError):
            one.bind((host, 0))
            one.settimeout(1)
            one.connect(("127.0.0.1", port))
            one.send(say)

    def come():
        begun = time.monotonic()
        while not over.wait(0.005):
            while len(opened) < per_second * (time.monotonic() - begun) and not over.is_set():
                call(hosts[len(opened) % len(hosts)])

    caller = threading.Thread(target=come)
    caller.start()
    try:
        yield opened
    finally:
        over.set()
        caller.join()
        for one in opened:
            one.close()


def http(port: int, path: str, timeout: float = 120.0):
    """Status and text."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=timeout) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def answered(port: int, path: str):
    """As http(), by a caller who calls again when hung up on, as monitors do: of many callers the daemon lets go of the oldest, and on a
    busy machine one may be that before it has said what it wants."""
    def ask():
        with contextlib.suppress(OSError):
            return http(port, path)
        return None
    return eventually(ask, "nobody answers", 0.02)


def cpu_seconds(pid: int) -> float:
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def channel(kit: pathlib.Path, address: str, **options) -> grpc.Channel:
    """A connection with that kit's certificate."""
    credentials = grpc.ssl_channel_credentials((kit / "ca.pem").read_bytes(), (kit / "key.pem").read_bytes(),
                                               (kit / "cert.pem").read_bytes())
    settings = [("grpc.ssl_target_name_override", "coordinator.couplet"), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.secure_channel(address, credentials, settings + list(options.items()))


# ---- HTTP/2 by hand (RFC 9113), for what no library would send

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
ATTEND = {":method": "POST", ":scheme": "https", ":path": "/couplet.v1.Federation/Attend", ":authority": "coordinator.couplet",
          "te": "trailers", "content-type": "application/grpc"}


def frame(kind: int, payload: bytes = b"", stream: int = 0, flags: int = 0) -> bytes:
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def header_block(fields: dict) -> bytes:
    """Literals that enter no table (RFC 7541, 6.2.2), none longer than 126 bytes."""
    return b"".join(b"\0" + bytes([len(key)]) + key.encode() + bytes([len(value)]) + value.encode()
                    for key, value in fields.items())


@contextlib.contextmanager
def http2(kit: pathlib.Path, port: int, settings: bytes = b""):
    """A connection with that kit's certificate, after the preface; what comes back is thrown away."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.load_verify_locations(kit / "ca.pem")
    context.load_cert_chain(kit / "cert.pem", kit / "key.pem")
    context.set_alpn_protocols(["h2"])
    with socket.create_connection(("127.0.0.1", port), LIMIT) as plain, context.wrap_socket(plain) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(SETTINGS, settings))
        connection.settimeout(0.01)
        yield connection


NO_WINDOW = struct.pack(">HI", 4, 0)  # SETTINGS_INITIAL_WINDOW_SIZE: nothing of a message can be sent back


def grpc_message(message) -> bytes:
    text = message.SerializeToString()
    return b"\0" + struct.pack(">I", len(text)) + text


def call(number: int, path: str, message=None) -> bytes:
    """One call, in a stream that ends with the message where there is one."""
    headers = frame(HEADERS, header_block({**ATTEND, ":path": path}), number, 4)
    return headers + (frame(DATA, grpc_message(message), number, 1) if message is not None else b"")


def push(connection, frames: bytes) -> bool:
    """False when the other end has had enough."""
    try:
        connection.settimeout(10)
        connection.sendall(frames)
        connection.settimeout(0.001)
        with contextlib.suppress(TimeoutError, ssl.SSLWantReadError):
            while True:
                if not connection.recv(1 << 16):
                    return False
    except OSError:
        return False
    return True


# ---- the protocol, from its description: src/wire/proto and couplet/wire/digest.hpp

CRYPTO = ctypes.CDLL(ctypes.util.find_library("crypto"))
for function in ("EVP_CIPHER_CTX_new", "EVP_aes_128_gcm"):
    getattr(CRYPTO, function).restype = ctypes.c_void_p
DIGEST_KEY = b"couplet message\x01"
PROTOCOL = 2


def gmac(key: bytes, nonce: bytes, text: bytes) -> bytes:
    context = ctypes.c_void_p(CRYPTO.EVP_CIPHER_CTX_new())
    cipher, done, tag = ctypes.c_void_p(CRYPTO.EVP_aes_128_gcm()), ctypes.c_int(), ctypes.create_string_buffer(16)
    assert CRYPTO.EVP_EncryptInit_ex(context, cipher, None, key, nonce) == 1
    assert CRYPTO.EVP_EncryptUpdate(context, None, ctypes.byref(done), text, len(text)) == 1
    assert CRYPTO.EVP_EncryptFinal_ex(context, tag, ctypes.byref(done)) == 1
    assert CRYPTO.EVP_CIPHER_CTX_ctrl(context, 0x10, 16, tag) == 1
    CRYPTO.EVP_CIPHER_CTX_free(context)
    return tag.raw


def digest(parts) -> bytes:
    total = hashlib.sha256()
    for number, part in enumerate(parts):
        total.update(struct.pack("<Q", len(part)))
        total.update(gmac(DIGEST_KEY, struct.pack("<QI", number, 0), part))
    return total.digest()


def make_head(body: str, fields=(), job=bytes(16), attempt=0, step=0, payload=0):
    """A head with an empty body of that kind, to be filled in."""
    federation, _, _ = protocol()
    head = federation.Head(protocol=PROTOCOL, job=job, attempt=attempt, step=step, chunk_bytes=1 << 20,
                           payload_bytes=payload)
    getattr(head, body).SetInParent()
    for name, value in dict(fields).items():
        target = getattr(getattr(head, body), name)
        if hasattr(target, "extend"):
            target.extend(value)
        else:
            setattr(getattr(head, body), name, value)
    return head


class Stream:
    """Frames both ways over a call of its own, by whatever rules its owner likes."""

    def __init__(self, connection: grpc.Channel, method: str = "/couplet.v1.Federation/Attend"):
        federation, _, _ = protocol()
        self.frames = queue.Queue()
        call = connection.stream_stream(method, request_serializer=federation.Frame.SerializeToString,
                                        response_deserializer=federation.Frame.FromString)
        self.call = call(iter(self.frames.get, None))

    def frame(self, **part):
        federation, _, _ = protocol()
        self.frames.put(federation.Frame(**part))

    def send(self, head, payload: bytes = b""):
        text = head.SerializeToString()
        self.frame(head=text)
        if payload:
            self.frame(chunk=payload)
        self.frame(tail=digest([text, payload] if payload else [text]))

    def receive(self):
        """The next head; its numbers are passed over."""
        federation, _, _ = protocol()
        head = None
        for frame in self.call:
            if frame.WhichOneof("part") == "head":
                head = federation.Head.FromString(frame.head)
            elif frame.WhichOneof("part") == "tail":
                return head
        return None

    def close(self):
        self.frames.put(None)
        self.call.cancel()


def join(stream: Stream, name: str, version: str):
    """The coordinator's answer to a join: its head."""
    stream.send(make_head("join", {"name": name.encode(), "version": version.encode()}))
    return stream.receive()


def greet(stream: Stream, name: str, version: str, modes, rows: int, norm2: float):
    """As far as the question for an upload: its head."""
    welcome = join(stream, name, version)
    assert welcome.WhichOneof("body") == "welcome", welcome
    stream.send(make_head("hello", {"modes": modes, "rows": rows, "norm2": norm2}, job=welcome.job))
    return stream.receive()


# ---- attacks that a storm can use


def pose_as_another(kits: pathlib.Path, names: list, address: str):
    """A client that joins under another's name, and then under its own with parts of messages that are none."""
    with contextlib.suppress(grpc.RpcError), channel(kits / names[0], address) as connection:
        stream = Stream(connection)
        with contextlib.suppress(grpc.RpcError):
            join(stream, names[1], "0.0.0")
        stream = Stream(connection)
        stream.frame(chunk=b"x" * 64)
        stream.frame(head=b"\xff" * 100)
        time.sleep(0.2)
        stream.close()


def forged_record(members: list, peer: int, job: bytes, modes, links: int, signed_by=None):
    """What `peer` never said: that the others go on without the second of them."""
    _, bodies, _ = protocol()
    without = [0 if k == 1 else member for k, member in enumerate(members)]
    epoch = bodies.Epoch(number=1 << 40, members=without, links=b"\xff" * ((links + 7) // 8))
    record = bodies.PeerRecord(peer=peer, incarnation=members[peer], version=9, modes=modes, rows=12,
                               hears=[0 if k == peer else member for k, member in enumerate(members)], promised=1 << 40,
                               proposal=epoch, committed=epoch, stage=0, labels=0, order=0, names=0, units=0)
    return signed(record, job, signed_by) if signed_by else record


def signed(record, job: bytes, kit: pathlib.Path):
    text = b"couplet record " + job.hex().encode() + b" " + record.SerializeToString()
    made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", kit / "key.pem"], input=text, capture_output=True, check=True)
    record.signature, record.certificate = made.stdout, (kit / "cert.pem").read_bytes()
    return record


def begun_job(kit: pathlib.Path, wanted=lambda: True):
    """The first job that a peer has written down, once it listens; None when that is no longer `wanted`."""
    log = kit / "log.jsonl"
    if eventually(lambda: not wanted() or (log.exists() and "listens at" in log.read_text()), f"{log}: nobody listens") and wanted():
        return json.loads((kit / "audit.jsonl").read_text().splitlines()[0])
    return None


class IdlePeer:
    """Somebody with the first peer's kit who is linked with all others, says so in a record, beats, and does nothing that is
    its turn. In a context; `flooded` gets besides, as fast as it takes them, bulletins whose records must all be checked."""

    def __init__(self, kits: pathlib.Path, names: list, ports: dict, flooded: str, modes=(6, 7)):
        self.kits, self.names, self.ports, self.flooded, self.modes = kits, names, ports, flooded, modes
        self.sent = 0
        self._over = threading.Event()
        self._stack = contextlib.ExitStack()

    def __enter__(self):
        _, bodies, _ = protocol()
        begun = begun_job(self.kits / self.names[1])
        job = bytes.fromhex(begun["job"])
        process, streams, heard = (1 << 50) + 7, {}, [0]
        for name in self.names[1:]:
            connection = self._stack.enter_context(channel(self.kits / self.names[0], f"127.0.0.1:{self.ports[name]}"))
            streams[name] = Stream(connection, "/couplet.v1.Peering/Link")
            streams[name].send(make_head("greeting", {"incarnation": process, "job": begun["text"].encode(),
                                                      "version": begun["version"].encode(), "answers": 0, "received": 0,
                                                      "modes": self.modes}, job=job))
            heard.append(streams[name].receive().greeting.incarnation)
        own = bodies.PeerRecord(peer=0, incarnation=process, version=2, modes=self.modes, rows=12, hears=heard, promised=0, stage=0,
                                labels=0, order=0, names=0, units=0)
        mine = make_head("bulletin", {"records": [signed(own, job, self.kits / self.names[0])]}, job=job)
        many = []
        for version in range(3, 23):  # of its own process, with a signature that is another version's
            record = bodies.PeerRecord()
            record.CopyFrom(own)
            record.version = version
            many.append(record)
        flood = make_head("bulletin", {"records": many}, job=job)

        def beat():
            while not self._over.wait(0.2):
                for stream in streams.values():
                    stream.send(make_head("beat", {"received": 0}, job=job))

        def pour():
            stream = streams[self.flooded]
            while not self._over.is_set():
                if stream.frames.qsize() > 8:
                    time.sleep(0.001)
                    continue
                stream.send(flood)
                self.sent += 1

        for stream in streams.values():
            stream.send(mine)
        self._threads = [threading.Thread(target=act, daemon=True) for act in (beat, pour)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()
        self._stack.close()


def forge_bulletins(kits: pathlib.Path, names: list, ports: dict, modes=(6, 7), heard=lambda: time.sleep(0.5),
                    wanted=lambda: True) -> bool:
    """Somebody with the first peer's kit speaks for all others: unsigned, with its own signature, and in words that cannot
    be, and hangs up when `heard` returns. False when its neighbour lets it speak no more, or is no longer `wanted`."""
    _, bodies, _ = protocol()
    text = (kits / names[0] / "kit.toml").read_text()
    links = re.findall(r"\[(\d+), (\d+)\]", text.split("links = ")[1].split("\n")[0])
    neighbour = names[int(next(b for a, b in links if a == "1")) - 1]
    begun = begun_job(kits / neighbour, wanted)
    if begun is None:
        return False
    job = bytes.fromhex(begun["job"])
    members = [(1 << 50) + k for k in range(len(names))]
    with contextlib.suppress(grpc.RpcError), channel(kits / names[0], f"127.0.0.1:{ports[neighbour]}") as connection:
        stream = Stream(connection, "/couplet.v1.Peering/Link")
        stream.send(make_head("greeting", {"incarnation": members[0], "job": begun["text"].encode(),
                                           "version": begun["version"].encode(), "answers": 0, "received": 0,
                                           "modes": modes}, job=job))
        head = stream.receive()
        if head is None or head.WhichOneof("body") != "greeting":
            return False
        for peer in range(1, len(names)):
            for record in [forged_record(members, peer, job, modes, len(links)),
                           forged_record(members, peer, job, modes, len(links), kits / names[0])]:
                stream.send(make_head("bulletin", {"records": [record]}, job=job))
        stream.send(make_head("bulletin", {"records": [bodies.PeerRecord(peer=1, incarnation=5)]}, job=job))
        heard()
        stream.close()
        return True
    return False


class Daemons:
    """A star whose daemons are started and ended one by one, without a proxy between them."""

    def __init__(self, folder: pathlib.Path, clients: int = 4, seed: int = 1, flags=("--rank", "3"), deadline="600s"):
        self.folder, self.flags = folder, [str(f) for f in flags]
        self.names = [f"c{k}" for k in range(1, clients + 1)]
        folder.mkdir(parents=True, exist_ok=True)
        self.data = make_data(folder / "data", clients, seed)
        self.kits = folder / "kits"
        self.port = free_port()
        self.http_port = free_port()
        self.address = f"127.0.0.1:{self.port}"
        couplet("provision", "--coordinator", self.address, "--clients", ",".join(self.names), "-o", self.kits)
        kit = self.kits / "coordinator" / "kit.toml"
        kit.write_text(kit.read_text().replace(f"http_port = {self.port + 1}", f"http_port = {self.http_port}"))
        self.parties = {"coordinator": Party("coordinator", [
            COUPLET, "coordinator", "--kit", self.kits / "coordinator", "-o", folder / "result-coordinator", "--json",
            "--threads", 1, "--deadline", deadline, *self.flags], folder, folder / "result-coordinator")}
        for name, data in zip(self.names, self.data):
            output = folder / f"result-{name}"
            self.parties[name] = Party(name, [COUPLET, "client", "--kit", self.kits / name, "--data", data, "-o", output,
                                              "--json", "--threads", 1, "--deadline", deadline], folder, output)

    def start(self, *names, descriptors=0, environment=None):
        for name in names or self.parties:
            party = self.parties[name]
            party.environment = environment or {}
            party.restarts = len(party.errors)
            party.start(descriptors=descriptors)

    def pid(self, name: str) -> int:
        return self.parties[name].process.pid

    def await_port(self, port=None):
        def listens() -> bool:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port or self.port), LIMIT).close()
                return True
            return False
        eventually(listens, lambda: "nobody listens: " + self.parties["coordinator"].said())

    def wait(self, *names, seconds=LIMIT):
        until = time.monotonic() + seconds
        for name in names or self.parties:
            self.parties[name].process.wait(max(0.1, until - time.monotonic()))

    def expect_right(self):
        """Everybody ended well, with the bits of a simulation."""
        simulated = self.folder / "simulated"
        couplet("simulate", *self.data, "--threads", 1, "-o", simulated, *self.flags)
        for name, party in self.parties.items():
            assert party.process.returncode == 0, f"{name}: {party.said()}"
            assert same_bits(party.output / "features.npz", simulated / "features.npz"), name
        for k, name in enumerate(self.names):
            assert same_bits(self.parties[name].output / "personal.npz", simulated / f"personal_{k + 1}.npz"), name

    def close(self):
        for party in self.parties.values():
            if party.process is not None and party.process.poll() is None:
                party.process.kill()
                party.process.wait()
