"""Reads tables through the Arrow stream interface (`__arrow_c_stream__`) by itself: no pyarrow is needed.

https://arrow.apache.org/docs/format/CStreamInterface.html describes the structures.
"""

from __future__ import annotations

import csv
import ctypes
import datetime
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._errors import InputError, wrong_type

__all__ = ["is_arrow", "write_csv"]


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


class _Stream(ctypes.Structure):
    pass


_Schema._fields_ = [("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
                    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
                    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))), ("dictionary", ctypes.POINTER(_Schema)),
                    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Schema))), ("private_data", ctypes.c_void_p)]
_Array._fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
                   ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64),
                   ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
                   ("dictionary", ctypes.POINTER(_Array)), ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Array))),
                   ("private_data", ctypes.c_void_p)]
_Stream._fields_ = [("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Schema))),
                    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Stream), ctypes.POINTER(_Array))),
                    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(_Stream))),
                    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(_Stream))), ("private_data", ctypes.c_void_p)]

_NUMBERS = {"c": "b", "C": "B", "s": "h", "S": "H", "i": "i", "I": "I", "l": "q", "L": "Q", "f": "f", "g": "d"}
_EPOCH = datetime.date(1970, 1, 1)
_PER_DAY = {"s": 86_400, "m": 86_400_000, "u": 86_400_000_000, "n": 86_400_000_000_000}


def is_arrow(table: Any) -> bool:
    return hasattr(table, "__arrow_c_stream__")


def write_csv(table: Any, path: Path) -> list[str]:
    """Writes the table as csv, batch by batch, and returns its columns. Dates are written as 2024-03-31."""
    capsule = table.__arrow_c_stream__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    stream = _Stream.from_address(pointer(capsule, b"arrow_array_stream"))
    schema = _Schema()
    _check(stream, stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)))
    try:
        if schema.format != b"+s":
            raise wrong_type("table", f"a stream of {schema.format!r}", "a stream of records (a data frame)")
        fields = [schema.children[i].contents for i in range(schema.n_children)]
        names = [(field.name or b"").decode() for field in fields]
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(names)
            for batch in _batches(stream):
                columns = [list(_values(field, batch.children[i].contents, batch.offset, batch.length, name))
                           for i, (field, name) in enumerate(zip(fields, names))]
                writer.writerows(zip(*columns))
        return names
    finally:
        if schema.release:
            schema.release(ctypes.byref(schema))


def _check(stream: _Stream, code: int) -> None:
    if code == 0:
        return
    said = stream.get_last_error(ctypes.byref(stream))
    raise InputError(f"table: {said.decode(errors='replace') if said else f'error {code}'}; expected a stream that can be read")


def _batches(stream: _Stream) -> Iterator[_Array]:
    while True:
        array = _Array()
        _check(stream, stream.get_next(ctypes.byref(stream), ctypes.byref(array)))
        if not array.release:
            return
        try:
            yield array
        finally:
            array.release(ctypes.byref(array))


def _values(field: _Schema, array: _Array, offset: int, length: int, name: str) -> Iterator[Any]:
    """The cells of a column as csv writes them; what is null is empty."""
    first = array.offset + offset
    valid = _bytes(array, 0, (first + length + 7) // 8) if array.null_count != 0 and array.buffers[0] else b""

    def known(i: int) -> bool:
        return not valid or bool(valid[i // 8] >> i % 8 & 1)

    read = _reader(field, array, first, length, name)
    for i in range(first, first + length):
        yield read(i) if known(i) else ""


def _bytes(array: _Array, number: int, size: int) -> bytes:
    address = array.buffers[number]
    return ctypes.string_at(address, size) if address and size > 0 else b""


def _reader(field: _Schema, array: _Array, first: int, length: int, name: str) -> Any:
    """A function that gives cell i of the column."""
    form = field.format.decode()
    end = first + length
    if field.dictionary:
        words = list(_values(field.dictionary.contents, array.dictionary.contents, 0, array.dictionary.contents.length, name))
        codes = _numbers(array, _NUMBERS[form], end)
        return lambda i: words[codes[i]]
    if form in _NUMBERS:
        numbers = _numbers(array, _NUMBERS[form], end)
        if form in "fg":
            return lambda i: "" if numbers[i] != numbers[i] else repr(numbers[i])
        return lambda i: numbers[i]
    if form == "b":
        bits = _bytes(array, 1, (end + 7) // 8)
        return lambda i: bits[i // 8] >> i % 8 & 1
    if form in ("u", "U"):
        starts = _numbers(array, "i" if form == "u" else "q", end + 1)
        text = _bytes(array, 2, starts[end])
        return lambda i: text[starts[i]:starts[i + 1]].decode()
    if form == "vu":
        return _views(array, end)
    if form in ("tdD", "tdm"):
        days = _numbers(array, "i" if form == "tdD" else "q", end)
        unit = 1 if form == "tdD" else 86_400_000
        return lambda i: (_EPOCH + datetime.timedelta(days=days[i] // unit)).isoformat()
    if form.startswith("ts"):
        moments = _numbers(array, "q", end)
        return lambda i: (_EPOCH + datetime.timedelta(days=moments[i] // _PER_DAY[form[2]])).isoformat()
    if form == "n":
        return lambda i: ""
    raise InputError(f"column {name}: Arrow type {form!r}; expected numbers, text, dates or categories. "
                     "Convert the column, or leave it out.")


def _numbers(array: _Array, code: str, count: int) -> tuple[Any, ...]:
    return struct.unpack(f"={count}{code}", _bytes(array, 1, count * struct.calcsize("=" + code)))


def _views(array: _Array, end: int) -> Any:
    """Text by views: short ones in place, long ones in one of several buffers."""
    views = _bytes(array, 1, 16 * end)

    def read(i: int) -> str:
        size = struct.unpack_from("=i", views, 16 * i)[0]
        if size <= 12:
            return views[16 * i + 4:16 * i + 4 + size].decode()
        number, start = struct.unpack_from("=ii", views, 16 * i + 8)
        return ctypes.string_at(array.buffers[2 + number] + start, size).decode()

    return read
