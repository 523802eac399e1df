"""
Say how much of each room the tests reach, and whether that is at least its floor.

    python tools/coverage_floors.py coverage.json [--write]

The report comes from ``coverage json``. Floors are in tests/coverage_floors.yaml; ``--write`` raises the ones that are
passed, and gives the others one. The status is 1 where a room is below its floor.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
FLOORS = ROOT / "tests" / "coverage_floors.yaml"
SLACK = 2.0
"""Percent by which a floor is below what was measured: a branch that depends on the machine is no regression."""


def room_name(file: str) -> str:
    """Return the room of a source file: ``core/checks``, ``drynpu_tf/sessions``; of a file beside rooms its package."""
    parts = Path(file).parts
    if parts[0] == "core":
        return f"core/{parts[2]}" if len(parts) > 3 else "core"
    if parts[0] in ("adapters", "plugins") and len(parts) > 3:
        package = parts[3] if parts[2] == "vendor" else parts[2]
        return f"{package}/{parts[3]}" if parts[2] != "vendor" and len(parts) > 4 else package
    return ""


def measured(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the percentage of lines by room; a room of which no line was reached was not tested, and is left out."""
    lines: dict[str, int] = defaultdict(int)
    reached: dict[str, int] = defaultdict(int)
    for file, content in report["files"].items():
        room = room_name(file)
        if room:
            lines[room] += content["summary"]["num_statements"]
            reached[room] += content["summary"]["covered_lines"]
    return {room: 100 * reached[room] / lines[room] for room in sorted(lines) if reached[room]}


def main() -> int:
    """Print the table, and write or compare the floors; return the status."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("report", type=Path)
    arguments.add_argument("--write", action="store_true")
    chosen = arguments.parse_args()
    text = FLOORS.read_text(encoding="utf-8")
    floors: dict[str, float] = yaml.safe_load(text) or {}
    shares = measured(json.loads(chosen.report.read_text(encoding="utf-8")))
    low = 0
    for room, share in shares.items():
        floor = floors.get(room)
        below = floor is not None and share < floor
        low += below
        shown = "no floor" if floor is None else f"floor {floor:5.1f} %"
        print(f"{room:36} {share:5.1f} %  {shown}{'  BELOW' if below else ''}")
    if chosen.write:
        raised = {
            **floors,
            **{room: round(max(floors.get(room, 0), share - SLACK), 1) for room, share in shares.items()},
        }
        head = "".join(f"{line}\n" for line in text.splitlines() if line.startswith("#"))
        FLOORS.write_text(head + yaml.safe_dump(dict(sorted(raised.items()))), encoding="utf-8")
    return int(low > 0 and not chosen.write)


if __name__ == "__main__":
    sys.exit(main())
