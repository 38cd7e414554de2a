"""A whole federation in one process, and what comes out of it."""

from __future__ import annotations

import contextlib
import html
import json
import numbers
import os
import re
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from . import _engine
from ._arrays import Array, as_client, is_real, path_of, real, word
from ._errors import InputError, naming_impute, refuse_misnamed, wrong_type
from ._labels import ModeLabels, as_labels, columns_of
from ._schema import Schema
from ._tensor_train import TensorTrain, load
from ._watch import Watch

# Flags that the command line switches off by another word.
_SWITCHED_OFF = {"refit": "no-refit", "compression": "no-compression"}
_TAKES_VALUE = dict(_engine.simulate_flags())  # by name, with dashes; False: a switch
_TEXTS = ("output", "save_state", "resume", "cache", "graph", "schema", "synthetic", "controls")
_OF_THE_PROCESS = {
    "threads": "couplet.set_threads(n)",
    "json": "nothing: the result has every field as an attribute",
    "quiet": "couplet.set_progress('off'), and the level of the logger 'couplet'",
}


# What other libraries call a flag.
_MEANT = {"n_components": "rank", "max_rank": "rank", "random_state": "seed", "n_clients": "clients", "epsilon": "eps"}


def html_table(values: Mapping[str, Any]) -> str:
    """What notebooks show: a row for each value that is no list of many."""
    def shown(value: Any) -> str:
        return f"{value:.6g}" if isinstance(value, float) else str(value)

    rows = [f"<tr><th style='text-align:left'>{html.escape(str(name))}</th>"
            f"<td style='text-align:left'>{html.escape(shown(value))}</td></tr>"
            for name, value in values.items()
            if not isinstance(value, (dict, list, tuple)) or (len(value) <= 8 and "{" not in str(value))]
    return f"<table>{''.join(rows)}</table>"


class Fields:
    """Named values, nested as in the JSON of the command line."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            value = self._values[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}; it has {', '.join(self._values)}") from None
        return Fields(value) if isinstance(value, dict) else value

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._values]

    def to_dict(self) -> dict[str, Any]:
        """The fields as a plain dictionary."""
        return dict(self._values)

    def __repr__(self) -> str:
        return f"Fields({', '.join(f'{key}={value!r}' for key, value in self._values.items())})"

    def _repr_html_(self) -> str:
        return html_table(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Fields) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]


class SimulationResult(Fields):
    """What `couplet simulate --json` prints, field by field, and the model itself.

    features: TensorTrain with an open first rank, what all clients share; None where nothing is shared. weights: of
    each of its R_1 directions, largest first. personal: the array patients x R_1 of each client, what it keeps.
    """

    features: TensorTrain | None
    weights: Array
    personal: list[Array]

    def __init__(self, values: dict[str, Any], features: TensorTrain | None, weights: Array, personal: list[Array]) -> None:
        super().__init__(values)
        self.features = features
        self.weights = weights
        self.personal = personal

    def reconstruct(self, client: int) -> Array:
        """The model of one client (from 0): its personal core times the features.

        >>> import couplet
        >>> result = couplet.simulate(synthetic="40x6x5:rank=3", clients=2, rank=3)
        >>> result.reconstruct(0).shape
        (20, 6, 5)
        """
        features = self._shared("reconstruct")
        if client != 0 and "own_features" in self:
            raise InputError(f"client: {client} has features of its own, as the nodes did not come to agree; expected 0. "
                             "simulate(..., output=folder) writes everybody's.")
        return expand(self.personal[client], features)

    def save(self, folder: str | os.PathLike[str], *, force: bool = False) -> None:
        """Writes features.npz and personal_<k>.npz, as `couplet simulate -o` does: all of them or none. With `force` they
        replace an earlier result whole, the personal cores of clients that it had more included."""
        features = self._shared("save")
        if "own_features" in self:
            raise InputError("save: nodes with features of their own; expected one for all. Use simulate(..., output=folder).")
        base = os.fsdecode(path_of("folder", folder))
        os.makedirs(base, exist_ok=True)
        earlier = [name for name in os.listdir(base) if re.fullmatch(r"features\.npz|personal_[1-9][0-9]*\.npz", name)]
        if earlier and not force:
            raise InputError(f"{os.path.join(base, min(earlier))}: a file that exists; expected a folder without a result. "
                             "Use force=True to replace it, or another folder.")
        mark = {"features_print": _engine.features_print(features.cores), "version": _engine.version()}
        with tempfile.TemporaryDirectory(prefix=".couplet-", dir=base) as scratch:
            for k, core in enumerate(self.personal):
                _engine.save(os.fsencode(os.path.join(scratch, f"personal_{k + 1}.npz")), [np.ascontiguousarray(core)[None]], 1,
                             [], json.dumps(mark | {"client": k + 1}), False)
            features.save(os.path.join(scratch, "features.npz"))
            made = os.listdir(scratch)
            for name in sorted(set(earlier) - set(made)):
                os.unlink(os.path.join(base, name))
            for name in made:
                os.replace(os.path.join(scratch, name), os.path.join(base, name))

    def _shared(self, what: str) -> TensorTrain:
        if self.features is None:
            raise InputError(f"{what}: a result without shared features; expected one of another method than local")
        return self.features

    def __reduce__(self) -> tuple[Any, ...]:
        return SimulationResult, (self._values, self.features, self.weights, self.personal)

    def __repr__(self) -> str:
        shown = [f"{key}={self._values[key]!r}" for key in ("method", "rse", "rel_error_bound", "ranks") if key in self]
        return f"SimulationResult({', '.join(shown)})"


def expand(personal: Array, features: TensorTrain) -> Array:
    """Personal cores times features: the tensors that they stand for, as they were before --centre and --scale."""
    rank = features.ranks[0]
    if personal.ndim != 2 or personal.shape[1] != rank:
        raise InputError(f"personal: shape {personal.shape}; expected patients x {rank}")
    rows = personal @ features.full().reshape(rank, -1)
    known = centring(features)
    if known.get("scale"):
        rows *= np.array(known["scale"])
    if known.get("mean"):
        rows += np.array(known["mean"])
    return rows.reshape(personal.shape[0], *features.shape)


def centring(features: TensorTrain) -> dict[str, list[float]]:
    """How data was moved and scaled before these features were learnt: mean and scale, feature by feature, or nothing."""
    return dict(features.metadata.get("centring") or {})


def simulate(tensors: Any = None, *, labels: Any = None, names: Any = None, **flags: Any) -> SimulationResult:
    """A whole federation in this process: everything that `couplet simulate` does.

    tensors: a list with one array per client (patients first, then the features, the same for all), or paths of their
    files, or a mapping of names to either; one array with `split=K`; nothing with `synthetic="200x30x30", clients=K`. labels: names of the modes of each
    client: a list with one item per mode (see ModeLabels), or a list of such lists, one per client; of data frames the
    names of their columns, unless labels are given. Data whose labels come
    in another order is put in the order of most clients; other labels or units are refused, and so are labels at some
    clients only unless unnamed="allow". names: of the clients; needed with save_state and resume, where they tell who
    joins and who replaces an earlier contribution. schema: a Schema or the path of one, for all clients to follow.

    flags are those of the command line, with underscores: rank, eps, eps1, eps2, network ("star" or "decentralized"),
    aggregate ("stack", "average" or "subspace"), refit, sketch, passes, graph, weights, consensus, iterations,
    scale_clients, centre, scale, heldout, missing, precision, bytes, bytes_total, secure, policy, dp_epsilon, dp_delta,
    clip, save_state, resume, dry_run, unnamed, method and its parameters, output, force, seed.
    True switches one on, False off; None leaves it out. `couplet simulate --help-all` explains each.

    ValueError in the engine's words for what it refuses; TypeError for a flag that does not exist.

    >>> import numpy as np, couplet
    >>> rng = np.random.default_rng(0)
    >>> clients = [rng.normal(size=(n, 6, 5)) for n in (12, 9, 10)]
    >>> result = couplet.simulate(clients, rank=4, network="star")
    >>> result.ranks[0], result.personal[1].shape
    (4, (9, 4))
    >>> bool(result.rse ** 0.5 <= result.rel_error_bound)
    True
    """
    refuse_misnamed("simulate", flags, _MEANT)
    tensors, names = _by_name(tensors, names)
    arguments, arrays, mode_labels = _inputs(tensors, labels)
    client_names = _names(names, arrays, flags)
    with _as_file(flags) as all_flags:
        for name, value in all_flags.items():
            arguments += [os.fsencode(word) for word in _argument(name, value)]
        with naming_impute("With missing='impute' and a rank they are filled."):
            made = _run(arguments, arrays, mode_labels, client_names)
    text, cores, weights, orthonormal, personal, feature_labels, metadata = made
    values = json.loads(text)
    if values.get("missing", {}).get("settled") is False:
        warnings.warn(f"missing: the filled values still moved by {values['missing']['change']:.2g} after "
                      f"{values['missing']['iterations']} iterations; expected them to settle. Use a smaller rank.",
                      RuntimeWarning, stacklevel=2)
    features = None
    if cores is not None:
        kept = json.loads(metadata) | {"features": True, "orthonormal": orthonormal, "sigma": list(weights)}
        features = TensorTrain._made(cores, [ModeLabels(*mode) for mode in feature_labels], kept)
    return SimulationResult(values, features, np.array(weights), personal)


def audit(tensors: Any = None, *, labels: Any = None, names: Any = None, **flags: Any) -> Fields:
    """Attacks what a client would send and what the federation publishes: everything that `couplet audit` does.

    tensors, labels and names as in simulate(). flags are those of the command line, with underscores: rank, client (from
    1), split, eps1, sketch, passes, heldout, controls (a path), dp_epsilon, dp_delta, clip, output, force, seed.
    dp_epsilon needs clip. The result has the fields of the JSON: verdict is the worst of all, findings has one item for
    every mode and whoever sees it.

    >>> import numpy as np, couplet
    >>> x = (np.random.default_rng(0).random((60, 6, 8)) < 0.1).astype(float)
    >>> found = couplet.audit(x, split=3, rank=4)
    >>> found.clients, found.findings[0]["seen_by"]
    (3, 'coordinator')
    """
    refuse_misnamed("audit", flags, _MEANT)
    tensors, names = _by_name(tensors, names)
    arguments, arrays, mode_labels = _inputs(tensors, labels)
    for name, value in flags.items():
        arguments += [os.fsencode(word) for word in _audit_argument(name, value)]
    return Fields(json.loads(_run(arguments, arrays, mode_labels, _names(names, arrays, {}), "audit")))


def _audit_argument(name: str, value: Any) -> list[str]:
    if name in _OF_THE_PROCESS:
        raise TypeError(f"{name}: a flag of the process; expected {_OF_THE_PROCESS[name]}")
    flag = "--" + name.replace("_", "-")
    if value is None or value is False:
        return []
    return [flag] if value is True else [f"{flag}={_text(name, value)}"]


def _run(arguments: list[bytes], arrays: list[Array], labels: list[list[tuple[Any, ...]]], names: list[str],
         verb: str = "simulate") -> Any:
    try:
        return getattr(_engine, verb)(arguments, arrays, labels, names, Watch)
    except InputError as error:
        if ": no such option" in str(error):
            raise TypeError(str(error).replace("no such option", "no such flag").replace(f"an option of couplet {verb}",
                                                                                         f"a flag of couplet {verb}")) from None
        raise


@contextlib.contextmanager
def _as_file(flags: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A Schema among the flags as a file, which is what the command line takes."""
    schema = flags.get("schema")
    if not isinstance(schema, Schema):
        yield flags
        return
    with tempfile.TemporaryDirectory(prefix="couplet-") as folder:
        path = os.path.join(folder, "schema.json")
        schema.save(path)
        yield {**flags, "schema": path}


def _by_name(tensors: Any, names: Any) -> tuple[Any, Any]:
    """Clients given by name, as a list and its names. Files bring names of their own."""
    if not isinstance(tensors, Mapping):
        return tensors, names
    if not all(isinstance(name, str) for name in tensors):
        raise wrong_type("tensors", "a mapping of other keys", "names of clients as keys")
    if names is not None:
        raise InputError("names: given with a mapping, whose keys are names; expected one or the other")
    items = list(tensors.values())
    files = any(isinstance(item, (str, os.PathLike)) for item in items)
    return items, None if files else list(tensors)


def _names(names: Any, arrays: list[Array], flags: dict[str, Any]) -> list[str]:
    if names is None:
        if arrays and not flags.get("split") and (flags.get("save_state") or flags.get("resume")):
            raise InputError("names: missing with save_state or resume; expected one name per client. "
                             "A saved merge knows its clients by name.")
        return []
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise wrong_type("names", repr(names), "a list of texts")
    given = [str(name) for name in names]
    if len(given) != len(arrays) or len(set(given)) != len(given):
        raise InputError(f"names: {len(given)} names, {len(set(given))} of them different; expected {len(arrays)}, one for "
                         "each array")
    return given


class Projection:
    """New patients in terms of a federation's features.

    personal: patients x R_1. rse: squared error over squared norm, of the known entries. reordered: in words, what was put
    in the order of the features; empty: nothing. With missing="impute" also missing_fraction, and loose and unknown: the
    patients of whom too little and nothing is known.
    """

    __slots__ = ("loose", "missing_fraction", "personal", "reordered", "rse", "unknown")

    def __init__(self, personal: Array, rse: float, reordered: str, missing_fraction: float, loose: list[int],
                 unknown: list[int]) -> None:
        self.personal = personal
        self.rse = rse
        self.reordered = reordered
        self.missing_fraction = missing_fraction
        self.loose = loose
        self.unknown = unknown

    def __repr__(self) -> str:
        return f"Projection(patients={self.personal.shape[0]}, rank={self.personal.shape[1]}, rse={self.rse:.4g})"


def project(features: TensorTrain | str | os.PathLike[str], x: Any, *, labels: Any = None,
            unnamed: str = "refuse", missing: str = "refuse") -> Projection:
    """Embeds new patients with frozen features, as `couplet project`.

    features: SimulationResult.features, or the path of a features.npz. x: patients first, then the features' modes.
    labels: of the modes of x, a data frame's own unless given; the same labels in another order are put in that of the
    features, others are refused. An array without labels on features that have some needs unnamed="allow": it is then taken to be in their order.
    missing: "impute" fits every patient to what is known of it, NaN standing for the rest; "refuse" refuses NaN.

    >>> import couplet
    >>> result = couplet.simulate(synthetic="40x6x5:rank=3", clients=2, rank=3)
    >>> couplet.project(result.features, result.reconstruct(1)).rse < 1e-12
    True
    """
    if isinstance(features, (str, os.PathLike)):
        features = load(features)
    if not isinstance(features, TensorTrain):
        raise wrong_type("features", f"a {type(features).__name__}", "a TensorTrain of features, or a path")
    array = as_client(x, "x")
    if array.shape[1:] != features.shape:
        raise InputError(f"x: feature modes {_shape(array.shape[1:])}; expected {_shape(features.shape)} as in the "
                         "features. Only the first mode, the patients, may differ.")
    impute = word("missing", missing, ("refuse", "impute")) == "impute"
    if impute and np.isinf(array).any():
        at = tuple(int(i) for i in np.argwhere(np.isinf(array))[0])
        raise InputError(f"x: infinity at index {at}; expected finite numbers, or NaN for what is not known")
    cores = [core.astype(np.float64, copy=False) for core in features.cores]
    own = [tuple(mode) for mode in as_labels(columns_of(x) if labels is None else labels, array.shape)[1:]]
    with naming_impute("With missing='impute' every patient is fitted to what is known of it."):
        return Projection(*_engine.project(cores, [tuple(mode) for mode in features.labels], array, own,
                                           word("unnamed", unnamed, ("refuse", "allow")), impute,
                                           json.dumps({"centring": centring(features)} if centring(features) else {}), Watch))


def _shape(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _inputs(tensors: Any, labels: Any) -> tuple[list[bytes], list[Array], list[list[tuple[Any, ...]]]]:
    """Files as arguments, arrays as they are, and labels for each array."""
    if tensors is None:
        items: list[Any] = []
    elif isinstance(tensors, (str, os.PathLike)) or hasattr(tensors, "__array__"):
        items = [tensors]
    elif isinstance(tensors, Sequence):
        items = list(tensors)
    else:
        raise wrong_type("tensors", f"a {type(tensors).__name__}", "a list of arrays or of paths")
    if tensors is not None and not items:
        raise InputError("tensors: no clients; expected one array or path per client")
    files: list[bytes] = [os.path.abspath(path_of("tensors", item)) for item in items if isinstance(item, (str, os.PathLike))]
    if files and len(files) != len(items):
        raise wrong_type("tensors", "arrays and paths together", "one or the other")
    if files:
        if labels is not None:
            raise InputError("labels: given with files; expected the labels that the files hold. Leave it out.")
        return files, [], []
    arrays = [as_client(item, f"client {k + 1}") for k, item in enumerate(items)]
    if labels is None:
        return [], arrays, labels_of_frames(items, arrays)
    return [], arrays, labels_of_each(arrays, labels)


def labels_of_frames(items: Sequence[Any], arrays: list[Array]) -> list[list[tuple[Any, ...]]]:
    """Labels of the modes of each client from the columns of data frames; none for what is no frame."""
    return [[tuple(mode) for mode in as_labels(columns_of(item), array.shape, f"columns of client {k + 1}")]
            for k, (item, array) in enumerate(zip(items, arrays))]


def labels_of_each(arrays: list[Array], labels: Any) -> list[list[tuple[Any, ...]]]:
    """Labels of the modes of each client, from labels for all or one item per client."""
    if labels is None:
        return [[] for _ in arrays]
    if isinstance(labels, (str, bytes, dict, set)) or not isinstance(labels, Sequence):
        raise wrong_type("labels", f"a {type(labels).__name__}", "a list with an item for each mode, or for each client")
    per_client = len(labels) == len(arrays) and all(_is_mode_list(item, array.ndim) for item, array in zip(labels, arrays))
    chosen = labels if per_client else [labels] * len(arrays)
    return [[tuple(mode) for mode in as_labels(one, array.shape, f"labels of client {k + 1}")]
            for k, (one, array) in enumerate(zip(chosen, arrays))]


def _is_mode_list(item: Any, modes: int) -> bool:
    if item is None:
        return True
    return isinstance(item, list) and len(item) == modes and not any(isinstance(mode, str) for mode in item)


def _argument(name: str, value: Any) -> list[str]:
    """One flag as the command line takes it."""
    if name in _OF_THE_PROCESS:
        raise TypeError(f"{name}: a flag of the process; expected {_OF_THE_PROCESS[name]}")
    flag = name.replace("_", "-")
    if flag not in _TAKES_VALUE and name not in _SWITCHED_OFF:
        return [f"--{flag}"]  # the engine knows what to say, and what was meant
    if value is None:
        return []
    if name in _SWITCHED_OFF or not _TAKES_VALUE[flag]:
        if not isinstance(value, (bool, np.bool_)):
            raise wrong_type(name, repr(value), "True or False")
        switch = flag if value else _SWITCHED_OFF.get(name)
        return [f"--{switch}"] if switch in _TAKES_VALUE else []
    return [f"--{flag}={_text(name, value)}"]


def _text(name: str, value: Any) -> str:
    """The value of a flag as the command line takes it; numbers with every digit."""
    if name in _TEXTS and not isinstance(value, (str, os.PathLike)):
        raise wrong_type(name, repr(value), "a text")
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if not isinstance(text, str) or "\0" in text:
            raise InputError(f"{name}: {value!r}; expected a text without NUL")
        return text
    if not is_real(value):
        raise wrong_type(name, f"a {type(value).__name__}", "a number, a text or None")
    if isinstance(value, numbers.Integral) or getattr(value, "dtype", np.dtype(float)).kind in "iu":
        return str(int(value))
    return repr(real(name, value))
