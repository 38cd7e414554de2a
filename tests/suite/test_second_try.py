"""What failed beside other work is tried once more alone, and named; --burn makes that work."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from test_suite import ROOT, suite

PYTEST = [sys.executable, *suite.PYTEST[1:]]
# Fails, or ends the whole process, the first time that it is asked.
FIRST_TIME = """
import os, pathlib, pytest
def first(name):
    here = pathlib.Path(os.environ["MARKS"], name.replace("/", "-"))
    return not here.exists() and (here.touch() or True)
"""
PYTESTS = FIRST_TIME + """
class TestOfAClass:
    def test_by_chance(self):
        assert not first("class")
@pytest.mark.parametrize("word", ["half a handshake", "a-b::c"])
def test_by_chance(word):
    assert not first(word)
@pytest.fixture
def spoilt():
    yield
    assert not first("end")
def test_whose_end_fails_by_chance(spoilt):
    pass
def test_that_is_wrong():
    assert False
def test_that_is_right():
    pass
@pytest.mark.skip(reason="why")
def test_that_is_skipped():
    pass
"""
# As a gtest program: a report in JSON of what its filter names.
PROGRAM = "#!/usr/bin/env python3\n" + FIRST_TIME.replace(", pytest", "") + """
import json, sys
options = dict(word.split("=", 1) for word in sys.argv[1:])
wanted, report = options["--gtest_filter"], options["--gtest_output"].removeprefix("json:")
if first("crash"):
    os.kill(os.getpid(), 11)
tests = {"Way/Sums.AddUp/0": lambda: first("sums"), "Sums.AreWrong": lambda: True, "Sums.AreRight": lambda: False}
cases = []
for name, fails in tests.items():
    if wanted in ("*", name):
        cases.append({"name": name.split(".")[1], "result": "COMPLETED", **({"failures": [{"failure": "why"}]} if fails() else {})})
        cases[-1]["suite"] = name.split(".")[0]
suites = [{"name": case.pop("suite"), "testsuite": [case]} for case in cases]
pathlib.Path(report).write_text(json.dumps({"testsuites": suites}))
sys.exit(any("failures" in case for case in cases))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    made = suite.Surroundings(tmp_path / "build")
    made.reports.mkdir(parents=True)
    (made.build / "bin").mkdir()
    made.environment = dict(os.environ, MARKS=str(tmp_path))
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    return made


def test_what_pytest_failed_by_chance_passes_alone_and_is_named(place, tmp_path, capsys):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_chance.py").write_text(PYTESTS)
    result = suite.run_pytest(place, "python chance", PYTEST, [tmp_path / "tests"])
    assert (result.passed, result.failed, result.skipped) == (1, 5, 1), result.details
    names = suite.try_again([result])
    assert (result.passed, result.failed, result.skipped) == (5, 1, 1)
    file = "python chance tests/test_chance.py"
    assert sorted(names) == sorted([f"{file}::TestOfAClass::test_by_chance", f"{file}::test_by_chance[half a handshake]",
                                    f"{file}::test_by_chance[a-b::c]", f"{file}::test_whose_end_fails_by_chance"])
    assert f"{file}::test_that_is_wrong: failed again" in capsys.readouterr().out
    assert suite.summarise([result], names, 1.0) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "5 passed, 1 failed, 1 skipped"
    assert all(f"    {name}" in lines[lines.index("failed beside other work, passed alone:"):] for name in names)


def test_a_file_that_pytest_cannot_read_is_tried_again_as_a_whole(place, tmp_path):
    (tmp_path / "test_broken.py").write_text(FIRST_TIME + "assert not first('file')\ndef test_that_is_right(): pass\n")
    result = suite.run_pytest(place, "python broken", PYTEST, [tmp_path / "test_broken.py"])
    assert (result.passed, result.failed) == (0, 1) and result.failures[0].whole
    assert suite.try_again([result]) == ["python broken (exit status 2)"] and (result.passed, result.failed) == (1, 0)


def test_what_a_program_failed_by_chance_passes_alone_and_its_end_by_a_signal_is_told(place, capsys):
    program = place.build / "bin" / "sums_tests"
    program.write_text(PROGRAM)
    program.chmod(0o755)
    crashed = suite.run_program(place, "sums_tests")
    assert crashed.failed == 1 and crashed.failures[0].whole
    ended = suite.run_program(place, "sums_tests")
    assert (ended.passed, ended.failed) == (1, 2)
    assert suite.try_again([ended]) == ["sums_tests Way/Sums.AddUp/0"] and (ended.passed, ended.failed) == (2, 1)
    program.write_text(PROGRAM.replace('"Sums.AreWrong": lambda: True, ', ""))
    assert suite.try_again([crashed]) == ["sums_tests (ended by signal 11)"] and (crashed.passed, crashed.failed) == (2, 0)


def test_a_script_is_tried_again_as_a_whole(place, tmp_path):
    script = tmp_path / "script"
    script.write_text("#!/bin/sh\necho ok - one\n[ -e $MARKS/there ] && echo ok - two || { touch $MARKS/there; echo not ok - two; exit 1; }\n")
    script.chmod(0o755)
    result = suite.run_tap(place, "script")
    assert (result.passed, result.failed) == (1, 1)
    assert suite.try_again([result]) == ["script"] and (result.passed, result.failed) == (2, 0)
    assert suite.summarise([result], ["script"], 1.0) == 0


def test_where_much_fails_nothing_is_tried_again(capsys):
    tried = []
    failures = [suite.Failure(f"test {k}", lambda: tried.append(1)) for k in range(suite.MOST_AGAIN + 1)]
    assert suite.try_again([suite.Result("bad", failed=len(failures), failures=failures)]) == [] and not tried
    assert "none is tried again" in capsys.readouterr().out


def alive(pid: int) -> bool:
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_burners_burn_and_end_with_the_suite():
    with suite.burning(2) as burners:
        for burner in burners:
            while sum(map(int, pathlib.Path(f"/proc/{burner.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) < 20:
                assert burner.poll() is None
                time.sleep(0.02)
    assert all(burner.returncode == -signal.SIGKILL for burner in burners)


def test_burners_end_with_a_suite_that_is_killed():
    program = "import sys, time; sys.path.insert(0, sys.argv[1]); from test_suite import suite\n" \
              "with suite.burning(2) as burners: print(*(one.pid for one in burners), flush=True); time.sleep(3600)"
    runner = subprocess.Popen([sys.executable, "-B", "-c", program, str(ROOT / "tests" / "suite")], stdout=subprocess.PIPE, text=True)
    try:
        pids = [int(word) for word in runner.stdout.readline().split()]
        assert len(pids) == 2 and all(map(alive, pids))
    finally:
        runner.kill()
        runner.wait()
    while any(map(alive, pids)):  # a burner that stayed would hang here, and be seen
        time.sleep(0.02)
