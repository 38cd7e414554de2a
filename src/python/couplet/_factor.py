"""Models fitted to what a federation has merged: PCA, CP, non-negative CP, Tucker."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ._arrays import Array, as_client
from ._errors import InputError, wrong_type
from ._federation import Fields, Projection, SimulationResult, labels_of_each, labels_of_frames, project
from ._tensor_train import TensorTrain, load
from ._verb import flags, run_verb

__all__ = ["Factors", "factor"]


@dataclass(frozen=True)
class Factors:
    """What couplet.factor() found.

    factors: one array I_n x R per feature mode, columns of norm 1 (none of PCA of several feature modes). weights: norm of each
    component over all patients, largest first. core: of Tucker, R_1 x ... x R_N. loadings: patients x R of each client, of its data
    where that was given and of its projections otherwise. rows: the TensorTrain R x I_2 x ... x I_N that loadings are of.
    rel_error is that on the merge; report has every field of `couplet factor --json`.
    """

    model: str
    components: int
    factors: list[Array] = field(repr=False)
    weights: Array = field(repr=False)
    loadings: list[Array] = field(repr=False)
    rows: TensorTrain = field(repr=False)
    rel_error: float
    rel_error_bound: float | None = None
    rse: float | None = None
    core: Array | None = field(default=None, repr=False)
    report: Fields = field(default_factory=lambda: Fields({}), repr=False)

    def project(self, x: Any, *, labels: Any = None, unnamed: str = "refuse") -> Projection:
        """New patients in terms of the model: by least squares, of nncp by non-negative least squares."""
        if self.model != "nncp":
            return project(self.rows, x, labels=labels, unnamed=unnamed)
        array = as_client(x, "x")
        with tempfile.TemporaryDirectory(prefix="couplet-") as scratch:
            self.rows.save(os.path.join(scratch, "factors.npz"))
            names = labels_of_frames([x], [array]) if labels is None else labels_of_each([array], labels)
            file = _data_file(array, names[0], Path(scratch) / "x")
            fitted = os.path.join(scratch, "loadings.npz")
            told = run_verb("project", os.path.join(scratch, "factors.npz"), file, "-o", fitted, *flags(unnamed=unnamed))
            return Projection(_loadings(fitted), told["rse"], told.get("reordered", ""), 0.0, [], [])

    def to_tensorly(self, client: int | None = None) -> tuple[Any, list[Array]]:
        """The pair that TensorLy's functions take: (weights, factors) of CP, (core, factors) of Tucker; the first factor is the
        patients of one client (from 0), or of all, one client below the other.

        >>> import couplet
        >>> result = couplet.simulate(synthetic="60x6x5:rank=2", clients=2, rank=4)
        >>> weights, factors = couplet.factor(result, model="cp", components=2).to_tensorly()
        >>> [factor.shape for factor in factors]
        [(60, 2), (6, 2), (5, 2)]
        """
        if not self.loadings:
            raise InputError("to_tensorly: no loadings; expected those of at least one client. Give factor() its data.")
        if self.model == "pca":
            raise InputError("to_tensorly: pca; expected cp, nncp or tucker, whose factors TensorLy has")
        patients = np.concatenate(self.loadings) if client is None else self.loadings[client]
        head = np.ones(self.components) if self.core is None else self.core
        return head, [patients, *self.factors]


def factor(result: Any, *, model: str = "cp", components: int | str = "auto", data: Sequence[Any] | None = None,
           labels: Any = None, starts: int | None = None, sweeps: int | None = None, most: int | None = None,
           resamples: int | None = None, unnamed: str | None = None, output: str | os.PathLike[str] | None = None,
           force: bool = False, seed: int = 0) -> Factors:
    """`couplet factor`: fits a model of the feature modes to a federation's result, without another round.

    result: what simulate() returned, or the path of a folder or a features.npz. model: "pca", "cp", "nncp" or "tucker".
    components: how many, or "auto": as many as come back in halves of the patients; RunError where nothing does. data: the clients'
    arrays (or paths), in their order: loadings are fitted to them, and the error is measured. labels: of these arrays, as in
    simulate(). output: a folder for factors.npz, loadings_<k>.npz and, of "auto", choice.svg.

    >>> import couplet
    >>> result = couplet.simulate(synthetic="80x6x5:rank=2,noise=0.1", clients=2, rank=5)
    >>> found = couplet.factor(result, model="cp", components=2)
    >>> [factor.shape for factor in found.factors], found.loadings[0].shape
    ([(6, 2), (5, 2)], (40, 2))
    >>> bool(found.rel_error <= found.rel_error_bound)
    True
    """
    if not isinstance(result, (SimulationResult, str, os.PathLike)):
        raise wrong_type("result", f"a {type(result).__name__}", "what simulate() returned, or a path")
    with tempfile.TemporaryDirectory(prefix="couplet-") as scratch:
        if isinstance(result, SimulationResult):
            result.save(os.path.join(scratch, "result"))
        source = os.path.join(scratch, "result") if isinstance(result, SimulationResult) else os.fspath(result)
        folder = os.fspath(output) if output is not None else os.path.join(scratch, "factors")
        told = run_verb("factor", source,
                        *flags(model=model, components=components, data=_files(data, labels, Path(scratch)), starts=starts,
                               sweeps=sweeps, most=most, resamples=resamples, unnamed=unnamed, output=folder, force=force,
                               seed=seed))
        return _read(told, Path(folder))


def _read(told: dict[str, Any], folder: Path) -> Factors:
    rows = load(folder / "factors.npz")
    with np.load(folder / "factors.npz") as arrays:
        factors = [arrays[f"factor_{n}"] for n in range(2, len(told["shape"]) + 2) if f"factor_{n}" in arrays]
        core = arrays["core"] if "core" in arrays else None
        weights = arrays["weights"]
    sites = told.get("loadings", {}).get("sites", [])
    files = [folder / f"loadings_{k}.npz" for k in range(1, len(sites) + 1)]
    nobody = np.zeros((0, told["components"]))
    return Factors(model=told["model"], components=told["components"], factors=factors, weights=weights, core=core, rows=rows,
                   loadings=[_loadings(file) if file.exists() else nobody for file in files], rel_error=told["rel_error"],
                   rel_error_bound=told.get("rel_error_bound"), rse=told.get("rse"), report=Fields(told))


def _loadings(file: str | os.PathLike[str]) -> Array:
    with np.load(file) as arrays:
        found: Array = arrays["core_1"][0]
        return found


def _files(data: Sequence[Any] | None, labels: Any, scratch: Path) -> list[str] | None:
    """Words of the command line that name the clients' data."""
    if data is None:
        return None
    if isinstance(data, (str, os.PathLike, np.ndarray)) or not all(
            isinstance(one, (str, os.PathLike)) or hasattr(one, "shape") for one in data):
        raise wrong_type("data", f"a {type(data).__name__}", "a list with one array or path per client")
    arrays = [as_client(one, f"data {k + 1}") for k, one in enumerate(data) if not isinstance(one, (str, os.PathLike))]
    if len(arrays) < len(data):
        if arrays:
            raise InputError("data: arrays and paths; expected one kind")
        return [os.fspath(one) for one in data]
    names = labels_of_frames(data, arrays) if labels is None else labels_of_each(arrays, labels)
    return [_data_file(array, names[k], scratch / f"data_{k + 1}") for k, array in enumerate(arrays)]


def _data_file(array: Array, labels: list[tuple[Any, ...]], path: Path) -> str:
    if not labels:
        np.save(f"{path}.npy", array)
        return f"{path}.npy"
    named: dict[str, Any] = {"mode_names": np.array([name for name, _, _ in labels])}
    for n, (_, entries, units) in enumerate(labels, 1):
        if entries:
            named[f"labels_{n}"] = np.array(entries)
        if units:
            named[f"units_{n}"] = np.array(units)
    np.savez(f"{path}.npz", tensor=array, **named)
    return f"{path}.npz"
