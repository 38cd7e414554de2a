"""The coupled decomposition with scikit-learn's conventions."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator
from typing import Any

import numpy as np

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_array, check_is_fitted, validate_data
except ImportError as missing:  # pragma: no cover - tested in an environment of its own
    raise ImportError("couplet.CoupledTensorTrain: scikit-learn 1.6 or newer is not installed; "
                      "expected it beside couplet. Run: pip install couplet[sklearn]") from missing

from ._arrays import Array, as_client, refuse_categories
from ._errors import InputError, refuse_misnamed
from ._federation import Projection, SimulationResult, expand, labels_of_each, project, simulate
from ._labels import ModeLabels, columns_of
from ._tensor_train import TensorTrain


class CoupledTensorTrain(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Features that several owners of tensors share, and every patient in terms of them.

    Parameters are the flags of `couplet simulate`, with underscores. Give `rank` for a fixed number of numbers per
    patient, `eps` for a certified relative error, `bytes` for what a client may send and receive, or nothing (eps 0.1).
    With missing="impute" NaN stands for what nobody knows, in transform() too. centre=True takes the mean of every feature
    over all clients away, scale=True its standard deviation too; transform() does the same to new patients,
    inverse_transform() puts both back, and errors are those of such data. secure=True lets clients send masked sums of which
    nobody can read a single one, which hides who contributed what but not the records; it needs three clients or more.

    fit() takes a list of arrays, one per client, patients first; or one array and `groups`, the client of each patient;
    or one array, which is then the only client. Arrays have two or more modes; transform() gives patients x R_1.

    Attributes
    ----------
    feature_cores_ : TensorTrain with an open first rank R_1; what all clients share
    personal_cores_ : list of arrays patients x R_1, one per client
    rse_, rse_per_client_ : squared error over squared norm, of all and of each
    rel_error_bound_ : certified bound of sqrt(rse_); None where there is none (only aggregate="stack" has one)
    ranks_ : R_1, ..., R_N of the feature cores
    weights_ : importance of each of the R_1 directions, largest first
    feature_names_in_ : names of the columns, from a pandas DataFrame or, of two-dimensional arrays, from labels
    feature_labels_ : ModeLabels of the feature modes, where they are known, in the order that transform() expects
    result_ : everything else that simulate() reports

    >>> import numpy as np
    >>> from couplet import CoupledTensorTrain
    >>> rng = np.random.default_rng(0)
    >>> basis = rng.normal(size=(3, 6 * 5))
    >>> clients = [(rng.normal(size=(n, 3)) @ basis).reshape(n, 6, 5) for n in (20, 30)]
    >>> model = CoupledTensorTrain(rank=3).fit(clients)
    >>> model.transform(clients[0]).shape
    (20, 3)
    >>> bool(model.score(clients[1]) > 0.999)
    True
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> CoupledTensorTrain:
        # scikit-learn reads the parameters off __init__, which can take no others.
        refuse_misnamed("CoupledTensorTrain", kwargs, {"n_components": "rank", "max_rank": "rank", "random_state": "seed"})
        made: CoupledTensorTrain = super().__new__(cls)
        return made

    def __init__(self, rank: int | None = None, *, eps: float | None = None, eps1: float | None = None,
                 eps2: float | None = None, bytes: Any = None, bytes_total: Any = None, precision: str | None = None,
                 network: str = "star", aggregate: str | None = None, refit: bool | None = None,
                 sketch: str | None = None, passes: int | None = None, graph: str | None = None,
                 weights: str | None = None, consensus: str | None = None, iterations: Any = None,
                 schema: Any = None, unnamed: str | None = None, missing: str = "refuse", centre: bool = False,
                 scale: bool = False, scale_clients: str = "none", secure: bool = False, heldout: float | None = None,
                 method: str = "ctt", seed: int = 0) -> None:
        self.rank = rank
        self.eps = eps
        self.eps1 = eps1
        self.eps2 = eps2
        self.bytes = bytes
        self.bytes_total = bytes_total
        self.precision = precision
        self.network = network
        self.aggregate = aggregate
        self.refit = refit
        self.sketch = sketch
        self.passes = passes
        self.graph = graph
        self.weights = weights
        self.consensus = consensus
        self.iterations = iterations
        self.schema = schema
        self.unnamed = unnamed
        self.missing = missing
        self.centre = centre
        self.scale = scale
        self.scale_clients = scale_clients
        self.secure = secure
        self.heldout = heldout
        self.method = method
        self.seed = seed

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, labels: Any = None) -> CoupledTensorTrain:
        """Runs the federation. y is ignored. groups: the client of each patient of one array, in any order; clients come
        in the order of their sorted groups. labels: names of the modes, as in simulate(); those of DataFrames are their
        columns. Clients whose columns come in another order are put in that of most."""
        clients = self._clients(X, groups)
        known = labels if labels is not None else _columns_as_labels(X, len(clients))
        flags = {name: value for name, value in self.get_params(deep=False).items() if value is not None}
        # The defaults are left out: they are no wish of the user's, and some methods refuse to be told.
        for name, default in (("network", "star"), ("method", "ctt"), ("scale_clients", "none"), ("missing", "refuse")):
            if flags[name] == default:
                del flags[name]
        self._store(simulate(clients, labels=known, **flags), beside_arrays=labels is not None)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """fit(X).transform(X): of a list of clients their patients one below the other; of one array its patients in
        their order, whatever the groups."""
        self.fit(X, y, **fit_params)
        if not _is_list_of_clients(X):
            return self.transform(X)
        labels = fit_params.get("labels")
        known = labels if labels is not None else _columns_as_labels(X, len(X))
        clients = [as_client(_values(x), f"client {k + 1}") for k, x in enumerate(X)]
        rows = [self._embedded(x, own).personal for x, own in zip(clients, labels_of_each(clients, known))]
        return self._below_each_other(rows, X)

    def transform(self, X: Any, *, labels: Any = None) -> Any:
        """Patients in terms of the features: an array n x R_1 that fits them best. labels: of the modes of X; without them
        an array is taken to be in the order of feature_labels_."""
        check_is_fitted(self)
        return self._embedded(self._checked(X), self._labels_of(X, labels)).personal

    def inverse_transform(self, X: Any) -> Array:
        """The tensors that rows of transform() stand for: n x I_2 x ... x I_N."""
        check_is_fitted(self)
        return expand(as_client(X, "X"), self.feature_cores_)

    def score(self, X: Any, y: Any = None, *, labels: Any = None) -> float:
        """1 - RSE of these patients on the features: 1 is perfect, 0 is no better than nothing."""
        check_is_fitted(self)
        return 1.0 - self._embedded(self._checked(X), self._labels_of(X, labels)).rse

    def _below_each_other(self, rows: list[Array], X: Any) -> Any:
        """One array; with set_output(transform="pandas") a frame with the index of the clients' frames, which scikit-learn
        finds in one frame only."""
        whole = np.concatenate(rows)
        wanted = getattr(self, "_sklearn_output_config", {}).get("transform") or get_config()["transform_output"]
        if wanted != "pandas" or not all(hasattr(x, "iloc") for x in X):
            return whole
        return type(X[0])(whole, index=X[0].index.append([x.index for x in X[1:]]))

    def _labels_of(self, X: Any, labels: Any) -> Any:
        """Of a data frame its columns, where the features have names: scikit-learn compares those that are texts alone."""
        if labels is None and len(self.feature_labels_) == 1 and self.feature_labels_[0].entries:
            return columns_of(X)
        return labels

    def _embedded(self, X: Array, labels: Any) -> Projection:
        # Names of columns are scikit-learn's to check; arrays without names are in the order of the features.
        return project(self.feature_cores_, X, labels=labels, unnamed="allow" if labels is None else "refuse",
                       missing=self.missing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.input_tags.allow_nan = self.missing == "impute"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.feature_cores_.ranks[0]

    def _clients(self, X: Any, groups: Any) -> list[Array]:
        if _is_list_of_clients(X):
            if groups is not None:
                raise InputError("groups: given with a list of clients; expected it with one array only")
            clients = [as_client(_values(x), f"client {k + 1}") for k, x in enumerate(X)]
            self._validated(X[0], reset=True)
            return clients
        array = self._validated(X, reset=True)
        if groups is None:
            return [array]
        owners = np.asarray(groups)
        if owners.shape != (array.shape[0],):
            raise InputError(f"groups: shape {owners.shape}; expected ({array.shape[0]},), one per patient")
        if any(owner is None or owner != owner for owner in owners.tolist()):
            raise InputError("groups: patients without a client (None or NaN); expected one for each patient")
        return [np.ascontiguousarray(array[owners == owner]) for owner in np.unique(owners)]

    def _checked(self, X: Any) -> Array:
        return self._validated(X, reset=False)

    def _validated(self, X: Any, reset: bool) -> Array:
        """scikit-learn's checks, which also take the names of the columns."""
        refuse_categories(X, "X")
        if not reset and self._names_are_labels and not hasattr(X, "columns"):
            # The names came beside arrays, so that an array without them is no surprise worth a warning.
            with self._naming_impute():
                array: Array = check_array(X, dtype=np.float64, order="C", allow_nd=True, ensure_all_finite=self._finite())
            if array.shape[1] != self.n_features_in_:
                raise InputError(f"X: {array.shape[1]} features; expected {self.n_features_in_} as in fit()")
            return array
        with self._naming_impute():
            checked: Array = validate_data(self, X, reset=reset, dtype=np.float64, order="C", allow_nd=True,
                                           ensure_all_finite=self._finite())
        return checked

    @contextlib.contextmanager
    def _naming_impute(self) -> Iterator[None]:
        """Where scikit-learn finds NaN it names other estimators."""
        try:
            yield
        except ValueError as error:
            if "contains NaN" not in str(error):
                raise
            raise InputError("X: contains NaN; expected finite numbers only. With missing='impute' and a rank they are "
                             "filled. Or replace or remove missing values first.") from None

    def _finite(self) -> Any:
        return "allow-nan" if self.missing == "impute" else True

    def _store(self, result: SimulationResult, beside_arrays: bool) -> None:
        features = result.features
        if features is None:
            raise InputError(f"method: {self.method!r} shares no features; expected a method that does")
        self.result_ = result
        self.feature_cores_: TensorTrain = features
        self.feature_labels_: list[ModeLabels] = features.labels
        self.personal_cores_: list[Array] = result.personal
        self.weights_: Array = result.weights
        self.rse_: float = result.rse
        self.rse_per_client_: Array = np.array(result.rse_per_client)
        self.rel_error_bound_: float | None = result.rel_error_bound if "rel_error_bound" in result else None
        self.ranks_: tuple[int, ...] = tuple(result.ranks)
        self._names_are_labels = False
        if len(features.shape) == 1 and features.labels and features.labels[0].entries:
            named = hasattr(self, "feature_names_in_")
            if named or beside_arrays:  # columns that are no texts are no names to scikit-learn
                self.feature_names_in_ = np.array(features.labels[0].entries, dtype=object)
            self._names_are_labels = beside_arrays and not named


# Of __init__, which says what there is; __new__ takes anything, to say what is meant.
setattr(CoupledTensorTrain, "__signature__", inspect.signature(CoupledTensorTrain.__init__).replace(
    parameters=list(inspect.signature(CoupledTensorTrain.__init__).parameters.values())[1:]))


def _is_list_of_clients(items: Any) -> bool:
    """Whether this is a list of clients, and not one array written as lists."""
    return isinstance(items, (list, tuple)) and len(items) > 0 and all(getattr(item, "ndim", 0) >= 2 for item in items)


def _values(x: Any) -> Any:
    return x.to_numpy() if hasattr(x, "to_numpy") else x


def _columns_as_labels(X: Any, clients: int) -> Any:
    """Labels of each client from the columns of DataFrames; None where nobody has any."""
    labels = [columns_of(x) for x in X] if _is_list_of_clients(X) else [columns_of(X)] * clients
    return labels if any(one is not None for one in labels) else None
