"""Tests of the installed package: what `make wheel` packs, not the sources."""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import couplet

couplet.set_progress("off")
COMMAND = pathlib.Path(couplet.__file__).parent / "bin" / "couplet"


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def command():
    """Runs the package's own command line with --json and gives back the object."""

    def run(*arguments, check=True):
        done = subprocess.run([str(COMMAND), *map(str, arguments), "--json", "--quiet"], text=True, capture_output=True,
                              timeout=900)
        if not check:
            return done
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


@pytest.fixture
def python():
    """Runs a program in a Python of its own and gives back what it printed."""

    def run(program, timeout=900, **environment):
        done = subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, timeout=timeout,
                              env=dict(os.environ, **environment))
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def low_rank(rng, shape, rank, noise=0.0):
    """A tensor of this rank at its first bond, with noise relative to its entries."""
    x = (rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, int(np.prod(shape[1:]))))).reshape(shape)
    return x + noise * x.std() * rng.normal(size=shape)
