from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_tool_is_the_version_that_is_pinned(
    msprof_analyze: Callable[..., subprocess.CompletedProcess[str]],
) -> None:
    pinned = re.search(r"^msprof-analyze==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned
    done = msprof_analyze("--version")
    assert done.returncode == 0
    assert pinned.group(1) in done.stdout
