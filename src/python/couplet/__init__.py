"""Coupled tensor trains: what several owners' tensors share, found without moving the data.

>>> import numpy as np, couplet
>>> couplet.decompose(np.ones((4, 5, 6))).ranks
(1, 1, 1, 1)
"""

from __future__ import annotations

import atexit as _atexit
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._built_for import require_engine as _require_engine

_require_engine()

from . import _engine, data  # noqa: E402
from ._classify import Classification, classify
from ._command import command
from ._errors import ConversionWarning, InputError, RunError
from ._explain import Component, Explanation, explain
from ._factor import Factors, factor
from ._federation import Projection, SimulationResult, audit, project, simulate
from ._labels import ModeLabels
from ._schema import Difference, Schema, schema
from ._table import Table, table
from ._tensor_train import TensorTrain, decompose, load, read_tensor, singular_values
from ._threads import set_threads, threads
from ._watch import set_progress

if _TYPE_CHECKING:
    from . import plot
    from ._estimator import CoupledTensorTrain
    from ._factor_estimators import FederatedCP, FederatedNNCP, FederatedTucker

__version__ = _engine.version()
__all__ = [
    "Classification",
    "Component",
    "ConversionWarning",
    "CoupledTensorTrain",
    "Difference",
    "Explanation",
    "Factors",
    "FederatedCP",
    "FederatedNNCP",
    "FederatedTucker",
    "InputError",
    "ModeLabels",
    "Projection",
    "RunError",
    "Schema",
    "SimulationResult",
    "Table",
    "TensorTrain",
    "audit",
    "classify",
    "command",
    "data",
    "decompose",
    "explain",
    "factor",
    "load",
    "plot",
    "project",
    "read_tensor",
    "schema",
    "set_progress",
    "set_threads",
    "simulate",
    "singular_values",
    "table",
    "threads",
]

# Work of daemon threads, or left behind by Ctrl-C, must not meet an interpreter that is being taken down.
_atexit.register(_engine.end_all_work)


def __getattr__(name: str) -> _Any:
    """What needs scikit-learn or matplotlib is loaded when it is used."""
    import importlib

    if name == "CoupledTensorTrain":
        return importlib.import_module("._estimator", __name__).CoupledTensorTrain
    if name in ("FederatedCP", "FederatedNNCP", "FederatedTucker"):
        return getattr(importlib.import_module("._factor_estimators", __name__), name)
    if name == "plot":
        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module 'couplet' has no attribute {name!r}")
