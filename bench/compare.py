#!/usr/bin/env python3
"""Judges two results of bench/tt_svd.py against their noise: compare.py BEFORE.json AFTER.json

A case is faster or slower when its median moved by more than both runs scatter: three times the larger of their median absolute
deviations (of the median, so divided by the root of the number of samples), and at least 3%. Exit status 1 when a case is slower, or
its error grew by more than a part in 10000.
"""
import argparse
import json
import pathlib
import statistics
import sys


def scatter(samples):
    """Median absolute deviation of the median, relative to it."""
    middle = statistics.median(samples)
    deviation = 1.4826 * statistics.median(abs(sample - middle) for sample in samples)
    return deviation / middle / len(samples) ** 0.5


def verdict(before, after):
    """(ratio of the medians, what it means) of two lists of samples."""
    ratio = statistics.median(after) / statistics.median(before)
    noise = max(0.03, 3 * max(scatter(before), scatter(after)))
    if ratio > 1 + noise:
        return ratio, noise, "slower"
    return ratio, noise, "faster" if ratio < 1 / (1 + noise) else "same"


def cases_of(path):
    report = json.loads(pathlib.Path(path).read_text())
    return {(case["name"], case["rank"], case["dtype"], case.get("spectrum", "noise")): case for case in report["cases"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("after")
    options = parser.parse_args()
    before, after = cases_of(options.before), cases_of(options.after)
    worse = False
    for key in sorted(before.keys() & after.keys(), key=str):
        old, new = before[key]["couplet"], after[key]["couplet"]
        ratio, noise, meaning = verdict(old["samples"], new["samples"])
        grown = new["rel_error"] > old["rel_error"] * 1.0001 + 1e-12
        worse = worse or meaning == "slower" or grown
        print(f"{key[0]:>22} rank {key[1]:>3} {key[2]} {key[3]:>6}: {ratio:6.3f} of before, noise {100 * noise:4.1f}%: {meaning}"
              + (", error grew" if grown else ""))
    for key in sorted(before.keys() ^ after.keys(), key=str):
        print(f"{key[0]:>22} rank {key[1]:>3} {key[2]} {key[3]:>6}: only {'before' if key in before else 'after'}")
    return int(worse)


if __name__ == "__main__":
    sys.exit(main())
