"""Writes the seed inputs of the fuzzers: small valid files, and each of them truncated or with one byte changed."""

import gzip
import io
import pathlib
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


def main():
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
