"""Pictures of tensors, features and federations, with matplotlib.

Every function draws on the axes it is given, or on new ones, and returns them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

try:
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes
    from matplotlib.ticker import MaxNLocator
except ImportError as missing:  # pragma: no cover - tested in an environment of its own
    raise ImportError("couplet.plot: matplotlib is not installed; expected it beside couplet. "
                      "Run: pip install couplet[plot]") from missing

from . import _engine
from ._arrays import Array, count
from ._errors import InputError, wrong_type
from ._federation import SimulationResult
from ._labels import ModeLabels
from ._tensor_train import TensorTrain
from ._tensor_train import singular_values as _singular_values

__all__ = ["error_against_bytes", "error_against_rank", "features", "network", "singular_values"]

_MOST_NAMES = 45  # labels on one axis; more cannot be read


def singular_values(x: Any, ax: Axes | None = None) -> Axes:
    """Singular values of each unfolding of a tensor, relative to the largest: where they fall, a rank can be cut.

    x: a tensor, or what couplet.singular_values() gave.
    """
    spectra = isinstance(x, list) and all(isinstance(v, np.ndarray) and v.ndim == 1 for v in x)
    values = x if spectra else _singular_values(x)
    ax = ax or _axes()
    for n, spectrum in enumerate(values, start=1):
        spectrum = np.asarray(spectrum, dtype=float)
        top = spectrum[0] if len(spectrum) and spectrum[0] > 0 else 1.0
        shown = np.where(spectrum > 0, spectrum / top, np.nan)
        ax.plot(np.arange(1, len(spectrum) + 1), shown, marker="." if len(spectrum) < 60 else None,
                label=f"modes {_span(1, n)} by {_span(n + 1, len(values) + 1)}")
    ax.set(xlabel="index", ylabel="singular value / largest", yscale="log", title="Singular values of the unfoldings")
    ax.legend(frameon=False)
    return _plain(ax)


def features(source: Any, *, components: Any = None, names: bool = True) -> Array:
    """The directions that all clients share, one picture each, with the names of the features.

    source: a SimulationResult, a fitted CoupledTensorTrain, or a TensorTrain of features. components: which directions
    (numbers from 0), or how many; six at most unless told. One feature mode is drawn as bars, two as a heat map; of more
    the strongest two-way slice is shown and the title says which. Returns the array of axes.
    """
    train, weights = _features_of(source)
    chosen = _components(components, train.ranks[0])
    full = train.full().reshape(train.ranks[0], *train.shape)
    columns = min(3, len(chosen))
    rows = math.ceil(len(chosen) / columns)
    width, height = _panel_size(train.shape, train.labels, names)
    figure, grid = plt.subplots(rows, columns, figsize=(width * columns, height * rows), squeeze=False,
                                layout="constrained")
    for ax, k in zip(grid.flat, chosen):
        total = float(np.sum(weights**2))
        share = f", {100 * weights[k] ** 2 / total:.1f}%" if len(weights) > k and total > 0 else ""
        if full.ndim == 2:
            _bars(ax, full[k], train.labels, names)
            ax.set_title(f"direction {k + 1}{share}")
        else:
            where = _heat_map(figure, ax, full[k], train.labels, names)
            ax.set_title(f"direction {k + 1}{share}{where}", parse_math=False)
    for ax in list(grid.flat)[len(chosen):]:
        ax.set_axis_off()
    return grid


def error_against_rank(results: Any, ax: Axes | None = None) -> Axes:
    """Relative error sqrt(RSE) against the rank R_1, with the certified bound where there is one.

    results: SimulationResults of different ranks, or a mapping of names to such lists; a tensor instead shows the least
    error that any method can reach at each rank.
    """
    ax = ax or _axes()
    if isinstance(results, np.ndarray):
        spectrum = _singular_values(results.reshape(results.shape[0], -1))[0]
        total = float(np.sum(spectrum**2))
        tail = np.sqrt(np.append(np.cumsum((spectrum**2)[::-1])[::-1], 0.0) / (total if total > 0 else 1.0))
        ax.plot(np.arange(len(tail)), tail, color="0.3", label="best possible")
        bounded = False
    else:
        bounded = False
        for name, group in _groups(results).items():
            group = sorted(group, key=lambda r: r.ranks[0])
            ranks = [r.ranks[0] for r in group]
            line, = ax.plot(ranks, [math.sqrt(r.rse) for r in group], marker="o", label=name)
            bounds = [r.rel_error_bound if "rel_error_bound" in r else np.nan for r in group]
            if np.isfinite(bounds).any():
                ax.plot(ranks, bounds, linestyle=":", color=line.get_color(),
                        label=None if bounded else "certified bound")
                bounded = True
    ax.set(xlabel="rank $R_1$", ylabel="relative error", title="Error against rank", ylim=(0, None))
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False)
    return _plain(ax)


def error_against_bytes(results: Any, ax: Axes | None = None) -> Axes:
    """RSE against the bytes of all messages, both ways, on logarithmic axes. Methods that train in rounds are lines.

    results: SimulationResults, or a mapping of names to them or to lists of them.
    """
    ax = ax or _axes()
    for name, group in _groups(results).items():
        points = sorted((_bytes(r), r.rse) for r in group)
        traces = [r.trace for r in group if "trace" in r]
        color = None
        for trace in traces:
            sent = [(point["bytes"], point["rse"]) for point in trace if point["bytes"] > 0]
            line, = ax.plot(*zip(*sent), color=color, linewidth=1, alpha=0.7)
            color = line.get_color()
        ax.plot(*zip(*points), marker="o", linestyle="-" if len(points) > 1 and not traces else "none", color=color,
                label=name)
    ax.set(xscale="log", yscale="log", xlabel="bytes sent, all links", ylabel="RSE", title="Error against bytes")
    ax.legend(frameon=False)
    return _plain(ax)


def network(graph: str, nodes: int | None = None, *, result: SimulationResult | None = None,
            seed: int = 0, ax: Axes | None = None) -> Axes:
    """Who talks to whom among peers; with the result of a simulation also how far they were from agreeing.

    graph: as the flag of the command line: "ring", "complete", "star", "path", "grid", "random:S", "paper8", "file:PATH".
    """
    if not isinstance(graph, str):
        raise wrong_type("graph", f"a {type(graph).__name__}", "the name of a graph, such as 'ring'")
    if nodes is None:
        nodes = result.clients if result is not None else 8
    number = count("nodes", nodes, 1, 1000)
    if result is not None and result.clients != number:
        raise InputError(f"nodes: {number}; expected {result.clients}, the clients of the result")
    links = _engine.graph_links(graph, number, seed)
    ax = ax or _axes(6.4, 5.2)
    angle = math.pi / 2 - 2 * math.pi * np.arange(number) / number
    places = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    for a, b in links:
        ax.plot(*places[[a, b]].T, color="0.6", linewidth=1.2, zorder=1)
    errors = None
    if result is not None and "rse_per_client" in result:
        errors = np.asarray(result.rse_per_client)
    colors: dict[str, Any] = {"color": "C0"} if errors is None else {"c": errors, "cmap": "Blues", "vmin": 2 * errors.min() - errors.max()}
    shown = ax.scatter(places[:, 0], places[:, 1], s=380, zorder=2, edgecolor="white", **colors)
    colors_of = shown.to_rgba(errors) if errors is not None else np.tile(shown.get_facecolor(), (number, 1))
    for k, (x, y) in enumerate(places):
        dark = float(np.dot(colors_of[k, :3], (0.299, 0.587, 0.114))) < 0.6
        ax.annotate(str(k + 1), (x, y), ha="center", va="center", color="white" if dark else "black", fontsize=9, zorder=3)
    if errors is not None and ax.figure is not None:
        ax.figure.colorbar(shown, ax=ax, label="RSE of the peer", shrink=0.75)
    ax.set_title(f"{graph}, {number} peers, {len(links)} links" + _consensus_text(result), fontsize=10)
    ax.set_aspect("equal")
    ax.set_axis_off()
    ax.margins(0.12)
    return ax


def _consensus_text(result: SimulationResult | None) -> str:
    if result is None or "consensus" not in result:
        return ""
    consensus = result.consensus
    return (f"\nconsensus: {consensus.iterations} iterations, error {consensus.error:.1e}, "
            f"$\\lambda_2$ = {consensus.lambda2:.3f}")


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}..{last}"


def _axes(width: float = 6.4, height: float = 4.2) -> Axes:
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def _plain(ax: Axes) -> Axes:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="0.9", linewidth=0.8)
    ax.set_axisbelow(True)
    return ax


def _bytes(result: SimulationResult) -> float:
    return float(result.bytes_total if "bytes_total" in result else result.bytes_up + result.bytes_down)


def _groups(results: Any) -> dict[str, list[SimulationResult]]:
    """Results by name; those without a name by their method and how they merged."""
    if isinstance(results, SimulationResult):
        results = [results]
    if isinstance(results, Mapping):
        groups = {str(name): [group] if isinstance(group, SimulationResult) else list(group)
                  for name, group in results.items()}
    else:
        groups = {}
        for result in results:
            if not isinstance(result, SimulationResult):
                raise wrong_type("results", f"a {type(result).__name__}", "SimulationResults")
            name = ", ".join(result[key] for key in ("method", "network", "aggregate") if key in result)
            groups.setdefault(name, []).append(result)
    if not any(groups.values()):
        raise InputError("results: none; expected at least one SimulationResult")
    for group in groups.values():
        for result in group:
            if not isinstance(result, SimulationResult) or "rse" not in result:
                raise wrong_type("results", f"a {type(result).__name__} without an error", "SimulationResults that were fitted")
    return groups


def _features_of(source: Any) -> tuple[TensorTrain, Array]:
    if hasattr(source, "feature_cores_"):
        return source.feature_cores_, np.asarray(source.weights_)
    if isinstance(source, SimulationResult) and source.features is not None:
        return source.features, np.asarray(source.weights)
    if isinstance(source, TensorTrain):
        return source, np.asarray(source.metadata.get("sigma", []))
    raise wrong_type("source", f"a {type(source).__name__}", "a result with shared features, or a TensorTrain of them")


def _components(components: Any, rank: int) -> list[int]:
    if components is None:
        return list(range(min(6, rank)))
    if hasattr(components, "__index__"):
        return list(range(min(count("components", components), rank)))
    chosen = [count("components", k, 0) for k in components]
    if not chosen or max(chosen) >= rank:
        raise InputError(f"components: {chosen}; expected numbers below {rank}, the rank")
    return chosen


def _mode(labels: Sequence[ModeLabels], n: int) -> ModeLabels:
    return labels[n] if labels else ModeLabels()


def _panel_size(shape: Sequence[int], labels: Sequence[ModeLabels], names: bool) -> tuple[float, float]:
    """Room for the names of a panel, where they are drawn."""
    if len(shape) == 1:
        named = names and _mode(labels, 0).entries
        return 5.0, max(2.6, 0.17 * min(shape[0], _MOST_NAMES) + 0.8) if named else 2.6
    named_rows = names and _mode(labels, 0).entries
    named_columns = names and _mode(labels, 1).entries
    rows, columns = (min(size, _MOST_NAMES) for size in shape[:2])
    return (max(4.2, 0.17 * columns + 2.6) if named_columns else 4.2,
            max(3.4, 0.17 * rows + (1.8 if named_columns else 0.8)) if named_rows else (4.4 if named_columns else 3.4))


def _bars(ax: Axes, values: Array, labels: Sequence[ModeLabels], names: bool) -> None:
    mode = _mode(labels, 0)
    if names and mode.entries:
        strongest = np.argsort(-np.abs(values), kind="stable")[:_MOST_NAMES]
        if len(strongest) < len(values):  # all of them would be a wall
            ax.set_xlabel(f"the {len(strongest)} strongest of {len(values)}")
            values, mode = values[strongest], ModeLabels(mode.name, [mode.entries[i] for i in strongest])
        ax.barh(np.arange(len(values)), values, color=np.where(values >= 0, "C0", "C3"))
        ax.set_yticks(np.arange(len(values)), mode.entries, fontsize=7, parse_math=False)
        ax.invert_yaxis()
    else:
        ax.plot(values)
        ax.set_xlabel(mode.name or "feature")
    _plain(ax)


def _heat_map(figure: Any, ax: Axes, values: Array, labels: Sequence[ModeLabels], names: bool) -> str:
    """Draws a two-way slice and says which one."""
    where = ""
    if values.ndim > 2:
        strength = np.sum(values**2, axis=(0, 1))
        at = [int(i) for i in np.unravel_index(int(np.argmax(strength)), strength.shape)]
        values = values.reshape(*values.shape[:2], -1)[:, :, int(np.argmax(strength))]
        chosen = [_mode(labels, n + 2).entries[i] if _mode(labels, n + 2).entries else str(i + 1) for n, i in enumerate(at)]
        where = f"\nat {', '.join(chosen)}"
    most = float(np.max(np.abs(values))) or 1.0
    image = ax.imshow(values, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
    figure.colorbar(image, ax=ax, shrink=0.8)
    for axis, n, size in ((ax.yaxis, 0, values.shape[0]), (ax.xaxis, 1, values.shape[1])):
        mode = _mode(labels, n)
        if names and mode.entries:
            shown = np.arange(0, size, math.ceil(size / _MOST_NAMES))  # of more than can be read every second, third ...
            axis.set_ticks(shown, [mode.entries[i] for i in shown], fontsize=7, parse_math=False)
            if n == 1:
                ax.tick_params(axis="x", rotation=90)
        axis.set_label_text(mode.name or f"mode {n + 2}")
    return where
