"""Tables from files and through the Arrow stream interface, and explained results as objects."""
import datetime

import numpy as np
import pandas as pd
import pytest

import couplet


@pytest.fixture
def events():
    return pd.DataFrame({"id": ["b", "a", "b", "c"], "code": pd.Categorical(["x", "y", "x", "y"]),
                         "day": [datetime.date(2024, 1, 31), datetime.date(2024, 2, 1), datetime.date(2024, 1, 1), None],
                         "value": [1.5, 2.0, 2.5, np.nan], "count": [1, 2, 3, 4], "ok": [True, False, True, True]})


def test_a_data_frame_gives_what_its_csv_gives(tmp_path, events):
    pytest.importorskip("pyarrow")  # pandas hands its frames over with it
    events.to_csv(tmp_path / "events.csv", index=False)
    how = dict(patient="id", modes=["code"], value="count", aggregate="sum")
    a = couplet.table(tmp_path / "events.csv", output=tmp_path / "a", **how)
    b = couplet.table(events, output=tmp_path / "b", **how)
    assert a.patients == b.patients == ["a", "b", "c"]
    assert a.shape == b.shape == (3, 2)
    np.testing.assert_array_equal(a.tensor, b.tensor)
    np.testing.assert_array_equal(b.tensor[1], [0, 4])


class Stream:
    """Three columns in the Arrow C stream interface, made by hand: text, 64-bit integers with a null, float64."""

    def __init__(self):
        import ctypes

        from couplet import _arrow

        self.keep = keep = []
        text = ctypes.create_string_buffer("äbc".encode())
        starts = (ctypes.c_int32 * 4)(0, 2, 3, 4)
        whole = (ctypes.c_int64 * 3)(5, 0, -7)
        valid = ctypes.create_string_buffer(bytes([0b101]))
        real = (ctypes.c_double * 3)(0.5, 1.0, float("nan"))
        keep += [text, starts, whole, valid, real]
        release_schema = _arrow._Schema._fields_[7][1](lambda schema: None)
        release_array = _arrow._Array._fields_[8][1](lambda array: None)
        keep += [release_schema, release_array]

        def array(buffers, nulls=0, children=()):
            pointers = (ctypes.c_void_p * max(1, len(buffers)))(*[ctypes.cast(b, ctypes.c_void_p) if b is not None else None
                                                                  for b in buffers])
            kids = (ctypes.POINTER(_arrow._Array) * max(1, len(children)))(*map(ctypes.pointer, children))
            keep.extend([pointers, kids, *children])
            return _arrow._Array(3, nulls, 0, len(buffers), len(children), pointers, kids, None, release_array, None)

        def schema(form, name, children=()):
            kids = (ctypes.POINTER(_arrow._Schema) * max(1, len(children)))(*map(ctypes.pointer, children))
            keep.extend([kids, *children])
            return _arrow._Schema(form, name, None, 2, len(children), kids, None, release_schema, None)

        columns = [array([None, starts, text]), array([valid, whole], 1), array([None, real])]
        self.batches = [array([None], 0, columns)]
        self.schema = schema(b"+s", b"", [schema(b"u", b"id"), schema(b"l", b"n"), schema(b"g", b"r")])

        def get_schema(stream, out):
            out[0] = self.schema
            return 0

        def get_next(stream, out):
            out[0] = self.batches.pop() if self.batches else _arrow._Array()
            return 0

        fields = dict(_arrow._Stream._fields_)
        self.stream = _arrow._Stream(fields["get_schema"](get_schema), fields["get_next"](get_next),
                                     fields["get_last_error"](lambda stream: b"broken"), fields["release"](lambda stream: None), None)

    def __arrow_c_stream__(self, requested_schema=None):
        import ctypes

        make = ctypes.pythonapi.PyCapsule_New
        make.restype = ctypes.py_object
        make.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return make(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def test_the_stream_interface_is_read_without_pyarrow(tmp_path):
    from couplet._arrow import write_csv

    assert write_csv(Stream(), tmp_path / "t.csv") == ["id", "n", "r"]
    assert (tmp_path / "t.csv").read_text() == "id,n,r\nä,5,0.5\nb,,1.0\nc,-7,\n"
    with pytest.raises(couplet.InputError, match=r"line 3, column 2 \(n\): no code"):
        couplet.table(("named", Stream()), output=tmp_path / "out", patient="id", modes=["named:n"], value="r")
    made = couplet.table(("named", Stream()), output=tmp_path / "out", patient="named:id", wide=True)
    assert made.patients == ["ä", "b", "c"]
    np.testing.assert_array_equal(made.tensor, [[5, 0.5], [np.nan, 1], [-7, np.nan]])


def test_errors_are_those_of_the_command_line(tmp_path):
    (tmp_path / "t.csv").write_text("p,c\n1\n")
    with pytest.raises(couplet.InputError, match="line 2"):
        couplet.table(tmp_path / "t.csv", output=tmp_path / "out", patient="p", modes=["c"])
    with pytest.raises(TypeError, match="Arrow stream"):
        couplet.table(5, output=tmp_path / "out")
    with pytest.raises(TypeError, match="no tables"):
        couplet.table(output=tmp_path / "out")
    with pytest.raises(couplet.InputError, match="features.npz"):
        couplet.explain(tmp_path)


def test_a_result_is_explained_as_objects(tmp_path, rng):
    lines = ["p,c,d"]
    for patient in range(60):
        pairs = [("asthma", "inhaler")] if patient % 4 else [("gout", "colchicine"), ("gout", "ibuprofen")][:1 + patient % 8 // 4]
        lines += [f"{patient:03},{c},{d}" for c, d in pairs]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    made = couplet.table(tmp_path / "t.csv", output=tmp_path / "out", patient="p", modes=["condition=c", "drug=d"])
    couplet.simulate([made.tensor[:30], made.tensor[30:]], rank=2, heldout=0.2, output=tmp_path / "unnamed", unnamed="allow")
    couplet.simulate([made.path], rank=2, output=tmp_path / "result")
    told = couplet.explain(tmp_path / "result", output=tmp_path / "page.html")
    assert told.components[0].title == "asthma with inhaler"
    assert told.components[1].title == "gout with colchicine, ibuprofen"
    assert 0.9 < told.explained < 1
    assert str(told).startswith("1. asthma with inhaler (")
    assert len(told.components[0].profiles["condition"]) == 2
    assert (tmp_path / "page.html").exists() and (tmp_path / "page.csv").exists()
    told = couplet.explain(tmp_path / "result", patient=made.patients[0], patients=tmp_path / "out" / "patients.csv")
    assert told.patient["id"] == "000"
    gain = couplet.explain(tmp_path / "unnamed").gain
    assert len(gain) == 2
