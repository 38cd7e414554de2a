#!/usr/bin/env python3
"""One page of what bench/tt_svd.py and bench/federation.py found: report.py [FOLDER] writes FOLDER/report.html.

The page is one file without scripts; every number is in the JSON beside it.
"""
import html
import json
import pathlib
import sys

PHASES = [("norm", "#8a8f98"), ("summarise", "#2563a8"), ("iterate", "#7a4fb0"), ("eigen", "#c8762b"), ("project", "#2f8f5b")]
STYLE = """body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#1c2024}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}th,td{padding:.25rem .5rem;text-align:right;border-bottom:1px solid #ddd}
th:first-child,td:first-child{text-align:left}.bar{display:flex;height:.9rem;width:12rem;background:#f2f3f5}.bar span{display:block}
.key span{display:inline-block;width:.8rem;height:.8rem;margin:0 .3rem 0 1rem}"""


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
    key = "".join(f'<span style="background:{colour}"></span>{name}' for name, colour in PHASES)
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


def page(results):
    tables = [make(json.loads((results / name).read_text())) for name, make in
              (("tt_svd.json", tt_svd_table), ("federation.json", federation_table)) if (results / name).exists()]
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
