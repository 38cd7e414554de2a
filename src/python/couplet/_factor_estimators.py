"""CP, non-negative CP and Tucker of a federation with scikit-learn's conventions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._arrays import Array
from ._errors import InputError
from ._estimator import CoupledTensorTrain, _columns_as_labels
from ._factor import Factors, factor
from ._federation import Projection, simulate

__all__ = ["FederatedCP", "FederatedNNCP", "FederatedTucker"]

# Directions that the merge keeps for each component, and where their number is not known beforehand: with five times as many the
# errors of the models are those of a fit to all patients to a few parts in a thousand.
_DIRECTIONS = 5
_UNKNOWN = 50


class _FederatedModel(CoupledTensorTrain):
    """What the three have in common: a federation as in CoupledTensorTrain, and a model of what it merged."""

    _model = ""
    # Of CoupledTensorTrain's parameters those that a model has not.
    missing = "refuse"
    method = "ctt"

    def __init__(self, components: int | str = "auto", *, rank: int | None = None, eps: float | None = None,
                 network: str = "star", aggregate: str | None = None, centre: bool = False, scale: bool = False,
                 scale_clients: str = "none", secure: bool = False, starts: int = 4, sweeps: int = 500,
                 seed: int = 0) -> None:
        self.components = components
        self.rank = rank
        self.eps = eps
        self.network = network
        self.aggregate = aggregate
        self.centre = centre
        self.scale = scale
        self.scale_clients = scale_clients
        self.secure = secure
        self.starts = starts
        self.sweeps = sweeps
        self.seed = seed

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, labels: Any = None) -> _FederatedModel:
        """Runs the federation and fits the model to what it merged; arguments as in CoupledTensorTrain.fit()."""
        clients = self._clients(X, groups)
        known = labels if labels is not None else _columns_as_labels(X, len(clients))
        result = simulate(clients, labels=known, **self._flags())
        found = factor(result, model=self._model, components=self.components, data=clients, labels=known, starts=self.starts,
                       sweeps=self.sweeps, unnamed="allow" if known is None else None, seed=self.seed)
        self._store(result, beside_arrays=labels is not None)
        self._take(found)
        return self

    def _flags(self) -> dict[str, Any]:
        flags: dict[str, Any] = {"rank": self.rank, "eps": self.eps, "aggregate": self.aggregate, "seed": self.seed}
        if self.rank is None and self.eps is None:
            components = self.components
            flags["rank"] = _DIRECTIONS * components if isinstance(components, int) and components > 0 else _UNKNOWN
        for name, default in (("network", "star"), ("scale_clients", "none"), ("centre", False), ("scale", False),
                              ("secure", False)):
            if getattr(self, name) != default:
                flags[name] = getattr(self, name)
        return {name: value for name, value in flags.items() if value is not None}

    def _take(self, found: Factors) -> None:
        self.model_ = found
        self.factors_: list[Array] = found.factors
        self.core_: Array | None = found.core
        self.weights_ = found.weights
        self.loadings_: list[Array] = found.loadings
        self.n_components_: int = found.components
        self.rel_error_bound_ = found.rel_error_bound
        if found.rse is None:
            raise InputError("X: no data to measure; expected clients with patients")
        self.rse_ = found.rse
        self.rse_per_client_ = np.array([site["rse"] for site in found.report.loadings["sites"]])
        # What transform(), inverse_transform() and score() of the base class describe patients by.
        self.feature_cores_ = found.rows
        self.personal_cores_ = found.loadings

    def to_tensorly(self, client: int | None = None) -> tuple[Any, list[Array]]:
        """See Factors.to_tensorly()."""
        return self.model_.to_tensorly(client)

    def _embedded(self, X: Array, labels: Any) -> Projection:
        return self.model_.project(X, labels=labels, unnamed="allow" if labels is None else "refuse")


class FederatedCP(_FederatedModel):
    """CP (CANDECOMP/PARAFAC) of all clients' patients, from one merge.

    components: how many, or "auto": as many as come back in halves of the patients. rank, eps and the other parameters are those of the
    federation, as in CoupledTensorTrain; without rank and eps the merge keeps five directions for each component. fit() takes what
    CoupledTensorTrain.fit() takes, transform() gives patients x components.

    Attributes
    ----------
    factors_ : array I_n x R for each feature mode, columns of norm 1
    loadings_ : patients x R of each client; X is about the sum over r of the outer products of column r of loadings_ and of each of factors_
    weights_ : norm of each component over all patients, largest first
    rse_, rse_per_client_ : squared error over squared norm
    rel_error_bound_ : certified bound of the relative error over all patients, with free loadings; None of masked jobs
    model_ : the Factors that couplet.factor() gave; model_.report has everything
    result_ : the federation's result

    >>> import numpy as np
    >>> from couplet import FederatedCP
    >>> rng = np.random.default_rng(0)
    >>> b, c = rng.normal(size=(6, 2)), rng.normal(size=(5, 2))
    >>> clients = [np.einsum("pr,ir,jr->pij", rng.normal(size=(n, 2)), b, c) for n in (30, 20)]
    >>> model = FederatedCP(components=2).fit(clients)
    >>> model.transform(clients[1]).shape, bool(model.rse_ < 0.001)
    ((20, 2), True)
    """

    _model = "cp"


class FederatedNNCP(_FederatedModel):
    """Non-negative CP: parts that add up. Loadings are non-negative too, in transform() as in loadings_; parameters and attributes
    are those of FederatedCP."""

    _model = "nncp"


class FederatedTucker(_FederatedModel):
    """Tucker: an orthonormal basis per feature mode (factors_) and a core (core_, R_1 x ... x R_N); parameters and attributes are
    those of FederatedCP."""

    _model = "tucker"
