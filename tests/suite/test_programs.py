"""What was built, as the loader sees it: no library is taken from the folder that a program is started in."""
import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILD = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))
COUPLET = BUILD / "bin" / "couplet"


def dynamic(file: pathlib.Path) -> str:
    return subprocess.run(["readelf", "-d", file], text=True, capture_output=True, check=True).stdout


@pytest.mark.parametrize("kind", ["program", "Python modules"])
def test_every_place_that_is_searched_is_named_from_its_own(kind):
    modules = sorted((BUILD / "src" / "python" / "package").glob("couplet/_engine*.so"))
    if kind != "program" and not modules:
        pytest.skip("no Python module is built; scripts/make-wheel builds one")
    for file in [COUPLET] if kind == "program" else modules:
        for places in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic(file)):
            assert all(place.startswith(("/", "$ORIGIN")) for place in places.split(":")), places


def test_a_planted_library_is_not_loaded(tmp_path):
    source = tmp_path / "planted.c"
    source.write_text('#include <stdio.h>\n__attribute__((constructor)) static void planted(void) { puts("planted"); }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "planted.so", source], check=True)
    names = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic(COUPLET))
    assert "libsodium" in " ".join(names)
    cache = (BUILD / "CMakeCache.txt").read_text()
    if "COUPLET_STATIC_GRPC:BOOL=ON" in cache and "COUPLET_SANITIZE:STRING=\n" in cache:
        assert "grpc" not in " ".join(names), "Debian 12 has every archive: a short command takes a third of the time with them"
    for name in names:
        (tmp_path / name).symlink_to("planted.so")
    done = subprocess.run([COUPLET, "--version"], cwd=tmp_path, text=True, capture_output=True)
    assert done.returncode == 0 and done.stdout.startswith("couplet ") and "planted" not in done.stdout, done
