"""``python -m drynpu.products DIRECTORY``: deliverables of one directory, in a process without the framework."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from drynpu import DrynpuError
from drynpu.options import ExportType
from drynpu.products._deliver import deliver, deliver_toolkit


def main() -> None:
    """Print ``toolkit`` when the toolkit's part is done; a failure is one line on stderr and status 1."""
    parser = argparse.ArgumentParser(prog="python -m drynpu.products", description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--simplify", action="store_true", help="remove what the toolkit wrote afterwards")
    parser.add_argument("--toolkit", action="store_true", help="write the toolkit's part alone")
    parser.add_argument(
        "--form",
        action="append",
        type=ExportType,
        help="text or db, once or twice; default what the recording was asked for",
    )
    parser.add_argument(
        "--step", action="append", type=int, default=[], help="of MindSpore: a step, from 1; default all"
    )
    arguments = parser.parse_args()
    try:
        if arguments.toolkit:
            deliver_toolkit(arguments.directory)
            return
        deliver(
            arguments.directory, simplify=arguments.simplify, forms=arguments.form, steps=arguments.step, on_part=_tell
        )
    except (DrynpuError, OSError) as error:
        raise SystemExit(str(error)) from error


def _tell(part: str) -> None:
    sys.stdout.write(f"{part}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
