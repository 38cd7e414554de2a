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
    assert environments.settings_of_pip("global.index-url='https://ours.example'\n:env:.index-url=''\n:env:.proxy=' '\n") == {
        "UV_DEFAULT_INDEX": "https://ours.example"}, "an empty variable takes nothing back"


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


def use_tools(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch, **programs: str) -> None:
    """Shell scripts in place of the installer's programs."""
    folder.mkdir()
    for name, lines in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{lines}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setattr(environments, "installer", lambda: (folder / "python", environments.listed_by(folder / "python")))


def version_in(python: pathlib.Path) -> str:
    return subprocess.run([python, "-c", "import tiny; print(tiny.version)"], text=True, capture_output=True).stdout.strip()


def test_pip_installs_where_uv_fails(tmp_path, monkeypatch):
    use_tools(tmp_path / "tools", monkeypatch, uv=f'echo asked >>"{tmp_path}/uv"\nexit 2',
              python=f'echo asked >>"{tmp_path}/pip"\nexec "{environments.installer()[0]}" "$@"')
    python = environments.make(tmp_path / "made", sys.executable, ["--no-index", str(tiny_wheel(tmp_path, "1.0"))])
    assert version_in(python) == "1.0" and (tmp_path / "uv").exists()
    newer = tiny_wheel(tmp_path, "2.0")
    environments.put_wheel(python, newer)
    assert version_in(python) == "2.0"
    asked = (tmp_path / "pip").read_text()
    environments.put_wheel(python, newer)
    assert (tmp_path / "pip").read_text() == asked, "nobody is asked for what is there"
    newer.write_bytes(b"no wheel")
    with pytest.raises(SystemExit, match="cannot be installed"):
        environments.put_wheel(python, newer)
    assert not environments.wheel_stamp(python).exists()


def test_uv_installs_from_where_pip_looks_and_nowhere_else(tmp_path, monkeypatch):
    real, _ = environments.installer()
    if not (real.parent / "uv").exists():
        pytest.skip("uv cannot be had here")
    use_tools(tmp_path / "tools", monkeypatch, uv=f'exec "{real.parent / "uv"}" "$@"',
              python=f'case "$3" in config) exec "{real}" "$@";; *) echo pip was asked >&2; exit 1;; esac')
    for folder, versions in {"ours": ("1.0", "2.0"), "others": ("9.0",)}.items():
        (tmp_path / folder).mkdir()
        for version in versions:
            tiny_wheel(tmp_path / folder, version)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(tmp_path / "ours"), "PIP_QUIET": "2",
                        "UV_FIND_LINKS": str(tmp_path / "others")}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "uv.toml").write_text(f'[pip]\nfind-links = ["{tmp_path / "others"}"]\n')
    monkeypatch.chdir(tmp_path)
    python = environments.make(tmp_path / "made", sys.executable, ["tiny<2"])
    assert version_in(python) == "1.0"
    environments.make(tmp_path / "made", sys.executable, ["tiny"])
    assert version_in(python) == "2.0"


def test_settings_that_cannot_be_read_are_left_to_pip(tmp_path, monkeypatch):
    use_tools(tmp_path / "tools", monkeypatch, uv=f'touch "{tmp_path}/uv-was-asked"', python="echo no such setting >&2\nexit 2")
    done = environments.install(pathlib.Path(sys.executable), "tiny")
    assert done.returncode == 2 and "no such setting" in done.stdout and not (tmp_path / "uv-was-asked").exists()


def test_an_installer_that_does_not_work_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(environments, "INSTALLER", tmp_path / "build" / "installer")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    python, _ = environments.installer()
    (python.parent / "python").unlink()
    (python.parent / "python").symlink_to(tmp_path / "gone")
    again, listed = environments.installer()
    assert listed is not None and environments.listed_by(again) == listed


def test_a_package_that_cannot_be_had_leaves_no_environment_that_passes_for_made(tmp_path):
    with pytest.raises(SystemExit, match="cannot be installed; expected pip to find"):
        environments.make(tmp_path / "made", sys.executable, ["--no-index", "couplet-no-such-package"])
    assert not (tmp_path / "made" / "wanted.txt").exists()
