"""scripts/environments.py: uv is told what pip is set to, and pip installs where uv does not."""
import pathlib
import subprocess
import sys
import zipfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "scripts"))
import environments  # noqa: E402


def test_uv_looks_where_pip_is_set_to_look():
    listed = """\
:env:.find-links='/opt/wheels /srv/wheels'
:env:.index-url='https://second.example/simple'
download.index-url='https://not-asked.example'
global.cert='/etc/ours.pem'
global.index-url='https://first.example/simple'
global.timeout='60'
install.trusted-host='a.example b.example'
"""
    assert environments.settings_of_pip(listed) == {
        "UV_FIND_LINKS": "/opt/wheels,/srv/wheels", "UV_DEFAULT_INDEX": "https://second.example/simple", "SSL_CERT_FILE": "/etc/ours.pem",
        "UV_INSECURE_HOST": "a.example b.example"}
    assert environments.settings_of_pip("") == {}


def test_a_setting_that_uv_does_not_know_is_left_to_pip():
    assert environments.settings_of_pip("install.only-binary=':all:'\n") is None
    assert environments.settings_of_pip("global.timeout='60'\n:env:.require-hashes='1'\n") is None


def tiny_wheel(folder: pathlib.Path, version: str) -> pathlib.Path:
    path = folder / f"tiny-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tiny.py", f"version = {version!r}\n")
        wheel.writestr(f"tiny-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: tiny\nVersion: {version}\n")
        wheel.writestr(f"tiny-{version}.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"tiny-{version}.dist-info/RECORD", "")
    return path


@pytest.mark.parametrize("uv", ["exit 2", ""])
def test_pip_installs_where_uv_fails_or_is_not_there(uv, tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    programs = {"python": f'echo asked >>"{tmp_path}/pip"\nexec "{environments.installer()}" "$@"', **({"uv": f'echo asked >>"{tmp_path}/uv"\n{uv}'} if uv else {})}
    for name, lines in programs.items():
        (tools / name).write_text(f"#!/bin/sh\n{lines}\n")
        (tools / name).chmod(0o755)
    monkeypatch.setattr(environments, "installer", lambda: tools / "python")

    python = environments.make(tmp_path / "made", sys.executable, ["--no-index", str(tiny_wheel(tmp_path, "1.0"))])
    said = lambda: subprocess.run([python, "-c", "import tiny; print(tiny.version)"], text=True, capture_output=True).stdout.strip()
    assert said() == "1.0" and (tmp_path / "uv").exists() == bool(uv)
    newer = tiny_wheel(tmp_path, "2.0")
    environments.put_wheel(python, newer)
    assert said() == "2.0"
    asked = (tmp_path / "pip").read_text()
    environments.put_wheel(python, newer)
    assert (tmp_path / "pip").read_text() == asked, "nobody is asked for what is there"


def test_a_package_that_cannot_be_had_leaves_no_environment_that_passes_for_made(tmp_path):
    with pytest.raises(SystemExit, match="cannot be installed; expected pip to find"):
        environments.make(tmp_path / "made", sys.executable, ["--no-index", "couplet-no-such-package"])
    assert not (tmp_path / "made" / "wanted.txt").exists()
