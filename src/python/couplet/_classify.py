"""Labels predicted from what a federation learned, against each site alone and against all data in one place."""

from __future__ import annotations

import contextlib
import csv
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ._arrow import is_arrow, write_csv
from ._errors import InputError, RunError, wrong_type
from ._federation import Fields
from ._labels import columns_of
from ._table import Table
from ._verb import flags, run_verb

__all__ = ["Classification", "classify"]


@dataclass(frozen=True)
class Classification:
    """What couplet.classify() found, by cross-validation.

    classes: names of the classes. results: for each arm (local, federated, federated-joint, centralized) and model (logistic,
    knn) auc (of auc_pairs pairs of people of the same site and fold), balanced_accuracy and accuracy with their 95% intervals,
    brier, calibration_error, calibration, confusion, per_class and sites. comparisons: differences of areas between arms, with
    intervals. notes: what to know before believing the figures. predictions: for each site columns by name, ready for
    pandas.DataFrame; identifiers are in them where the labels or a table have them. report: the whole JSON of `couplet classify`.
    """

    classes: list[str]
    results: list[Fields]
    comparisons: list[Fields]
    notes: list[str]
    predictions: list[dict[str, list[Any]]] = field(repr=False)
    report: dict[str, Any] = field(repr=False)

    def result(self, arm: str = "federated", model: str = "logistic") -> Fields:
        """The figures of one arm and model."""
        for one in self.results:
            if one.arm == arm and one.model == model:
                return one
        known = sorted({f"{one.arm} {one.model}" for one in self.results})
        raise InputError(f"arm, model: {arm!r}, {model!r}; expected one of {', '.join(known)}")

    def __str__(self) -> str:
        lines = [f"{'arm':<16} {'model':<8} {'AUC':<22} balanced accuracy"]
        for one in self.results:
            area, balanced = _estimate(one, "auc"), _estimate(one, "balanced_accuracy")
            lines.append(f"{one.arm:<16} {one.model:<8} {area:<22} {balanced}")
        return "\n".join(lines)


def classify(*data: Any, labels: Any = None, label_column: str | None = None, id_column: str | None = None,
             rank: int | None = None, folds: int = 5, neighbours: int = 5, ridge: float = 1.0, decide: str = "balanced",
             learn_from: str = "training", clients: int = 2, splits: int = 0,
             predictions: str | os.PathLike[str] | None = None, seed: int = 0, force: bool = False) -> Classification:
    """`couplet classify`: predicts a label of every person in four arms, cross-validated.

    data: one per site: a path, what couplet.table() returned, or an array with the people first. One array alone is dealt to
    `clients` sites in its order. labels: a path to a table, a data frame, or one label per row (None, NaN or "" where nobody
    knows it); for several sites one table with identifiers, or a list with something for each. Features and classifiers are
    learned from the training people of each fold alone, unless learn_from is "all": then the features have seen the test
    people's data, never their labels. ridge is 1/C of scikit-learn, on standardised columns. predictions: a folder for
    predictions_<k>.csv of each site. splits: of the experiment of Zhang et al. 2024, in report["scores"].

    >>> import numpy as np, couplet
    >>> random = np.random.default_rng(0)
    >>> y = np.arange(60) % 2
    >>> x = random.normal(size=(60, 5, 4))
    >>> x[y == 1, 2] += 3
    >>> found = couplet.classify(x[:30], x[30:], labels=[y[:30], y[30:]], rank=6)
    >>> found.classes
    ['0', '1']
    >>> bool(found.result("federated", "logistic").auc > 0.8)
    True
    >>> sorted(found.predictions[0])
    ['arm', 'fold', 'label', 'model', 'p_0', 'p_1', 'predicted', 'row']
    """
    if not data:
        raise wrong_type("data", "nothing", "at least one path, table or array")
    scratch = Path(tempfile.mkdtemp(prefix="couplet-classify-"))
    try:
        words = [_place(one, scratch / f"site_{number}.npy") for number, one in enumerate(data, 1)]
        folder = Path(predictions) if predictions is not None else scratch / "predictions"
        names = {word: f"site_{number}" for number, word in enumerate(words, 1)}
        for number, table in enumerate(_tables(labels, len(data)), 1):
            words += ["--labels", _place_labels(table, scratch / f"labels_{number}.csv")]
            names[words[-1]] = "labels" if len(data) == 1 or _is_table(labels) else f"labels of site_{number}"
        with _calling({word: name for word, name in names.items() if word.startswith(str(scratch))}):
            report = run_verb("classify", *words,
                              *flags(label_column=label_column, id_column=id_column, rank=rank, folds=folds,
                                     neighbours=neighbours, ridge=ridge, decide=decide, learn_from=learn_from, clients=clients,
                                     splits=splits, predictions=folder, seed=seed, force=force))
        told = report["evaluation"]
        said = [_columns(Path(path)) for path in told["predictions"]]
        if predictions is None:
            told["predictions"] = []
    finally:
        shutil.rmtree(scratch)
    return Classification(classes=told["class_names"], results=[Fields(one) for one in told["results"]],
                          comparisons=[Fields(one) for one in told["comparisons"]], notes=told["notes"], predictions=said,
                          report=report)


@contextlib.contextmanager
def _calling(names: dict[str, str]) -> Iterator[None]:
    """What was handed in has no path: errors call it by its place instead of by that of our copy."""
    try:
        yield
    except (InputError, RunError) as error:
        text = str(error)
        for path, name in names.items():
            text = text.replace(path, name)
        raise type(error)(text) from None


def _estimate(one: Fields, name: str) -> str:
    value, interval = one[name], one[name + "_interval"]
    if value is None:
        return "-"
    return f"{value:.3f}" + (f" ({interval[0]:.3f} to {interval[1]:.3f})" if interval else "")


def _place(one: Any, path: Path) -> str:
    """A word of the command line that names the data."""
    if isinstance(one, Table):
        return str(one.folder)
    if isinstance(one, (str, os.PathLike)):
        return os.fspath(one) if isinstance(one, os.PathLike) else one
    array = np.asarray(one)
    if array.dtype.kind not in "fiub" or array.ndim < 2:
        raise wrong_type("data", f"{type(one).__name__} of {array.dtype} with {array.ndim} modes",
                         "a path, a table, or an array of numbers with the people first")
    numbers = np.ascontiguousarray(array, dtype=np.float64)
    named = columns_of(one)
    if named is None:
        np.save(path, numbers)
        return str(path)
    path = path.with_suffix(".npz")
    np.savez(path, tensor=numbers, labels_2=np.array(named[1]))
    return str(path)


def _is_table(labels: Any) -> bool:
    return isinstance(labels, (str, os.PathLike)) or is_arrow(labels)


def _tables(labels: Any, sites: int) -> list[Any]:
    """None, one for all, or one for each."""
    if labels is None:
        return []
    if sites == 1 and isinstance(labels, list) and len(labels) == 1 and (_is_table(labels[0]) or np.ndim(labels[0]) == 1):
        return labels
    if sites == 1 or _is_table(labels):
        return [labels]
    if not isinstance(labels, (list, tuple)) or len(labels) != sites:
        raise wrong_type("labels", f"a {type(labels).__name__}", f"one table with identifiers, or a list of {sites}: one per site")
    return list(labels)


def _place_labels(labels: Any, path: Path) -> str:
    if isinstance(labels, (str, os.PathLike)):
        return str(labels)
    if is_arrow(labels) and not _is_series(labels):
        write_csv(labels, path)
        return str(path)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)  # a missing label is a line that is not empty
        writer.writerow(["label"])
        writer.writerows([[_text(one)] for one in _sequence(labels)])
    return str(path)


def _is_series(labels: Any) -> bool:
    """A column of pandas or polars speaks Arrow too, without a name for its records."""
    return np.ndim(labels) == 1


def _sequence(labels: Any) -> Sequence[Any]:
    array = np.asarray(labels, dtype=object) if not isinstance(labels, np.ndarray) else labels
    if array.ndim != 1:
        raise wrong_type("labels", f"an array of {array.ndim} modes", "one label per person")
    found: list[Any] = array.tolist()
    return found


def _text(label: Any) -> str:
    if label is None or type(label).__name__ in ("NAType", "NaTType") or label != label:
        return ""
    if isinstance(label, (bool, np.bool_)):
        return str(int(label))
    return str(label)


def _columns(path: Path) -> dict[str, list[Any]]:
    """A file of predictions by its columns, numbers as numbers."""
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.reader(file)
        names = next(reader)
        columns: list[list[Any]] = [list(column) for column in zip(*reader)]
    told = names.index("predicted")
    result: dict[str, list[Any]] = {}
    for at, (name, column) in enumerate(zip(names, columns)):
        kind: Any = float if at > told else int if name in ("row", "fold") else str
        result[name] = [kind(cell) for cell in column]
    return result
