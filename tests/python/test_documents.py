"""What is shown is run: the examples of every docstring, of docs/python.md and docs/from-other-libraries.md, and examples/python."""
import doctest
import importlib
import os
import pathlib
import pkgutil
import re
import subprocess
import sys

import pytest

import couplet

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# flower and nvflare need engines that are not beside the package here: tests/engines imports and runs them.
APART = ("_engine", "__main__", "flower", "nvflare")
MODULES = [module.name for module in pkgutil.iter_modules(couplet.__path__) if module.name not in APART]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_docstrings(name):
    module = importlib.import_module(f"couplet.{name}" if name else "couplet")
    result = doctest.testmod(module, optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    assert result.failed == 0


def test_everything_public_is_documented():
    for name in couplet.__all__:
        assert (getattr(couplet, name).__doc__ or "").strip(), name
    shown = sum(len(test.examples) for name in MODULES
                for test in doctest.DocTestFinder().find(importlib.import_module(f"couplet.{name}")))
    assert shown > 40


@pytest.mark.parametrize("name, least", [("python.md", 6), ("from-other-libraries.md", 1)])
def test_the_guides_run_from_top_to_bottom(name, least, tmp_path, monkeypatch):
    """Every Python block of a guide, in order, in one interpreter, as a reader would paste them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    text = (ROOT / "docs" / name).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) >= least
    variables = {}
    for block in blocks:
        exec(compile(block, f"docs/{name}", "exec"), variables)


@pytest.mark.parametrize("example", sorted((ROOT / "examples" / "python").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(example, tmp_path):
    if "COUPLET_DATA" in example.read_text() and not os.environ.get("COUPLET_DATA"):
        pytest.skip("COUPLET_DATA is not set")
    done = subprocess.run([sys.executable, example], text=True, capture_output=True, cwd=tmp_path, timeout=900,
                          env=dict(os.environ, MPLBACKEND="Agg"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
