"""The example of docs/core-api.md: a recording written down by hand, with every kind of sample."""

from __future__ import annotations

import contextlib
import runpy
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[3] / "examples" / "core" / "neutral_session.py"


def main() -> object:
    """Write the recording; return nothing that could differ."""
    sys.argv = [str(EXAMPLE), "--output", "out", "--options", "aicpu=on", "l2=on", "host_sys=cpu,mem"]
    # The example is a command: it refuses to go on without its directory, in one line and with status 2.
    with contextlib.suppress(SystemExit):
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    return "written"
