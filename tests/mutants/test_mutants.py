"""The short part of `make mutants`: the generator, its lists, and a few faults that must be noticed."""
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import faults  # noqa: E402
import mutants  # noqa: E402
import plant  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
BUILD = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release"))

SOURCE = """
#include <vector>
/// A comment with a < b and 3 + 4.
int f(const std::vector<int>& x, int n) {
    x_.reserve(8);
    if (n < 10 && !x.empty()) throw Error("2 < 3", '+');
    for (int i = 0; i < n; ++i) {
        if (std::abs(x[i]) > 0.5) continue;
        total += x[i] * 2;
    }
    ::fsync(descriptor, 0600,
            "not 3");
    Tensor<double> result(shape);
    return total / n;
}
"""


def becomes(line: str) -> dict[str, set[str]]:
    found = {}
    for group in faults.Lines("src/x/y.cpp", SOURCE).faults():
        for fault in group:
            if fault.was.startswith(line):
                found.setdefault(fault.operator, set()).add(fault.becomes)
    return found


def test_faults_are_those_that_people_make():
    check = becomes("if (n < 10")
    assert check["boundary"] == {'if (n <= 10 && !x.empty()) throw Error("2 < 3", \'+\');'}
    assert check["logic"] == {'if (n < 10 || !x.empty()) throw Error("2 < 3", \'+\');'}
    assert check["negation"] == {'if (!(n < 10 && !x.empty())) throw Error("2 < 3", \'+\');'}
    assert check["lost check"] == {"", 'if (false && (n < 10 && !x.empty())) throw Error("2 < 3", \'+\');'}
    assert check["constant"] == {f'if (n < {n} && !x.empty()) throw Error("2 < 3", \'+\');' for n in (9, 11, 100)}
    assert becomes("total +=") == {"sign": {"total -= x[i] * 2;"}, "factor": {"total += x[i] / 2;"},
                                   "constant": {"total += x[i] * 1;", "total += x[i] * 3;"}, "lost statement": {""}}
    assert becomes("if (std::abs")["sign"] == {"if ((x[i]) > 0.5) continue;"}
    assert becomes("if (std::abs")["constant"] == {"if (std::abs(x[i]) > 5.0) continue;"}
    assert becomes("::fsync") == {"permissions": {'::fsync(descriptor, 0644,'}, "lost statement": {""}}
    assert becomes("return total")["answer"] == {"return {};"}


def test_nothing_is_planted_where_nobody_could_see_it():
    for untouched in ("///", "#include", "x_.reserve", "Tensor<double> result"):
        assert becomes(untouched) == {}


def test_a_fault_changes_its_own_lines_only():
    for group in faults.Lines("src/x/y.cpp", SOURCE).faults():
        for fault in group:
            before, after = SOURCE.split("\n"), fault.applied_to(SOURCE).split("\n")
            changed = [i + 1 for i, (old, new) in enumerate(zip(before, after, strict=True)) if old != new]
            assert changed and set(changed) <= set(range(fault.line, fault.line + len(fault.before)))


def test_every_module_gets_its_share_and_the_seed_decides():
    assert faults.shares({"small": 10, "large": 990}, 20, 3) == {"small": 3, "large": 17}
    assert sum(faults.shares({name: 7 for name in "abcdefg"}, 150, 6).values()) == 150

    def first(seed):
        return [fault for _, fault in zip(range(5), mutants.draw(ROOT, "core", seed))]
    assert first(1) == first(1) and first(1) != first(2)


def test_the_lists_name_lines_that_exist(tmp_path):
    for name in ("equivalent.txt", "planted.txt"):
        plant.find_listed(ROOT, HERE / name)
    stale = tmp_path / "list.txt"
    stale.write_text("file: src/io/atomic_file.cpp\nwas: this line is gone;\nbecomes:\nwhy: none\n")
    with pytest.raises(plant.Unusable, match="this line is gone"):
        plant.find_listed(ROOT, stale)
    stale.write_text("file: src/io/atomic_file.cpp\nwas: x;\nbecomes: y;\n")
    with pytest.raises(plant.Unusable, match="without why"):
        plant.find_listed(ROOT, stale)


@pytest.fixture(scope="module")
def ground(tmp_path_factory):
    # Uses the objects of the build as they are: nothing builds while the suite runs.
    return plant.Ground(ROOT, BUILD, tmp_path_factory.mktemp("mutants") / "work", snapshot=False)


def test_a_file_without_a_fault_gives_the_same_object(ground):
    file = "src/privacy/account.cpp"  # one of a batch that compiles quickly
    assert ground.compile(file, ground.work / "same.o")
    assert plant.same_code(ground.work / "same.o", BUILD / ground.object_of(file))


@pytest.mark.parametrize("fault", [pytest.param(fault, id=f"{pathlib.PurePath(fault.file).stem}-{fault.operator}")
                                   for fault, _ in plant.find_listed(ROOT, HERE / "planted.txt")])
def test_is_noticed(ground, fault):
    before = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, text=True, stdout=subprocess.PIPE).stdout
    outcome = ground.judge(fault, only="mirrored")
    assert outcome.verdict == "killed", f"{fault.file}:{fault.line} {fault.was} -> {fault.becomes}: {outcome.verdict}"
    after = subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, text=True, stdout=subprocess.PIPE).stdout
    assert before == after, "the checkout is left alone"
