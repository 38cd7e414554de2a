"""Writes the seed inputs of the fuzzers: small valid files, and each of them truncated or with one byte changed."""

import gzip
import io
import pathlib
import struct
import zipfile

import numpy as np
from numpy.lib import format as npy_format

ROOT = pathlib.Path(__file__).parent / "corpus"


def npy_bytes(array, version=(1, 0)):
    stream = io.BytesIO()
    npy_format.write_array(stream, array, version=version, allow_pickle=False)
    return stream.getvalue()


def npz_bytes(arrays, compression):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(name + ".npy", (1980, 1, 1, 0, 0, 0))
            archive.writestr(member, npy_bytes(np.asanyarray(array)), compression)
    return stream.getvalue()


def put(target, name, data):
    """Keeps `data`, its first two thirds, and a copy with one bit of the middle flipped."""
    folder = ROOT / target
    folder.mkdir(parents=True, exist_ok=True)
    flipped = bytearray(data)
    if flipped:
        flipped[len(flipped) // 2] ^= 4
    (folder / name).write_bytes(data)
    (folder / (name + "-truncated")).write_bytes(data[: len(data) * 2 // 3])
    (folder / (name + "-flipped")).write_bytes(bytes(flipped))


def field(number, kind, payload=b""):
    """A protobuf field: kind 1 is eight bytes, 2 has a length, 5 is four bytes."""
    tag = number << 3 | kind
    head = bytes([tag & 127 | 128, tag >> 7]) if tag > 127 else bytes([tag])
    return head + (varint(len(payload)) if kind == 2 else b"") + payload


def varint(value):
    more = bytearray()
    while value > 127:
        more.append(value & 127 | 128)
        value >>= 7
    return bytes(more) + bytes([value])


def u32(number, value):
    return field(number, 5, struct.pack("<I", value))


def u64(number, value):
    return field(number, 1, struct.pack("<Q", value))


def f64(number, value):
    return field(number, 1, struct.pack("<d", value))


def flag(number, value):
    return bytes([number << 3, int(value)])


def packed(number, values):
    return field(number, 2, struct.pack(f"<{len(values)}Q", *values))


def wire_bytes(body, content, numbers=(), chunk=1 << 18, protocol=2, promised=None):
    """A message as tests/fuzz/wire_targets.hpp takes it: length of the head, head, payload."""
    payload = struct.pack(f"<{len(numbers)}d", *numbers)
    promised = len(payload) if promised is None else promised
    head = u32(1, protocol) + field(2, 2, bytes(range(16))) + u32(3, 1) + u32(4, 2) + u32(5, chunk) + u64(6, promised)
    head += field(body, 2, content)
    return struct.pack("<H", len(head)) + head + payload


def wire_corpus():
    """Bodies as src/wire/proto/federation.proto numbers them, written by hand: an encoder that is not ours."""
    scalars = u64(3, 2) + u64(4, 9) + f64(5, 4.0) + f64(6, 0.5) + f64(7, 0.25)
    train = packed(1, [3, 2]) + packed(2, [2, 2, 1]) + scalars
    put("wire_upload", "train", wire_bytes(7, train, np.eye(6, 2).ravel().tolist() + [1.0, 2.0, 3.0, 4.0]))
    put("wire_upload", "dense", wire_bytes(7, packed(1, [3, 2]) + scalars, [0.5] * 12))
    put("wire_upload", "nan", wire_bytes(7, packed(1, [3, 2]) + scalars, [float("nan")] * 12))
    put("wire_upload", "gigabytes", wire_bytes(7, packed(1, [1 << 20, 1 << 20]) + u64(3, 1 << 20), promised=1 << 63))
    put("wire_upload", "ranks", wire_bytes(7, packed(1, [3, 2]) + packed(2, [2, 1 << 40, 1]) + scalars, [1.0] * 4))
    put("wire_upload", "protocol", wire_bytes(7, train, [1.0] * 16, protocol=1))
    put("wire_upload", "tiny-chunks", wire_bytes(7, train, [1.0] * 16, chunk=8))
    put("wire_sum_reply", "sum", wire_bytes(8, u32(1, 0) + u64(2, 3), [1.0, 2.0, 3.0]))
    put("wire_sum_reply", "promise", wire_bytes(8, u32(1, 0) + u64(2, 1 << 60), [1.0]))
    put("wire_sum_request", "basis", wire_bytes(9, u32(1, 1) + u32(2, 0) + u64(3, 3) + u64(4, 2), [1.0] * 6))
    put("wire_sum_request", "seeded", wire_bytes(9, u32(1, 0) + u32(2, 0) + u64(3, 0) + u64(4, 0)))
    put("wire_sum_request", "overflow", wire_bytes(9, u32(1, 1) + u32(2, 0) + u64(3, 1 << 40) + u64(4, 1 << 40)))
    shared = packed(1, [3, 2]) + packed(2, [2, 2, 1]) + u64(3, 2) + flag(4, True) + f64(5, 0.125)
    cores = np.eye(2, 6).ravel().tolist() + np.eye(2, 2).ravel().tolist()
    put("wire_features", "orthonormal", wire_bytes(10, shared, cores + [2.0, 1.0]))
    put("wire_features", "not-orthonormal", wire_bytes(10, shared, [3.0] * 18))
    put("wire_hello", "hello", wire_bytes(11, packed(1, [3, 2]) + u64(2, 9) + f64(3, 2.5)))
    put("wire_hello", "overflow", wire_bytes(11, packed(1, [1 << 62, 4]) + u64(2, 9) + f64(3, 2.5)))
    put("wire_start", "start", wire_bytes(12, u64(1, 3) + u64(2, 70) + f64(3, 1.5) + flag(4, True)))
    put("wire_join", "join", wire_bytes(13, field(1, 2, b"hospital-a") + field(2, 2, b"0.1.0")))
    put("wire_join", "not-utf8", wire_bytes(13, field(1, 2, b"\xff\xfe") + field(2, 2, b"x" * 5000)))
    job = u32(1, 0) + u64(2, 5) + f64(4, 0.01) + f64(5, 0.01) + flag(6, True) + u32(7, 0) + u32(8, 3) + u64(9, 10)
    job += u64(10, 7) + flag(11, False) + f64(12, 0.25) + u64(13, 1) + u64(14, 4)
    put("wire_welcome", "job", wire_bytes(14, job))
    put("wire_welcome", "no-sense", wire_bytes(14, u32(1, 1) + u32(8, 3)))
    put("wire_report", "report", wire_bytes(15, u64(1, 5) + f64(2, 0.5) + f64(3, 2.0) + f64(6, 1.5)))
    put("wire_report", "negative", wire_bytes(15, u64(1, 5) + f64(2, -0.5)))
    put("wire_bye", "names", wire_bytes(16, field(1, 2, b"a") + field(1, 2, b"b") + field(2, 2, b"c") + u32(3, 2)))
    put("wire_refusal", "reason", wire_bytes(17, field(1, 2, b"not on the roster")))
    shield = field(20, 2, flag(1, True) + u32(2, 1) + f64(3, 0.5) + f64(4, 1e-5) + f64(5, 2.0) + u32(6, 2))
    put("wire_welcome", "shield", wire_bytes(14, u32(1, 3) + job[5:] + shield))
    put("wire_centring", "asks", wire_bytes(28, u64(1, 0) + u64(2, 0) + flag(3, False)))
    put("wire_centring", "both", wire_bytes(28, u64(1, 3) + u64(2, 3) + flag(3, True), [1.0, -2.0, 3.0, 1.0, 0.5, 2.0]))
    put("wire_centring", "zero-scale", wire_bytes(28, u64(1, 0) + u64(2, 2), [1.0, 0.0]))
    put("wire_centring", "unequal", wire_bytes(28, u64(1, 2) + u64(2, 1), [1.0, 2.0, 3.0]))
    put("wire_centring", "overflow", wire_bytes(28, u64(1, 1 << 62) + u64(2, 1 << 62), promised=1 << 63))
    peer_corpus()
    secure_corpus()


def secure_corpus():
    """Steps of secure sums: src/wire/proto/secure_bodies.proto."""
    which = u32(1, 1) + u32(2, 0)
    keys = u32(1, 3) + field(2, 2, b"s" * 32) + field(3, 2, b"m" * 32) + field(4, 2, b"signature") + field(5, 2, b"PEM") + field(6, 2, b"h" * 64)
    part = u32(1, 2) + field(2, 2, b"k" * 32)
    put("wire_secure_request", "keys", wire_bytes(26, which + u32(3, 0)))
    put("wire_secure_request", "basis", wire_bytes(26, which + u32(3, 2) + u64(4, 0) + u64(5, 3) + u64(6, 2), [1.0] * 6))
    put("wire_secure_request", "counts", wire_bytes(26, which + u32(3, 2) + u64(4, 2370) + u64(5, 0) + u64(6, 0), [0.0] * 2370))
    put("wire_secure_request", "overflow", wire_bytes(26, which + u32(3, 2) + u64(5, 1 << 40) + u64(6, 1 << 40)))
    put("wire_secure_request", "roster", wire_bytes(26, which + u32(3, 1) + field(7, 2, keys)))
    put("wire_secure_request", "twice", wire_bytes(26, which + u32(3, 1) + field(7, 2, keys) + field(7, 2, keys)))
    put("wire_secure_request", "shares", wire_bytes(26, which + u32(3, 2) + field(8, 2, part)))
    opened = u32(1, 0) + u32(2, 4) + u64(3, 8)
    put("wire_secure_request", "opened", wire_bytes(26, which + u32(3, 2) + field(13, 2, opened) + field(13, 2, opened), [1.0] * 2))
    survivors = field(9, 2, struct.pack("<3I", 0, 1, 4)) + field(10, 2, struct.pack("<I", 2))
    put("wire_secure_request", "survivors", wire_bytes(26, which + u32(3, 3) + survivors))
    put("wire_secure_request", "signatures", wire_bytes(26, which + u32(3, 4) + field(11, 2, part)))
    put("wire_secure_reply", "declined", wire_bytes(27, which + u32(3, 0) + field(4, 2, b"no keys")))
    put("wire_secure_reply", "keys", wire_bytes(27, which + u32(3, 1) + field(5, 2, keys)))
    put("wire_secure_reply", "shares", wire_bytes(27, which + u32(3, 2) + field(6, 2, part)))
    put("wire_secure_reply", "numbers", wire_bytes(27, which + u32(3, 3) + u64(7, 16) + field(8, 2, b"x" * 70), [float("nan")] * 2))
    put("wire_secure_reply", "promise", wire_bytes(27, which + u32(3, 3) + u64(7, 1 << 60), [1.0]))
    put("wire_secure_reply", "signature", wire_bytes(27, which + u32(3, 4) + field(8, 2, b"x" * 70)))
    put("wire_secure_reply", "unmasking", wire_bytes(27, which + u32(3, 5) + field(9, 2, part) + field(10, 2, part)))
    put("wire_secure_reply", "unknown", wire_bytes(27, which + u32(3, 77)))


def table_corpus():
    """The first byte says how the rest is read, see table_targets.hpp."""
    put("table_csv", "plain", b"\0p,c,v\n1,a,1.5\n2,b,\n")
    put("table_csv", "german", b"\x0ep;c;v;d\r\n1;M\xfcller;1.234,5;31.3.2024\r\n2;x;12.34,5;30.2.2024\r\n")
    put("table_csv", "bom-quotes", b'\0\xef\xbb\xbfp,c\n1,"a\nb"\n"2","x""y"\n')
    put("table_csv", "no-header", b"\x11 1 , a \n2,2024-02-29T23:59:59+02:00\n")
    put("table_csv", "returns", b"\0p,c\r1,a\r2,b\r")
    put("table_csv", "ragged", b"\0p,c\n1\n1,2,3\n")
    put("table_csv", "binary", b"\0p,c\n1,\x00\xff\n")
    put("table_ndjson", "plain", b'{"patient":1,"code":[{"text":"a"}],"value":1.5}\n{"patient":"2","value":null}\n')
    put("table_ndjson", "nested", b'{"patient":{"a":1}}\n')
    put("table_ndjson", "deep", b'{"a":' + b"[" * 2000 + b"\n")
    put("table_ndjson", "condition", b'{"resourceType":"Condition","subject":{"reference":"Patient/1"},"code":{"coding":'
        b'[{"code":"x","display":"Asthma"}]},"onsetDateTime":"2024-02-03"}\n')
    put("table_ndjson", "observation", b'{"resourceType":"Observation","status":"final","subject":{"reference":"urn:uuid:1"},'
        b'"code":{"text":"Glucose"},"valueQuantity":{"value":5.5,"unit":"mmol/L"},"effectiveDateTime":"2024"}\n')
    put("table_build", "events", b"\0\0p,c,v\n1,a,1\n2,b,2\n1,b,3\n")
    put("table_build", "values", b"\0\2p,c,v\n1,a,1e308\n1,a,1e308\n2,b,-2\n")
    put("table_build", "wide", b"\0\1p,age [years],sex,zip\n1,30,m,01234\n2,,f,1\n")
    put("table_build", "same-name", b"\0\1p,w [kg],w [g]\n1,1,2\n")
    put("table_build", "twice", b"\0\1p,w\n1,1\n1,2\n")
    mode = b'{"modes":[{"name":"c","size":2,"labels":["A","B"],"kind":"%s","codes":["%s","%s"],"patients":[12,10]}],"patients":20}'
    put("vocabulary", "codes", mode % (b"codes", b"x", b"X"))
    put("vocabulary", "time", mode % (b"time", b"2020-01", b"2021-12"))
    put("vocabulary", "gap", mode % (b"time", b"1800-01-01", b"2199-12-31"))
    put("vocabulary", "mixed-bins", mode % (b"time", b"2020", b"2021-12"))
    put("vocabulary", "sizes", b'{"modes":[{"name":"c","size":3,"labels":["A"]}]}')


def peer_corpus():
    """What peers say to one another: src/wire/proto/peer_bodies.proto."""
    put("wire_greeting", "greeting", wire_bytes(19, u64(1, 9) + field(2, 2, b"rank 3") + field(3, 2, b"0.1.0") + u64(5, 2)))
    put("wire_greeting", "nobody", wire_bytes(19, field(2, 2, b"rank\n3")))
    put("wire_beat", "beat", wire_bytes(20, u64(1, 7)))
    put("wire_peer_state", "state", wire_bytes(21, u64(1, 2) + u64(2, 3), [1.0, 2.0, 3.0]))
    put("wire_peer_state", "promise", wire_bytes(21, u64(1, 2) + u64(2, 1 << 60), [1.0]))
    put("wire_peer_basis", "basis", wire_bytes(22, u64(1, 3) + u64(2, 2), [1.0] * 6))
    put("wire_peer_basis", "overflow", wire_bytes(22, u64(1, 1 << 40) + u64(2, 1 << 40), [1.0]))
    ledger = u64(5, 2) + u64(6, 9) + f64(7, 2.0) + f64(8, 0.5) + f64(9, 0.25) + f64(10, 0.125)
    put("wire_peer_merge", "dense", wire_bytes(23, packed(1, [3, 2]) + u64(3, 2) + ledger, [0.5] * 12))
    put("wire_peer_merge", "train", wire_bytes(23, packed(1, [3, 2]) + packed(2, [2, 2, 1]) + u64(3, 2) + flag(4, True) + ledger,
                                               np.eye(6, 2).ravel().tolist() + [1.0, 2.0, 3.0, 4.0]))
    put("wire_peer_merge", "gigabytes", wire_bytes(23, packed(1, [1 << 20, 1 << 20]) + u64(3, 1 << 20), promised=1 << 63))
    epoch = u64(1, 5) + packed(2, [11, 22, 77]) + field(3, 2, b"\x05")
    report = u64(1, 3) + f64(2, 0.5) + f64(3, 2.0) + u64(9, 2)
    record = (u32(1, 2) + u64(2, 77) + u64(3, 5) + packed(4, [5, 4]) + u64(5, 9) + packed(6, [11, 0, 77]) + u64(7, 5)
              + field(8, 2, epoch) + field(9, 2, epoch) + u32(10, 2) + field(11, 2, report))
    put("wire_bulletin", "record", wire_bytes(24, field(1, 2, record) + field(1, 2, record)))
    put("wire_bulletin", "no-members", wire_bytes(24, field(1, 2, record + field(8, 2, u64(1, 6)))))
    put("wire_bulletin", "nobody", wire_bytes(24, field(1, 2, u32(1, 2))))


def main():
    wire_corpus()
    table_corpus()
    cube = (np.arange(12) / 4).reshape(2, 3, 2)
    for version in (1, 2, 3):
        put("npy", f"double-v{version}", npy_bytes(cube, (version, 0)))
    put("npy", "float-fortran", npy_bytes(np.asfortranarray(cube.astype("<f4"))))
    put("npy", "big-endian", npy_bytes(cube.astype(">f8")))
    put("npy", "int", npy_bytes(np.arange(3)))
    put("npy", "complex", npy_bytes(cube.astype("<c8")))
    put("npy", "records", npy_bytes(np.zeros(1, dtype=[("a", "<f8")])))
    put("npy", "scalar", npy_bytes(np.array(1.0)))
    put("npy", "empty-mode", npy_bytes(np.zeros((2, 0))))
    literal = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000)}"
    put("npy", "terabytes", b"\x93NUMPY\x01\x00" + len(literal).to_bytes(2, "little") + literal)

    cores = {"core_1": cube[:1], "core_2": np.ones((2, 2, 1))}
    words = {"mode_names": np.array(["a", "b"]), "labels_2": np.array(["x", "y\u00e9"]), "meta_json": np.array('{"k": [1]}')}
    for name, compression in (("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED)):
        put("model", f"complete-{name}", npz_bytes(cores | words, compression))
        put("model", f"features-{name}", npz_bytes({"core_2": np.ones((2, 2, 1), "<f4")}, compression))
        put("model", f"personal-{name}", npz_bytes({"core_1": cube[:1]}, compression))
    put("model", "mismatch", npz_bytes({"core_1": cube[:1], "core_2": np.ones((3, 2, 1))}, zipfile.ZIP_STORED))
    put("model", "deep-json", npz_bytes({"core_1": np.ones((1, 1, 1)), "meta_json": np.array('{"a":' + "[" * 100)}, zipfile.ZIP_DEFLATED))
    put("model", "bomb", npz_bytes({"core_1": np.zeros((1, 10**6, 1))}, zipfile.ZIP_DEFLATED))

    table = b'age,"b,m,i"\r\n1,2.5\r\n,nan\r\n"-3e2","4"\r\n'
    put("csv", "header", table)
    put("csv", "numbers", b"1,2\n3,4\n\n5,6")
    put("csv", "quotes", b'"a ""quoted""\nfield",b\n1,2\n')
    put("csv", "open-quote", b'1,"2\n3,4\n')
    put("csv", "ragged", b"1,2\n3\n")
    put("csv", "bad-cell", b"1,2\n3,x\n1e999,0\n")
    put("csv", "gzip", gzip.compress(table, mtime=0))
    put("csv", "gzip-members", gzip.compress(table, mtime=0) + gzip.compress(b"7,8\n", mtime=0))

    put("tns", "base-one", b"# comment\n1 2 3 0.5\n2 1 1 -1e3\n1 2 3 1\n")
    put("tns", "base-zero", b"0 0 1\n3 4 2.5\n")
    put("tns", "huge", b"4000000000000000000 4000000000000000000 1\n")
    put("tns", "ragged", b"1 1 1\n1 1\n")
    put("tns", "bad-index", b"1 x 1\n")


if __name__ == "__main__":
    main()
