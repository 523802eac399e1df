"""What scripts and plugins of others import: a name that comes or goes has to be meant, and told in the changelog."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINNED = Path(__file__).with_name("public_api.txt")


def test_the_public_names_are_those_of_the_list() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "public_api.py")], capture_output=True, text=True, check=True
    )
    now, pinned = set(done.stdout.splitlines()), set(PINNED.read_text(encoding="utf-8").splitlines())
    said = "after a change that is meant: python tools/public_api.py > tests/core/public_api.txt, and a changelog line"
    assert (sorted(now - pinned), sorted(pinned - now)) == ([], []), said
    assert {"drynpu.open_run", "drynpu.plugins.hookimpl", "drynpu.kernels.KernelSpec"} <= pinned
