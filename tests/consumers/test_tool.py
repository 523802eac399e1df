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
    # Only the version is compared: the rest of the banner is the vendor's build information, not for our logs.
    version = re.search(r"msprof-analyze (\S+)", done.stdout)
    assert version
    assert version.group(1) == pinned.group(1)
