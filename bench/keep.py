"""Keeps every sample of a benchmark, for those who want to look behind its medians."""
import json
import pathlib


def keep_samples(path, report):
    output = pathlib.Path(path)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(report, indent=1))
    print(f"every sample: {output}")
