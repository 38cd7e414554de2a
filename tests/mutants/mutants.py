"""make mutants: plants single-line faults in src and writes a table of those that no test notices.

The table is build/mutants/table.md, the same as JSON beside it. Seeded: the same sources and seed plant the same faults.
"""
import argparse
import datetime
import fcntl
import json
import pathlib
import random
import signal
import sys
import time

sys.dont_write_bytecode = True
import faults  # noqa: E402
from plant import Ground, Outcome, Unusable, find_listed  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COUNTED = ("killed", "survived")
LEAST = 6  # faults for a small module


def draw(root: pathlib.Path, module: str, seed: int):
    """The faults of a module in the order of the seed: a line, then a kind of fault on it, then one of that kind."""
    random_ = random.Random(f"{seed} {module}")
    groups = [group for file in faults.sources(root, module) for group in faults.faults_of(root, file)]
    random_.shuffle(groups)
    for group in groups:
        kind = random_.choice(sorted({fault.operator for fault in group}))
        yield random_.choice([fault for fault in group if fault.operator == kind])


def record(fault: faults.Fault, outcome: Outcome, why: str = "") -> dict:
    return {"module": fault.module, "file": fault.file, "line": fault.line, "operator": fault.operator, "was": fault.was,
            "becomes": fault.becomes, "verdict": outcome.verdict, "by": outcome.by, "why": why,
            "seconds": round(outcome.seconds, 1)}


def cell(text: str) -> str:
    return "`" + text.replace("|", "\\|").replace("`", "'") + "`" if text else "(nothing)"


def summary(records: list[dict]) -> list[str]:
    lines = ["| module | planted | killed | survived | share | equivalent | refused by the compiler |", "|---|--:|--:|--:|--:|--:|--:|"]

    def row(name, own):
        count = {verdict: sum(r["verdict"] == verdict for r in own)
                 for verdict in ("killed", "survived", "equivalent", "same object", "does not compile")}
        planted = count["killed"] + count["survived"]
        share = f"{100 * count['killed'] / planted:.0f}%" if planted else "-"
        return (f"| {name} | {planted} | {count['killed']} | {count['survived']} | {share} | "
                f"{count['equivalent'] + count['same object']} | {count['does not compile']} |")
    for module in faults.modules(ROOT):
        own = [r for r in records if r["module"] == module]
        if own:
            lines.append(row(module, own))
    return [*lines, row("all", records)]


def write_table(output: pathlib.Path, records: list[dict], seed: int, unsteady: set[str]) -> None:
    (output / "table.json").write_text(json.dumps({"seed": seed, "faults": records}, indent=1) + "\n")
    lines = ["# Planted faults", "", f"Seed {seed}, {datetime.date.today().isoformat()}. Equivalent faults and those that the "
             "compiler refuses are not counted as planted.", "", *summary(records), ""]
    lines += ["## Survived", "", "| where | kind | line | became |", "|---|---|---|---|"]
    lines += [f"| {r['file']}:{r['line']} | {r['operator']} | {cell(r['was'])} | {cell(r['becomes'])} |"
              for r in records if r["verdict"] == "survived"]
    lines += ["", "## Equivalent", "", "| where | line | became | why |", "|---|---|---|---|"]
    lines += [f"| {r['file']}:{r['line']} | {cell(r['was'])} | {cell(r['becomes'])} | {r['why'] or 'the object is the same'} |"
              for r in records if r["verdict"] in ("equivalent", "same object")]
    lines += ["", "## Killed", "", "| where | kind | line | became | by |", "|---|---|---|---|---|"]
    lines += [f"| {r['file']}:{r['line']} | {r['operator']} | {cell(r['was'])} | {cell(r['becomes'])} | {r['by']} |"
              for r in records if r["verdict"] == "killed"]
    if unsteady:
        lines += ["", "## Left out, because they fail without a fault", "", *(f"- {name}" for name in sorted(unsteady))]
    (output / "table.md").write_text("\n".join(lines) + "\n")


def show(entry: dict) -> None:
    print(f"{entry['verdict']:16} {entry['file']}:{entry['line']} [{entry['operator']}] {entry['was']}  ->  "
          f"{entry['becomes'] or '(nothing)'}  {entry['by']} ({entry['seconds']:.0f} s)", flush=True)


def planned(options, equivalent) -> list[tuple[str, int]]:
    sizes = {module: sum(len(faults.faults_of(ROOT, file)) for file in faults.sources(ROOT, module))
             for module in faults.modules(ROOT)}
    shares = faults.shares(sizes, options.count, LEAST)
    chosen = options.module or faults.modules(ROOT)
    unknown = set(chosen) - set(shares)
    if unknown:
        raise Unusable(f"--module {', '.join(sorted(unknown))}: expected one of {', '.join(shares)}")
    return [(module, shares[module]) for module in chosen]


def key(entry: dict) -> tuple:
    return entry["file"], entry["line"], entry["was"], entry["becomes"]


def replayed(root: pathlib.Path, records: list[dict]) -> list[faults.Fault]:
    """The survivors of the last table, found again where they still exist."""
    found = []
    for entry in records:
        groups = faults.faults_of(root, entry["file"]) if (root / entry["file"]).exists() else []
        same = [fault for group in groups for fault in group if (fault.was, fault.becomes) == (entry["was"], entry["becomes"])]
        found += [min(same, key=lambda fault: abs(fault.line - entry["line"]))] if same else []
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=150, help="faults over all modules, by size (default 150)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--module", action="append", help="only this module, with its share of the count; may be repeated")
    parser.add_argument("--limit", type=float, default=0, help="stop after this many minutes (default: no limit)")
    parser.add_argument("--resume", action="store_true", help="go on where a run was stopped: what the last table says stands")
    parser.add_argument("--again", action="store_true", help="only the faults that survived in the last table")
    parser.add_argument("--near", action="store_true", help="ask only the module's own tests: quicker, and harsher")
    parser.add_argument("--list", action="store_true", help="print the faults that would be planted and stop")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build" / "mutants")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.limit if options.limit else float("inf")

    known = {(fault.file, fault.was, fault.becomes): why for fault, why in find_listed(ROOT, HERE / "equivalent.txt")}
    plan = planned(options, known)
    if options.list:
        for module, count in plan:
            for _, fault in zip(range(count), draw(ROOT, module, options.seed)):
                show(record(fault, Outcome("")))
        return 0

    options.output.mkdir(parents=True, exist_ok=True)
    alone = (options.output / "lock").open("w")
    try:
        fcntl.flock(alone, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Unusable(f"{options.output}: another run is at work there; wait for it or give --output") from None
    table = options.output / "table.json"
    last = json.loads(table.read_text())["faults"] if table.exists() else []
    ground = Ground(ROOT, options.build.resolve(), options.output.resolve() / "work")
    ground.near = options.near

    judged = {key(entry): entry for entry in last} if options.resume else {}

    def judge(fault: faults.Fault) -> dict:
        if entry := judged.get((fault.file, fault.line, fault.was, fault.becomes)):
            return entry
        why = known.get((fault.file, fault.was, fault.becomes))
        entry = record(fault, Outcome("equivalent"), why) if why else record(fault, ground.judge(fault))
        show(entry)
        return entry

    chosen = {module for module, _ in plan}
    if options.again:
        repeat = replayed(ground.tree, [entry for entry in last if entry["verdict"] == "survived" and entry["module"] in chosen])
        keys = {(fault.file, fault.was, fault.becomes) for fault in repeat}
        records = [entry for entry in last if (entry["file"], entry["was"], entry["becomes"]) not in keys]
        for fault in repeat:
            if time.monotonic() > end:
                break
            records.append(judge(fault))
            write_table(options.output, records, options.seed, ground.unsteady)
    else:
        records = [entry for entry in last if entry["module"] not in chosen]
        for module, count in plan:
            counted = 0
            for fault in draw(ground.tree, module, options.seed):
                if counted == count or time.monotonic() > end:
                    break
                records.append(judge(fault))
                counted += records[-1]["verdict"] in COUNTED
                write_table(options.output, records, options.seed, ground.unsteady)
    print("\n".join(summary(records)))
    print(f"\ntable: {options.output / 'table.md'}")
    return 0


def interrupt(*_) -> None:
    raise KeyboardInterrupt  # so that the programs under test end with this one


if __name__ == "__main__":
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupt)
    try:
        sys.exit(main())
    except Unusable as reason:
        sys.exit(f"mutants: {reason}")
    except KeyboardInterrupt:
        sys.exit("mutants: interrupted; the table holds what was judged so far")
