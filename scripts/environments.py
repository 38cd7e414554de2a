#!/usr/bin/env python3
"""Virtual environments under build, and what comes into them from PyPI. uv installs with a quarter of pip's work, from where pip is
set to look; pip does where uv cannot be had, fails, or knows nothing of what pip is set to.

    scripts/environments.py build/venv/bin/python --no-deps tensorly     # options that both understand
"""
import ast
import fcntl
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SCRIPT = pathlib.Path(sys.argv[0]).name
OLDEST = (3, 10)  # of the Pythons that the package is for
INSTALLER = ROOT / "build" / "installer"  # an environment with both
AGAIN_SECONDS = 600  # until uv is looked for once more where it could not be had
# Who starts an interpreter of these has what it imports compiled when it is first used, into build and not beside the sources.
BYTECODE = ROOT / "build" / "bytecode"
os.environ.update(PYTHONPYCACHEPREFIX=str(BYTECODE), PYTHONDONTWRITEBYTECODE="")
# Settings of pip and the variables of uv that say the same: lists are separated by spaces, or by what is said here.
SETTINGS = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "find-links": "UV_FIND_LINKS", "no-index": "UV_NO_INDEX",
            "trusted-host": "UV_INSECURE_HOST", "constraint": "UV_CONSTRAINT", "cert": "SSL_CERT_FILE", "proxy": "ALL_PROXY"}
SEPARATORS = {"find-links": ","}
# Settings that do not change what is installed.
HOW = {"break-system-packages", "cache-dir", "default-timeout", "disable-pip-version-check", "no-cache-dir", "no-color", "no-input",
       "no-warn-script-location", "progress-bar", "quiet", "require-virtualenv", "retries", "root-user-action", "timeout", "verbose"}


def chosen(folder: pathlib.Path, arguments: list[str]) -> list:
    """What pytest gets: all tests of a folder with these arguments, or those that the arguments name as FILE::TEST."""
    return arguments if any("::" in argument for argument in arguments) else [folder, *arguments]


def version_of(python: str) -> tuple[int, int] | None:
    """Its version when it is a CPython that can build modules here."""
    code = ("import os, sys, sysconfig; assert sys.implementation.name == 'cpython' and not sysconfig.get_config_var("
            "'Py_GIL_DISABLED'); assert os.path.exists(sysconfig.get_path('include') + '/Python.h'); "
            "print(*sys.version_info[:2])")
    try:
        done = subprocess.run([python, "-c", code], text=True, capture_output=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return tuple(map(int, done.stdout.split())) if done.returncode == 0 else None


def candidates() -> list[str]:
    """Interpreters by name on PATH, and those that pyenv keeps."""
    names = [f"python3.{minor}" for minor in range(30, OLDEST[1] - 1, -1)] + ["python3"]
    found = [path for name in names if (path := shutil.which(name))]
    found += [str(path) for path in pathlib.Path("/usr/bin").glob("python3.*") if re.fullmatch(r"python3\.\d+", path.name)]
    if pyenv := shutil.which("pyenv"):
        root = subprocess.run([pyenv, "root"], text=True, capture_output=True).stdout.strip()
        found += [str(path) for path in pathlib.Path(root).glob("versions/*/bin/python3")]
    return found


def interpreters() -> dict[tuple[int, int], str]:
    """One interpreter for each version from 3.10 on, newest first."""
    all_of_them: dict[tuple[int, int], str] = {}
    for python in candidates():
        version = version_of(python)
        if version and version >= OLDEST:
            all_of_them.setdefault(version, python)
    if not all_of_them:
        sys.exit(f"{SCRIPT}: no CPython of at least 3.10 with its headers; expected one on PATH. Install python3-dev.")
    return dict(sorted(all_of_them.items(), reverse=True))


def newest() -> str:
    return next(iter(interpreters().values()))


def settings_of_pip(listed: str) -> dict[str, str] | None:
    """What `pip config list` says, as variables of uv; nothing where uv has no word for it."""
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}  # the later wins
    for line in listed.splitlines():
        section, _, rest = line.partition(".")
        name, _, value = rest.partition("=")
        text = str(ast.literal_eval(value)) if section in sections and value else ""
        if text.strip():  # an empty one says nothing, to pip neither
            sections[section][name] = text
    variables = {}
    for name, value in {name: value for section in sections.values() for name, value in section.items()}.items():
        if name in SETTINGS:
            variables[SETTINGS[name]] = SEPARATORS.get(name, " ").join(value.split())
        elif name not in HOW:
            return None
    return variables


def listed_by(python: pathlib.Path) -> str | None:
    """What pip is set to; nothing where pip does not work. It is asked aloud: a quiet pip lists nothing."""
    try:
        done = subprocess.run([python, "-m", "pip", "config", "list"], text=True, capture_output=True, env={**os.environ, "PIP_QUIET": "0"})
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None


def installer() -> tuple[pathlib.Path, str | None]:
    """The interpreter of an environment with pip and, where it can be had, uv, made by the first who asks and again when it does
    not work any more; and what its pip is set to."""
    python, tried = INSTALLER / "bin" / "python", INSTALLER / "tried"
    try:
        INSTALLER.parent.mkdir(exist_ok=True)
        with open(INSTALLER.with_suffix(".lock"), "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            listed = listed_by(python) if tried.exists() else None
            if listed is None:
                shutil.rmtree(INSTALLER, ignore_errors=True)
                subprocess.run([sys.executable, "-m", "venv", INSTALLER], check=True)
                listed = listed_by(python)
            if not tried.exists() or not (INSTALLER / "bin" / "uv").exists() and time.time() - tried.stat().st_mtime > AGAIN_SECONDS:
                # The least pip that installs into an environment that has none.
                subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "uv", "pip>=22.3"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                tried.touch()
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{SCRIPT}: {INSTALLER}: {error}; expected to make an environment there. Install python3-venv, or make the folder writable.")
    return python, listed


def install(python: pathlib.Path, *arguments: str) -> subprocess.CompletedProcess:
    """Into the environment of this interpreter, which needs no pip. What is said in the end is pip's."""
    tools, listed = installer()
    uv = tools.parent / "uv"
    variables = None if listed is None else settings_of_pip(listed)
    if variables is not None and uv.exists():
        # uv's own settings are nobody's here: pip's hold, and as pip it takes the best of all places that are looked at.
        own = {name: value for name, value in os.environ.items() if not name.startswith("UV_") or name == "UV_CACHE_DIR"}
        done = subprocess.run([uv, "pip", "install", "--quiet", "--no-config", "--index-strategy", "unsafe-best-match", "--python", python,
                               *arguments], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**own, **variables})
        if done.returncode == 0:
            return done
    return subprocess.run([tools, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", *arguments],
                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def need(done: subprocess.CompletedProcess, what: str) -> None:
    if done.returncode != 0:
        sys.exit(f"{SCRIPT}: {what} cannot be installed; expected pip to find what it needs. pip says:\n{done.stdout}")


def forget_compiled(folder: pathlib.Path) -> None:
    """What was compiled of a file of the same size and second would pass for its successor's."""
    shutil.rmtree(BYTECODE / folder.absolute().relative_to("/"), ignore_errors=True)


def make(folder: pathlib.Path, python: str, packages: list[str]) -> pathlib.Path:
    """The interpreter of an environment for these packages and what is added later; made anew when it was for others."""
    made = folder / "bin" / "python"
    stamp = folder / "wanted.txt"
    wanted = "\n".join([python, *packages])
    if not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        forget_compiled(folder)
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
        if packages:
            need(install(made, *packages), " ".join(packages))
        stamp.write_text(wanted)
    return made


def wheel_stamp(python: pathlib.Path) -> pathlib.Path:
    return python.parent.parent / "wheel.txt"


def put_wheel(python: pathlib.Path, wheel: pathlib.Path, *then: str) -> subprocess.CompletedProcess | None:
    """Installs the wheel alone and then more, unless it is the one that is there; how the rest went, if any was needed."""
    stamp = wheel_stamp(python)
    content = "\n".join([hashlib.sha256(wheel.read_bytes()).hexdigest(), *then])
    if stamp.exists() and stamp.read_text() == content:
        return None
    stamp.unlink(missing_ok=True)
    need(install(python, "--force-reinstall", "--no-deps", str(wheel)), str(wheel))
    forget_compiled(stamp.parent)
    rest = install(python, *then) if then else None
    if rest is None or rest.returncode == 0:
        stamp.write_text(content)
    return rest


if __name__ == "__main__":
    need(install(pathlib.Path(sys.argv[1]).absolute(), *sys.argv[2:]), " ".join(sys.argv[2:]))
