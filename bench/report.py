#!/usr/bin/env python3
"""One page of what bench/tt_svd.py, federation.py and scaling.py found: report.py [FOLDER] writes FOLDER/report.html.

The page is one file without scripts; every number is in the JSON beside it.
"""
import html
import json
import math
import pathlib
import sys

PHASES = [("norm", "#8a8f98"), ("summarise", "#2563a8"), ("iterate", "#7a4fb0"), ("eigen", "#c8762b"), ("project", "#2f8f5b")]
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1c2024}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:.25rem .5rem;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}.bar{display:flex;height:.9rem;width:12rem;background:#f2f3f5}.bar span{display:block}
.key span{display:inline-block;width:.8rem;height:.8rem;margin:0 .3rem 0 1rem}
.key i{font-style:normal;white-space:nowrap}.curves{display:flex;flex-wrap:wrap;gap:1.5rem}figure{margin:0}figcaption{font-size:.9rem}svg text{font:11px system-ui,sans-serif;fill:#555}"""


def bar(case):
    """Where the time goes, as a strip whose width is all of it; the floor is a mark on it."""
    phases = case["couplet"]["phases"]
    total = sum(phase["seconds"] for phase in phases.values())
    parts = "".join(f'<span style="width:{100 * phases[name]["seconds"] / total:.1f}%;background:{colour}" '
                    f'title="{name} {1e3 * phases[name]["seconds"]:.2f} ms"></span>' for name, colour in PHASES if name in phases)
    return f'<div class="bar">{parts}</div>'


def cell(value, form="{:.2f}"):
    return "<td>" + ("-" if value is None else form.format(value)) + "</td>"


def tt_svd_table(report):
    rows = []
    for case in report["cases"]:
        theirs = case["numpy_rel_error"]
        tensorly = case["tensorly_seconds"]
        name = html.escape(f"{case['name']}, rank {case['rank']}, {case['dtype']}, {case['spectrum']}")
        rows.append(f"<tr><td>{name}</td>{cell(1e3 * case['seconds'])}{cell(case['over_floor'], '{:.1f}')}<td>{bar(case)}</td>"
                    f"{cell(1e3 * case['numpy_seconds'])}{cell(case['ratio'], '{:.1f}')}"
                    f"{cell(tensorly / case['seconds'] if tensorly else None, '{:.1f}')}{cell(case['couplet']['rel_error'], '{:.6f}')}"
                    f"{cell(case['couplet']['rel_error'] / theirs if theirs else None, '{:.4f}')}</tr>")
    key = "".join(f'<i><span style="background:{colour}"></span>{name}</i> ' for name, colour in PHASES)
    return (f'<h2>TT-SVD</h2><p class="key">{report["cores"]} cores. Time over floor: what reading and multiplying alone would take at the '
            f"measured speed of this machine. Where the time goes:{key}</p><table><tr><th>tensor</th><th>couplet, ms</th><th>over floor</th>"
            "<th>phases</th><th>NumPy, ms</th><th>NumPy x</th><th>TensorLy x</th><th>error</th><th>over NumPy's</th></tr>"
            + "".join(rows) + "</table>")


def federation_table(report):
    import statistics

    rows = []
    for case in report["cases"]:
        ours = statistics.median(case["couplet"]["samples"])
        theirs = min(statistics.median(peer["samples"]) for peer in case["numpy"])
        rows.append(f"<tr><td>{html.escape(case['name'])}, R1 = {case['rank']}</td>{cell(1e3 * ours)}{cell(1e3 * theirs)}"
                    f"{cell(theirs / ours, '{:.1f}')}{cell(case['couplet']['rse'], '{:.4e}')}</tr>")
    return ("<h2>The whole federation, K = 4</h2><table><tr><th>data</th><th>couplet, ms</th><th>NumPy, ms</th><th>x</th><th>RSE</th></tr>"
            + "".join(rows) + "</table>")


def decades(values):
    """Powers of ten that enclose the values."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def curve(found, width=320, height=220, edge=44):
    """Milliseconds against what changes, both logarithmic: where the line is straight, time grows by a power."""
    points = [(point["x"], point["milliseconds"]) for point in found["points"]]
    low, high = decades([y for _, y in points])
    first, last = math.log10(points[0][0]), math.log10(points[-1][0])
    at_x = lambda x: edge + (width - edge - 12) * (math.log10(x) - first) / max(last - first, 1e-9)
    at_y = lambda y: 12 + (height - edge - 12) * (high - math.log10(y)) / (high - low)
    lines = "".join(f'<line x1="{edge}" x2="{width - 12}" y1="{at_y(10.0**k):.1f}" y2="{at_y(10.0**k):.1f}" stroke="#ddd"/>'
                    f'<text x="{edge - 6}" y="{at_y(10.0**k) + 4:.1f}" text-anchor="end">{10.0**k:g}</text>' for k in range(low, high + 1))
    ticks = "".join(f'<text x="{at_x(x):.1f}" y="{height - edge + 18}" text-anchor="middle">{x}</text>' for x, _ in points)
    path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="3" fill="#2563a8"><title>{x}: {y:.3g} ms</title></circle>'
                   for x, y in points)
    name = html.escape(found["name"])
    return (f'<figure><svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
            f'aria-label="milliseconds against {name}">{lines}{ticks}<polyline points="{path}" fill="none" stroke="#2563a8" stroke-width="2"/>'
            f'{dots}<text x="{(width + edge) / 2}" y="{height - 8}" text-anchor="middle">{html.escape(found["axis"])}</text></svg>'
            f"<figcaption>ms against {name}{what_of(found['points'])}</figcaption></figure>")


def what_of(points):
    """What stays the same along a curve."""
    shapes = {point.get("shape") for point in points}
    ranks = {point.get("rank") for point in points}
    if shapes == {None}:
        return ": a federation, 100x30x30 each"
    fixed = [next(iter(shapes))] * (len(shapes) == 1) + [f"rank {next(iter(ranks))}"] * (len(ranks) == 1)
    return ": " + ", ".join(fixed) if fixed else ""


def scaling_curves(report):
    rows = "".join(f"<tr><td>{html.escape(found['name'])} {point['x']}</td>{cell(point['milliseconds'], '{:.3f}')}"
                   f"{cell(point.get('over_floor'))}{cell(point['peak_bytes'] / 1e6 if 'peak_bytes' in point else None, '{:.0f}')}"
                   f"{cell(point['bytes'] / 1e6 if 'bytes' in point else None, '{:.1f}')}</tr>"
                   for found in report["curves"] for point in found["points"])
    return (f'<h2>Scaling</h2><p>{report["cores"]} cores, slowly decaying spectra.</p><div class="curves">'
            f'{"".join(curve(found) for found in report["curves"])}</div><table><tr><th>changed</th><th>ms</th><th>over floor</th>'
            f"<th>peak of a process, MB</th><th>tensor, MB</th></tr>{rows}</table>")


def page(results):
    tables = [make(json.loads((results / name).read_text())) for name, make in
              (("tt_svd.json", tt_svd_table), ("federation.json", federation_table), ("scaling.json", scaling_curves)) if (results / name).exists()]
    return ('<!doctype html><html lang="en"><meta charset="utf-8"><title>Couplet: benchmarks</title>'
            f"<style>{STYLE}</style><h1>Benchmarks</h1>{''.join(tables)}</html>")


def main():
    results = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/bench/results")
    output = results / "report.html"
    output.write_text(page(results))
    print(f"the page: {output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
