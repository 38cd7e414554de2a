"""`python -m couplet ...` is the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    binary = Path(__file__).parent / "bin" / "couplet"
    os.execv(binary, ["couplet", *sys.argv[1:]])


if __name__ == "__main__":
    main()
