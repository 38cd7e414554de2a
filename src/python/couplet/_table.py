"""A hospital's tables to a tensor with names."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._arrays import Array
from ._arrow import is_arrow, write_csv
from ._verb import flags, run_verb
from ._errors import wrong_type
from ._tensor_train import read_tensor

__all__ = ["Table", "table"]


@dataclass(frozen=True)
class Table:
    """What couplet.table() made.

    folder: where it lies; hand `path` to couplet.simulate(). shape: patients first. patients: the identifier of every
    row, which stays here. report: the JSON of `couplet table`: records, entries, unknown codes.
    """

    folder: Path
    shape: tuple[int, ...]
    patients: list[str]
    report: dict[str, Any]

    @property
    def path(self) -> Path:
        """The file of the tensor."""
        return self.folder / str(self.report["file"])

    @property
    def tensor(self) -> Array:
        """The tensor, dense."""
        return read_tensor(self.path)[0]


def table(*tables: Any, output: str | os.PathLike[str], patient: str | None = None, modes: list[str] | None = None,
          schema: str | os.PathLike[str] | None = None, wide: bool = False, force: bool = False, **options: Any) -> Table:
    """Tables of events, or a wide one, to a tensor: `couplet table`, whose flags are the arguments.

    A table is a path, anything that speaks the Arrow stream interface (a data frame of pandas, polars or pyarrow, a
    relation of DuckDB), or a pair (name, such a thing): the name stands for it in `modes`.
    """
    if not tables:
        raise wrong_type("table", "no tables", "at least one path or data frame")
    scratch = Path(tempfile.mkdtemp(prefix="couplet-table-"))
    try:
        words = [_place(one, scratch, number) for number, one in enumerate(tables, 1)]
        report = run_verb("table", *words, "--output", os.fspath(output),
                          *flags(patient=patient, schema=schema, wide=wide, force=force, modes=modes, **options))
    finally:
        shutil.rmtree(scratch)
    folder = Path(output)
    return Table(folder, tuple(report["shape"]), _patients(folder / "patients.csv"), report)


def _place(one: Any, scratch: Path, number: int) -> str:
    """A word of the command line that names the table."""
    name = ""
    if isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], str):
        name, one = one
    if is_arrow(one):
        path = scratch / f"{name or f'table{number}'}.csv"
        write_csv(one, path)
    elif isinstance(one, (str, os.PathLike)):
        path = Path(one)
    else:
        raise wrong_type("table", type(one).__name__, "a path, or something that speaks the Arrow stream interface",
                         "pandas 2.2, polars, pyarrow and DuckDB do.")
    return f"{name}={path}" if name else str(path)


def _patients(path: Path) -> list[str]:
    with open(path, newline="", encoding="utf-8") as file:
        return [row["patient"] for row in csv.DictReader(file)]
