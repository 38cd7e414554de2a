"""The wheel by itself: what it holds, what it needs, and that it works where there is nothing but NumPy."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(ROOT / "tests" / "chaos"))
import environments  # noqa: E402
from proxy import free_port  # noqa: E402

WHEEL = os.environ.get("COUPLET_WHEEL", "")
pytestmark = pytest.mark.skipif(not WHEEL, reason="COUPLET_WHEEL does not name a wheel; scripts/test-python makes one")

# Libraries that every system of the wheel's glibc has, by the rules of manylinux. Everything else travels in the wheel.
OF_THE_SYSTEM = {"libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "libresolv.so.2", "libgcc_s.so.1",
                 "libstdc++.so.6", "libz.so.1", "ld-linux-x86-64.so.2", "linux-vdso.so.1"}


def wheel_maker():
    """scripts/make-wheel as a module."""
    loader = importlib.machinery.SourceFileLoader("make_wheel", str(ROOT / "scripts" / "make-wheel"))
    maker = importlib.util.module_from_spec(importlib.util.spec_from_loader("make_wheel", loader))
    loader.exec_module(maker)
    return maker


def needed(path):
    """Libraries that an ELF file asks for by name."""
    out = subprocess.run(["readelf", "-d", path], text=True, capture_output=True, check=True).stdout
    return set(re.findall(r"\(NEEDED\).*\[(.+)\]", out))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(WHEEL) as archive:
        archive.extractall(folder)
    return folder


def elf_files(folder):
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                if file.read(4) == b"\x7fELF":
                    yield path


def test_its_name_promises_a_glibc_and_the_stable_abi():
    name = pathlib.Path(WHEEL).name
    assert re.search(r"manylinux_2_\d+_x86_64\.whl$", name), name
    if sys.version_info >= (3, 12):
        assert "-abi3-" in name or ".abi3-" in name


def test_it_holds_module_blas_command_and_types(unpacked):
    names = {str(path.relative_to(unpacked)) for path in unpacked.rglob("*")}
    for name in ("couplet/lib/libcouplet_openblas.so", "couplet/bin/couplet", "couplet/py.typed", "couplet/_engine.pyi"):
        assert name in names
    assert any(re.fullmatch(r"couplet/_engine\..*so", name) for name in names)
    assert not any("include/" in name or name.endswith((".a", ".cpp", ".hpp")) for name in names)


def test_every_library_it_asks_for_is_in_it_or_of_the_system(unpacked):
    files = list(elf_files(unpacked))
    inside = {path.name for path in files}
    listed = {path.name: needed(path) for path in files}
    missing = {name: sorted(wants - inside - OF_THE_SYSTEM) for name, wants in listed.items() if wants - inside - OF_THE_SYSTEM}
    assert not missing
    module = next(wants for name, wants in listed.items() if name.startswith("_engine."))
    assert not any("openblas" in name or "libblas" in name or "python" in name for name in module)
    assert "libstdc++.so.6" not in module  # its own: an older one in the process does not matter


def test_under_another_python_the_package_says_for_which_it_was_built():
    from couplet._built_for import complaint

    newest = ["__init__.py", "_engine.abi3.so"]
    assert complaint(newest, (3, 12)) == complaint(newest, (3, 14)) == complaint(["__init__.py"], (3, 11)) == ""
    assert complaint(newest, (3, 11)).startswith("couplet: this is CPython 3.11; expected 3.12 and newer, for which")
    both = ["_engine.abi3.so", "_engine.cpython-310-x86_64-linux-gnu.so"]
    assert complaint(both, (3, 10)) == "" and "expected 3.10, 3.12 and newer" in complaint(both, (3, 11))


def test_an_older_python_is_told(unpacked):
    """The real package under a real Python that it is not for, where there is one here."""
    older = [python for version, python in environments.interpreters().items() if version < (3, 12)]
    older = [python for python in older if not list((unpacked / "couplet").glob("_engine.cpython-*"))]
    if not older:
        pytest.skip("no Python here that the wheel does not serve")
    done = subprocess.run([older[0], "-c", "import couplet"], cwd=unpacked, text=True, capture_output=True)
    assert done.returncode == 1
    assert "ImportError: couplet: this is CPython 3.1" in done.stderr and "3.12 and newer" in done.stderr, done.stderr


def test_the_maker_says_whom_a_wheel_serves():
    served = wheel_maker().served
    assert served([(3, 13)], [(3, 13), (3, 12), (3, 11)]).startswith("for CPython 3.12 and newer; not for 3.11, which")
    assert served([(3, 13), (3, 11)], [(3, 13), (3, 12), (3, 11)]) == "for CPython 3.11, 3.12 and newer"


def test_no_symbol_is_newer_than_the_promised_glibc(unpacked):
    """What auditwheel found when it named the wheel, looked at once more without it."""
    promised = int(re.search(r"manylinux_2_(\d+)", pathlib.Path(WHEEL).name).group(1))
    for path in elf_files(unpacked):
        versions = subprocess.run(["readelf", "-V", path], text=True, capture_output=True, check=True).stdout
        wanted = [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", versions)]
        assert max(wanted, default=0) <= promised, path


def test_nothing_but_numpy(tmp_path):
    """A fresh environment, no compiler on PATH, no BLAS of the system in the process."""
    venv = tmp_path / "venv"
    python = environments.make(venv, sys.executable, [WHEEL])
    bare = {"PATH": str(venv / "bin"), "HOME": str(tmp_path)}

    def run(*command):
        return subprocess.run([str(part) for part in command], env=bare, text=True, capture_output=True, cwd=tmp_path)

    program = """
import numpy as np, couplet
x = np.random.default_rng(0).normal(size=(40, 30, 20))
train = couplet.decompose(x, eps=0.3)
assert np.linalg.norm(train.full() - x) <= 0.3 * np.linalg.norm(x)
train.save("m.npz")
np.save("x.npy", x)
result = couplet.simulate([x[:20], x[20:]], rank=5, output="result")
libraries = {line.split()[-1].rsplit("/", 1)[-1] for line in open("/proc/self/maps") if ".so" in line}
assert "libcouplet_openblas.so" in libraries and not any(name.startswith(("libopenblas", "libblas", "liblapack")) for name in libraries)
for name in ("CoupledTensorTrain", "plot"):
    try:
        getattr(couplet, name)
    except ImportError as error:
        assert "pip install couplet[" in str(error), error
    else:
        raise AssertionError(name)
print(result.rse)
"""
    done = run(python, "-c", program)
    assert done.returncode == 0, done.stderr
    for command in (["couplet", "decompose", "x.npy", "--eps", "0.3"], ["couplet", "norm", "m.npz"],
                    ["couplet", "project", "result/features.npz", "x.npy"],
                    ["couplet", "provision", "--coordinator", "localhost:7999", "--clients", "a,b", "-o", "kits"]):
        done = run(venv / "bin" / command[0], *command[1:])
        assert done.returncode == 0, done.stderr
    installed = run(python, "-c", "import importlib.metadata as all; print(*(one.name for one in all.distributions()))").stdout
    assert set(installed.split()) == {"couplet", "numpy"}
    linked = run("/usr/bin/ldd", next(venv.rglob("couplet/bin/couplet"))).stdout
    outside = {line.split()[0] for line in linked.splitlines() if "=> /" in line and str(venv) not in line}
    assert outside <= OF_THE_SYSTEM | {"/lib64/ld-linux-x86-64.so.2"}, outside


def other_interpreters():
    """Those of this machine that the wheel serves, the running one left out: version and path."""
    if not WHEEL:
        return []
    tags = pathlib.Path(WHEEL).name.split("-")[2].split(".")
    return [(f"{major}.{minor}", python) for (major, minor), python in environments.interpreters().items()
            if (major, minor) != sys.version_info[:2]
            and (f"cp{major}{minor}" in tags or ("cp312" in tags and (major, minor) >= (3, 12)))]


@pytest.mark.parametrize("version, python", other_interpreters())
def test_every_other_python_here_gives_the_same_bits(version, python, tmp_path):
    program = """
import hashlib, pickle, numpy as np, couplet
x = np.random.default_rng(0).normal(size=(40, 30, 20))
train = pickle.loads(pickle.dumps(couplet.decompose(x, max_rank=7) * 2))
try:
    couplet.decompose([[1, 2], [3]])
except ValueError:
    print(hashlib.sha256(train.full().tobytes()).hexdigest(), couplet.simulate([x[:20], x[20:]], rank=4).rse)
"""
    other = environments.make(tmp_path / "venv", python, [WHEEL])
    there, here = (subprocess.run([interpreter, "-c", program], text=True, capture_output=True, check=True).stdout
                   for interpreter in (other, sys.executable))
    assert there == here and here


def test_daemons_of_the_wheel_form_a_federation(tmp_path, rng, command):
    """A coordinator and two clients from the package, over TLS on loopback: the features that simulate() gives."""
    import numpy as np

    import couplet
    from conftest import COMMAND

    port = free_port()
    clients = [rng.normal(size=(n, 6, 5)) for n in (12, 9)]
    for name, x in zip("ab", clients):
        np.save(tmp_path / f"{name}.npy", x)
    command("provision", "--coordinator", f"localhost:{port}", "--clients", "a,b", "-o", tmp_path / "kits")
    coordinator = subprocess.Popen([COMMAND, "coordinator", "--kit", tmp_path / "kits" / "coordinator", "--rank", "4", "--quiet"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    members = [subprocess.Popen([COMMAND, "client", "--kit", tmp_path / "kits" / name, "--data", tmp_path / f"{name}.npy",
                                 "-o", tmp_path / name, "--quiet"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) for name in "ab"]
    for process in [coordinator, *members]:
        out, err = process.communicate(timeout=900)
        assert process.returncode == 0, err
    features = couplet.load(tmp_path / "a" / "features.npz")
    expected = couplet.simulate(clients, rank=4).features
    assert all(np.array_equal(a, b) for a, b in zip(features.cores, expected.cores))
