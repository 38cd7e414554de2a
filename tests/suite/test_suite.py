"""The suite itself: what runs when, and on how many cores."""
import importlib.machinery
import importlib.util
import pathlib
import threading
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def load(path: str):
    loader = importlib.machinery.SourceFileLoader(path.replace("/", "_").replace("-", "_"), str(ROOT / path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    # Dataclasses look their module up; nothing else may.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.dont_write_bytecode", True)
        patch.setitem(__import__("sys").modules, loader.name, module)
        loader.exec_module(module)
    return module


suite = load("scripts/run-tests")


class Watch:
    """Tasks that say when they run."""

    def __init__(self):
        self.lock, self.running, self.order, self.most = threading.Lock(), [], [], 0.0

    def task(self, name, needs=(), load=1.0, alone="", step=False, failed=0):
        def work():
            with self.lock:
                self.running.append((name, load, alone))
                self.order.append(name)
                self.most = max(self.most, sum(one[1] for one in self.running))
                words = [one[2] for one in self.running if one[2]]
                assert len(words) == len(set(words)), "two of one word at a time"
            time.sleep(0.05)
            with self.lock:
                self.running.remove((name, load, alone))
            return suite.Result(name, passed=int(not step and not failed), failed=failed, step=step)
        return suite.Task(name, work, needs, load, alone)


def run(tasks, cores, place=None):
    return {result.name: result for result in suite.run_tasks(tasks, cores, place)}


def test_what_is_needed_comes_first_and_no_more_runs_than_there_are_cores(capsys):
    watch = Watch()
    tasks = [watch.task("product", step=True, load=0), watch.task("a", ("product",)), watch.task("b", ("product",), 0.5),
             watch.task("c", ("product",), 0.5), watch.task("d", ("product",)), watch.task("e", ("product", "a"))]
    results = run(tasks, 2)
    assert sum(result.passed for result in results.values()) == 5
    assert watch.order[0] == "product" and watch.order.index("a") < watch.order.index("e")
    assert watch.most == 2, "two cores are used, and not more"
    assert capsys.readouterr().out.count("1 passed, 0 failed") == 5, "one line for each runner"


def test_one_that_keeps_more_cores_busy_than_there_are_runs_alone():
    watch = Watch()
    assert len(run([watch.task("a", load=1.0), watch.task("large", load=4.0), watch.task("b", load=1.0)], 2)) == 3
    assert watch.most == 4.0


def test_what_a_runner_finds_is_no_reason_not_to_run_others_and_a_step_that_fails_is():
    watch = Watch()
    results = run([watch.task("bad", failed=2), watch.task("after", ("bad",)), watch.task("wheel", step=True, load=0, failed=1),
                   watch.task("package", ("wheel",)), watch.task("not here", ("a step of another plan",))], 2)
    assert results["after"].passed == 1 and results["not here"].passed == 1
    assert results["package"].failed == 1 and results["package"].details == "not run: needs wheel"
    assert "package" not in watch.order


def test_those_that_share_a_port_take_turns():
    watch = Watch()
    assert len(run([watch.task(name, load=0.1, alone="documents") for name in "abc"], 2)) == 3


def test_a_run_says_how_long_it_took_and_what_it_cost(tmp_path):
    place = suite.Surroundings(tmp_path)
    place.reports.mkdir()
    ended = place.run("a/b c", ["bash", "-c", "echo said; echo >&2 why; echo $MORE; exit 3"], MORE="more")
    assert ended.status == 3 and ended.output == "said\nwhy\nmore\n"
    assert (tmp_path / "test-reports" / "a-b-c.log").exists() and not place.alive
    busy = place.run("busy", ["python3", "-c", "import time\nwhile time.process_time() < 0.3: pass"])
    assert busy.status == 0 and 0.3 <= busy.work <= busy.seconds + 0.2


def test_every_test_of_the_project_is_in_the_plan(tmp_path):
    place = suite.Surroundings(tmp_path)
    options = suite.argparse.Namespace(programs=False, compile=2)
    plan = suite.plan(place, options)
    names = [task.name for task in plan]
    assert len(names) == len(set(names))
    assert all(need in names for task in plan for need in task.needs)
    assert {f"{folder.name}_tests" for folder in (ROOT / "tests").iterdir() if list(folder.glob("*_test.cpp"))} <= set(names)
    listed = {file for files in suite.python_folders().values() for file in files}
    others = {file for folder in ("python", "site", "engines") for file in (ROOT / "tests" / folder).rglob("test_*.py")}
    assert listed | others == set((ROOT / "tests").rglob("test_*.py")) and {"python package", "site", "flower", "nvflare"} <= set(names)


def test_what_waits_begins_before_what_computes(tmp_path):
    plan = suite.plan(suite.Surroundings(tmp_path), suite.argparse.Namespace(programs=False, compile=2))
    computes = [task.load >= 1 for task in plan]
    assert computes == sorted(computes) and set(computes) == {True, False}
    assert all("first programs" in task.needs for task in plan if task.load >= 1 and task.needs)
    assert not any("first programs" in task.needs for task in plan if task.load < 1 and task.name not in ("net_tests", "test programs"))
