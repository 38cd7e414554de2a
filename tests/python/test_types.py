"""The annotations hold: in the package itself, and for a program that uses it."""
import pathlib
import subprocess
import sys

import pytest

import couplet

pytest.importorskip("mypy")
PACKAGE = pathlib.Path(couplet.__file__).parent

RIGHT = """
import numpy as np
import couplet

train: couplet.TensorTrain = couplet.decompose(np.ones((2, 3)), eps=0.1)
error: float | None = train.rel_error
total: float = (train + 2 * train).round(0.1).norm()
rank: int = couplet.simulate([np.ones((4, 3))], rank=2).personal[0].shape[1]
"""
WRONG = """
import couplet

train: int = couplet.decompose([[1.0]])
couplet.decompose([[1.0]], epsilon=0.1)
"""


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    """NumPy's annotations are read once for all of them."""
    cache = tmp_path_factory.mktemp("cache")

    def run(*arguments, cwd):
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", cache, *map(str, arguments)],
                              text=True, capture_output=True, cwd=cwd)
    return run


def test_a_program_is_checked_against_the_package(mypy, tmp_path):
    assert (PACKAGE / "py.typed").exists() and (PACKAGE / "_engine.pyi").exists()
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(WRONG)
    done = mypy(tmp_path / "right.py", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    done = mypy(tmp_path / "wrong.py", cwd=tmp_path)
    assert 'Incompatible types in assignment' in done.stdout and 'Unexpected keyword argument "epsilon"' in done.stdout


def test_the_package_itself(mypy, tmp_path):
    done = mypy("--ignore-missing-imports", "-p", "couplet", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
