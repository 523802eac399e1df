"""
Write the approved results anew, and print what differs from those that there were.

    python tools/approve.py                      # all
    python tools/approve.py torch_rank0          # one subject
    python tools/approve.py torch_rank0.tables   # one part of it
    python tools/approve.py --pack NAME RUN      # put the raw data of a result directory among the recorded runs

tests/core/approved compares with them. A difference is reviewed before it is committed: what changed has to be what the
change is for. The result is the same on every machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests" / "core" / "approved"))


def main() -> int:
    """Run the tool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="subjects, or parts of subjects; default all")
    parser.add_argument("--pack", nargs=2, metavar=("NAME", "RUN"), help="store the raw data of RUN under NAME")
    options = parser.parse_args()
    os.environ["TZ"] = "UTC"
    time.tzset()
    from approved import RECORDED, TEXTS, approve, text_file
    from archives import pack
    from subjects import Subjects, all_parts

    if options.pack:
        name, run = options.pack
        pack(Path(run).resolve(), RECORDED / f"{name}.tar.xz", ROOT)
        return 0
    chosen = [pair for pair in all_parts() if not options.names or {pair[0], ".".join(pair)} & set(options.names)]
    if not chosen:
        parser.error(f"no such subject; there are {', '.join(sorted({subject for subject, _ in all_parts()}))}")
    with tempfile.TemporaryDirectory() as folder:
        subjects, changed = Subjects(Path(folder)), 0
        for subject, part in chosen:
            lines = approve(subject, part, subjects.lines(subject, part))
            if lines:
                changed += 1
                print("\n".join([f"=== {subject}.{part}", *lines]))
    kept = {text_file(*pair) for pair in all_parts()}
    for path in TEXTS.glob("*.txt.xz"):
        if path not in kept:
            path.unlink()
            print(f"=== {path.name} is of no subject any more, removed")
    print(f"{changed} of {len(chosen)} parts changed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
