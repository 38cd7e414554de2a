#!/usr/bin/env python3
"""Makes a table of a gigabyte of events, reads it with `couplet table`, and prints the time and the memory that took. Fails above
500 MB. `make large-table` runs it; the suite reads a tenth of that."""
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COUPLET = pathlib.Path(os.environ.get("COUPLET_BUILD_DIR", ROOT / "build" / "release")) / "bin" / "couplet"
LIMIT_KB = 500_000


def write(path: pathlib.Path, size: int) -> int:
    """Events of 200,000 patients; returns how many."""
    rng = random.Random(1)
    line = "{},{},{},2020-01-{:02},some text of the visit that nobody needs\n"
    count = 0
    with open(path, "w") as file:
        file.write("patient,code,drug,date,note\n")
        while file.tell() < size:
            file.write("".join(line.format(rng.randrange(200_000), rng.randrange(400), rng.randrange(300), rng.randrange(1, 29))
                               for _ in range(20_000)))
            count += 20_000
    return count


def main() -> int:
    size = int(float(sys.argv[1]) * 1e9) if len(sys.argv) > 1 else 1_000_000_000
    folder = pathlib.Path(tempfile.mkdtemp(prefix="couplet-large-"))
    try:
        events = write(folder / "events.csv", size)
        start = time.monotonic()
        pid = os.spawnv(os.P_NOWAIT, str(COUPLET), [str(COUPLET), "table", str(folder / "events.csv"), "--patient", "patient", "--modes",
                                                    "code", "drug", "--quiet", "-o", str(folder / "out")])
        _, status, usage = os.wait4(pid, 0)
        seconds = time.monotonic() - start
    finally:
        shutil.rmtree(folder)
    print(f"{events:,} events, {size / 1e9:.2f} GB: {seconds:.0f} s, {usage.ru_utime + usage.ru_stime:.0f} s of a processor, "
          f"{usage.ru_maxrss / 1000:.0f} MB")
    return 0 if status == 0 and usage.ru_maxrss < LIMIT_KB else 1


if __name__ == "__main__":
    sys.exit(main())
