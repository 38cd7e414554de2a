"""Plants a fault in a copy of the sources, builds what it touches and asks the tests whether they notice.

Nothing is built twice: the object of the faulty file is linked before the archives of a finished build, so that the linker
takes it in place of the archive's member. A test program costs one compilation and one link. The checkout is only read.
"""
import dataclasses
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time

from faults import Fault, Lines

COMPILE_SECONDS = 3600
STILL_SECONDS = 240  # one test that says nothing for so long may have noticed a fault
STILL_RUNNING = "still running after"
SLOWER = 10  # it has, if that is so many times what it takes without the fault: a busy machine is not a fault


class Unusable(Exception):
    """The build or the lists do not allow a judgement; the text says what to do."""


@dataclasses.dataclass
class Outcome:
    """killed, survived, does not compile, same object, equivalent"""
    verdict: str
    by: str = ""
    seconds: float = 0


def layers(root: pathlib.Path) -> dict[str, list[str]]:
    """Module -> the modules that use it directly, from the table in docs/architecture.md; the command line uses the top."""
    uses = {}
    for line in (root / "docs" / "architecture.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and re.fullmatch(r"[a-z]+", cells[0]) and cells[0] != "module":
            uses[cells[0]] = re.findall(r"[a-z]+", cells[2])
    above = {module: [other for other in uses if module in uses[other]] for module in uses}
    for module in ("sim", "net", "experiments"):
        above[module].append("cli")
    return {**above, "cli": []}


def suites_of(test_file: pathlib.Path) -> list[str]:
    if not test_file.exists():
        return []
    return sorted(set(re.findall(r"^\s*(?:TYPED_)?TEST(?:_[FP])?\((\w+)", test_file.read_text(), re.M)))


def pattern(suites: list[str]) -> str:
    """As GoogleTest names them: plain, typed (Suite/0) and parameterised (Values/Suite)."""
    return ":".join(f"{suite}.*:{suite}/*:*/{suite}.*:*/{suite}/*" for suite in suites)


def kill_group(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def wait_while_it_speaks(process: subprocess.Popen, log: pathlib.Path, still: float) -> int | None:
    """The exit status; nothing when the log has not grown for `still` seconds."""
    said, since = -1, time.monotonic()
    while True:
        try:
            return process.wait(1)
        except subprocess.TimeoutExpired:
            size = log.stat().st_size
            if size != said:
                said, since = size, time.monotonic()
            elif time.monotonic() - since > still:
                return None


class Ground:
    """A finished build and a copy of src to plant faults in."""

    def __init__(self, root: pathlib.Path, build: pathlib.Path, work: pathlib.Path, snapshot: bool = True):
        self.root, self.work = root, work
        if not (build / "bin" / "core_tests").exists():
            raise Unusable(f"{build}: no test programs; build them first: cmake --build --preset release")
        shutil.rmtree(work, ignore_errors=True)
        self.bin, self.tree, self.scratch = work / "bin", work / "tree", work / "tmp"
        for folder in (self.bin, self.scratch):
            folder.mkdir(parents=True)
        shutil.copytree(root / "src", self.tree / "src")
        shutil.copytree(root / "tests", self.tree / "tests", ignore=shutil.ignore_patterns("corpus", "__pycache__"))
        self.base = build
        if snapshot:  # a link each: a later build makes new files and leaves these as they are
            self.base = work / "base"
            subprocess.run(["cp", "-al", build, self.base], check=True)
        self.commands = {entry["file"]: entry["command"]
                         for entry in json.loads((self.base / "compile_commands.json").read_text())}
        # Files that the build compiles in a batch, with the unit that includes them.
        self.batches = {unit: [str((pathlib.Path(unit).parent / included).resolve()) for included in
                               re.findall(r'^#include "(.*)"$', pathlib.Path(unit).read_text(), re.M)]
                        for unit in self.commands if pathlib.Path(unit).parent.name == "Unity"}
        self.units = {included: unit for unit, files in self.batches.items() for included in files}
        self.links: dict[str, list[str]] = {}
        self.above = layers(root)
        linker = next((name for name in ("mold", "lld", "gold") if shutil.which(f"ld.{name}")), None)
        self.linker = [f"-fuse-ld={linker}"] if linker else []
        self.unharmed: dict[str, float | None] = {}  # the seconds a test takes without a fault; None where it does not pass
        self.unsteady: set[str] = set()
        self.near = False

    # Building

    def object_of(self, file: str) -> pathlib.Path:
        """Where the unharmed build has its object, relative to the build folder."""
        words = shlex.split(self.commands[self.unit_of(file)])
        return pathlib.Path(words[words.index("-o") + 1])

    def unit_of(self, file: str) -> str:
        """What the compiler is given: the file, or the batch that it is in."""
        return self.units.get(str(self.root / file), str(self.root / file))

    def compile(self, file: str, output: pathlib.Path) -> bool:
        """The copy of `file` with the flags of the release; false when the compiler refuses it, warnings included."""
        unit = self.unit_of(file)
        words = shlex.split(self.commands[unit])
        while "ccache" in os.path.basename(words[0]) or words[0].endswith("cmake") or "=" in words[0] or words[0] in ("-E", "env"):
            words.pop(0)
        words[words.index("-o") + 1] = str(output)
        here, there = f"{self.root}/src/", f"{self.tree}/src/"
        words = [word.replace(here, there) for word in words]
        if unit in self.batches:
            batch = self.work / pathlib.Path(unit).name  # GCC names initialisers after it
            batch.write_text("".join(f'#include "{path.replace(here, there)}"\n' for path in self.batches[unit]))
            words[words.index(unit)] = str(batch)
        done = subprocess.run(words, cwd=self.base, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=COMPILE_SECONDS)
        return done.returncode == 0

    def link(self, program: str, file: str, faulty: pathlib.Path) -> None:
        if program not in self.links:
            shown = subprocess.run(["ninja", "-t", "commands", f"bin/{program}"], cwd=self.base, check=True, text=True,
                                   stdout=subprocess.PIPE).stdout.splitlines()[-1]
            self.links[program] = shlex.split(shown.removeprefix(": && ").removesuffix(" && :"))
        words = list(self.links[program])
        place = words.index("-o")
        words[place + 1] = str(self.bin / program)
        own = str(self.object_of(file))
        if own in words:
            words[words.index(own)] = str(faulty)
        else:
            words.insert(place + 2, str(faulty))
        done = subprocess.run([*words, *self.linker], cwd=self.base, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise Unusable(f"{program} with {file} does not link:\n{done.stdout[-2000:]}")

    # Running

    def run(self, program: pathlib.Path, select: str, still: float = STILL_SECONDS) -> tuple[str, str]:
        """Nothing when all passed; otherwise the first test that did not and how: it failed, crashed or went on for ever."""
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir()
        log = self.work / "log.txt"
        environment = dict(os.environ, TMPDIR=str(self.scratch))
        with log.open("w") as output:
            process = subprocess.Popen([program, "--gtest_fail_fast", "--gtest_color=no", f"--gtest_filter={select}"],
                                       cwd=self.scratch, env=environment, stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=subprocess.STDOUT, start_new_session=True)
            try:
                status = wait_while_it_speaks(process, log, still)
            finally:
                kill_group(process)
        if status == 0:
            return "", ""
        text = log.read_text(errors="replace")
        failed = re.search(r"^\[  FAILED  \] ([^\s,(]+)", text, re.M)
        if failed:
            return failed[1], "failed"
        started = re.findall(r"^\[ RUN      \] (\S+)", text, re.M)
        how = f"ended with status {status}" if status is not None else f"{STILL_RUNNING} {still:.0f} s"
        return started[-1] if started else program.name, how

    def seconds_unharmed(self, program: str, test: str) -> float | None:
        """What the test takes without a fault, now; nothing when it does not pass."""
        if test == program:  # it did not come to its first test
            return 0
        if test not in self.unharmed:
            start = time.monotonic()
            failed = self.run(self.base / "bin" / program, test)[0]
            self.unharmed[test] = None if failed else time.monotonic() - start
        return self.unharmed[test]

    def confirmed(self, program: str, test: str, how: str, still: float = STILL_SECONDS) -> bool:
        """Whether the fault is why the test did not pass: it does without it. One that failed does so twice, and one that goes
        on does so for many times as long as without the fault."""
        if how == "failed" and not self.run(self.bin / program, test)[0]:
            return False
        unharmed = self.seconds_unharmed(program, test)
        if unharmed is None:
            return False
        if not how.startswith(STILL_RUNNING) or SLOWER * unharmed <= still:
            return True
        return bool(self.run(self.bin / program, test, SLOWER * unharmed)[0])

    def stages(self, file: str) -> list[tuple[str, str]]:
        """(module, filter): the mirrored file's own tests, the other tests of the module, those of the next layer unless
        only the module itself is asked."""
        module, stem = pathlib.PurePath(file).parts[1], pathlib.PurePath(file).stem
        own = pattern(suites_of(self.tree / "tests" / module / f"{stem}_test.cpp"))
        stages = [(module, own), (module, f"*-{own}")] if own else [(module, "*")]
        return stages + [(other, "*") for other in self.above[module] if not self.near]

    def without_unsteady(self, module: str, select: str) -> str:
        names = sorted(name.split(" ")[1] for name in self.unsteady if name.startswith(f"{module}_tests "))
        if not names:
            return select
        return select + ("" if "-" in select else "-") + (":" if "-" in select else "") + ":".join(names)

    def programs(self, module: str) -> list[str]:
        """What the tests of a module need: their program, and the command line where they start it."""
        files = (self.tree / "tests" / module).glob("*.hpp")
        starts = any("binary.hpp" in file.read_text() for file in files)
        return [f"{module}_tests", *(["couplet"] if starts else [])]

    def noticed(self, module: str, select: str) -> str:
        """The first test that fails because of the fault. On a busy machine one may fail on its own: it is left out from here
        on."""
        program = f"{module}_tests"
        while True:
            test, how = self.run(self.bin / program, self.without_unsteady(module, select))
            if not test:
                return ""
            if self.confirmed(program, test, how):
                return f"{module}: {test}" + (f" ({how})" if how != "failed" else "")
            self.unsteady.add(f"{program} {test}")

    def judged_by(self, file: str, faulty: pathlib.Path, only: str = "") -> str:
        """The test that notices, or nothing. `only` keeps it to the first tests, or to those that match."""
        linked = set()
        for module, select in self.stages(file)[:1 if only else None]:
            for program in self.programs(module)[:1 if only else None]:
                if program not in linked:
                    self.link(program, file, faulty)
                    linked.add(program)
            if only:
                test, _ = self.run(self.bin / f"{module}_tests", select if only == "mirrored" else only)
                return f"{module}: {test}" if test else ""
            if by := self.noticed(module, select):
                return by
        return ""

    def judge(self, fault: Fault, only: str = "") -> Outcome:
        start = time.monotonic()
        copy = self.tree / fault.file
        original = copy.read_text()
        faulty = self.work / "faulty.o"
        try:
            copy.write_text(fault.applied_to(original))
            if not self.compile(fault.file, faulty):
                return Outcome("does not compile", seconds=time.monotonic() - start)
            if same_code(faulty, self.base / self.object_of(fault.file)):
                return Outcome("same object", seconds=time.monotonic() - start)
            by = self.judged_by(fault.file, faulty, only)
            return Outcome("killed" if by else "survived", by, time.monotonic() - start)
        finally:
            copy.write_text(original)
            for program in self.bin.iterdir():
                program.unlink()


def digest(*files: pathlib.Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def same_code(one: pathlib.Path, other: pathlib.Path) -> bool:
    return digest(one) == digest(other)


# Lists: paragraphs of "key: text" lines

def read_list(path: pathlib.Path) -> list[dict[str, str]]:
    entries, entry = [], {}
    for line in [*path.read_text().splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if entry:
                entries.append(entry)
            entry = {}
            continue
        key, _, text = line.partition(": ")
        if not re.fullmatch(r"file|was|becomes|operator|why", key.rstrip(":")):
            raise Unusable(f"{path}: found {line!r}, expected file:, was:, becomes:, operator: or why:")
        entry[key.rstrip(":")] = text.strip()
    return entries


def find_listed(root: pathlib.Path, path: pathlib.Path) -> list[tuple[Fault, str]]:
    """The faults of a list, found again in the sources. A line that is gone is an error: the list would rot in silence."""
    found = []
    for entry in read_list(path):
        missing = {"file", "was", "why"} - set(entry)
        if "operator" not in entry:  # all faults of that kind on the line, or the one that is written out
            missing |= {"becomes"} - set(entry)
        if missing:
            raise Unusable(f"{path}: an entry without {', '.join(sorted(missing))}: {entry}")
        if not (root / entry["file"]).exists():
            raise Unusable(f"{path}: {entry['file']} is gone; take its entries out or name the new file")
        matches = [fault for group in Lines(entry["file"], (root / entry["file"]).read_text()).faults() for fault in group
                   if fault.was == entry["was"] and fault.becomes == entry.get("becomes", fault.becomes)
                   and fault.operator == entry.get("operator", fault.operator)]
        if not matches:
            raise Unusable(f"{path}: {entry['file']} has no line\n  {entry['was']}\nthat could become\n  {entry.get('becomes', entry.get('operator'))}\n"
                           "It has changed: judge the fault again, then change the entry or take it out.")
        found += [(fault, entry["why"]) for fault in matches]
    return found
