"""What the components of a result are, by name."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass, field
from typing import Any

from ._errors import wrong_type
from ._federation import SimulationResult, html_table
from ._verb import flags, run_verb

__all__ = ["Component", "Explanation", "explain"]


@dataclass(frozen=True)
class Component:
    """One pattern. share: of the sum of squares over all; sites: at each site, by name; entries: (labels, weight),
    strongest first; profiles: a vector for each feature mode; stability: mean agreement over resamples, None without."""

    number: int
    title: str
    share: float | None
    sites: dict[str, float]
    entries: list[tuple[tuple[str, ...], float]]
    profiles: dict[str, list[float]]
    stability: float | None = None

    def __str__(self) -> str:
        share = "share not known" if self.share is None else f"{100 * self.share:.1f}%"
        return f"{self.number}. {self.title} ({share})"


@dataclass(frozen=True)
class Explanation:
    """A result in words. components: the largest share first. explained: share of all of them, None
    where no site's coordinates lie beside the features. gain: by site, the error on
    new patients alone and together, where it was measured. patient, drift: where asked for. report: the whole JSON."""

    components: list[Component]
    explained: float | None
    gain: dict[str, tuple[float, float]] = field(default_factory=dict)
    patient: dict[str, Any] | None = None
    drift: dict[str, Any] | None = None
    report: dict[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return "\n".join(map(str, self.components))

    def _repr_html_(self) -> str:
        return html_table({f"{one.number}.": str(one).partition(" ")[2] for one in self.components})


def explain(result: SimulationResult | str | os.PathLike[str], *, model: str | None = None,
            components: int | str | None = None, rotate: str | None = None, data: list[Any] | None = None,
            resamples: int | None = None, patient: str | None = None, patients: str | os.PathLike[str] | None = None,
            site: int | None = None, compare: str | os.PathLike[str] | None = None, entries: int | None = None,
            output: str | os.PathLike[str] | None = None, force: bool = False, seed: int = 0) -> Explanation:
    """`couplet explain` on a result, the folder of one, or that of factor(); with `output` also the page, its .json and its .csv.
    model and components fit one first, as factor() does."""
    if isinstance(result, SimulationResult):
        with tempfile.TemporaryDirectory(prefix="couplet-") as folder:
            result.save(folder)
            return explain(folder, model=model, components=components, rotate=rotate, data=data, resamples=resamples,
                           patient=patient, patients=patients, site=site, compare=compare, entries=entries, output=output,
                           force=force, seed=seed)
    if not isinstance(result, (str, os.PathLike)):
        raise wrong_type("result", f"a {type(result).__name__}", "a SimulationResult, or the path of a result's folder")
    told = run_verb("explain", os.fspath(result),
                    *flags(model=model, components=components, rotate=rotate, data=data, resamples=resamples, patient=patient,
                           patients=patients, site=site, compare=compare, entries=entries, output=output, force=force, seed=seed))
    return Explanation(components=[_component(one) for one in told["components"]], explained=told["explained"],
                       gain={one["client"]: (one["alone"], one["together"]) for one in told.get("gain", [])},
                       patient=told.get("patient"), drift=told.get("drift"), report=told)


def _component(one: dict[str, Any]) -> Component:
    return Component(number=one["number"], title=one["title"], share=one["share"],
                     sites={site["name"]: site["share"] for site in one["sites"]},
                     entries=[(tuple(entry["labels"]), entry["weight"]) for entry in one["entries"]],
                     profiles={profile["mode"]: profile["values"] for profile in one["profiles"]},
                     stability=one.get("stability"))
