"""
Do README's five tasks as a stranger does: in a fresh clone, with an environment and a cache of its own.

    python tools/fresh_tasks.py [--keep FOLDER]

First ``make demo``, then the commands of each page in docs/howto, in its order. What a page shows has to be in what its
commands say. Prints the seconds of each; the status is 1 if one fails or takes more than five minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
LIMIT_S = 300
"""Of a task; the set-up of the environment is a download."""


def follower(clone: Path) -> ModuleType:
    """Return the module that follows pages, with the pages and the commands of a clone."""
    specification = importlib.util.spec_from_file_location("tasks", clone / "tests" / "docs" / "test_tasks.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    module.BIN = clone / ".venv" / "bin"
    return module


@contextlib.contextmanager
def timed(name: str, limit_s: float | None = LIMIT_S) -> Iterator[None]:
    """Print how long something took, and fail where that is more than the limit."""
    begin_s = time.monotonic()
    yield
    took_s = time.monotonic() - begin_s
    print(f"{name:12} {took_s:6.1f} s", flush=True)
    if limit_s is not None and took_s > limit_s:
        raise SystemExit(f"{name} takes {took_s:.0f} s, more than {limit_s:.0f}")


def do_tasks(clone: Path, folder: Path, variables: dict[str, str]) -> None:
    """Follow the five pages; those that need a profile work on the demo's."""
    tasks = follower(clone)
    pages = clone / "docs" / "howto"
    with timed("profile"):
        tasks.follow(pages / "profile.md", folder, **variables)
    with timed("bound"):
        tasks.follow(pages / "bound.md", clone, **variables)
    with timed("chips"):
        chips = folder / "chips"
        chips.mkdir()
        tasks.follow(pages / "chips.md", chips, **variables)
    with timed("genuine"):
        (source, *_) = clone.glob("demo_out/*_ascend_pt")
        shutil.copytree(source, folder / "colleague_ascend_pt", ignore=shutil.ignore_patterns("PROF_*", "FRAMEWORK"))
        tasks.follow(pages / "genuine.md", folder, **variables)
    with timed("deliverable"):
        tasks.follow(pages / "deliverable.md", clone, **variables)


def main() -> int:
    """Clone, set up, and do the tasks."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--keep", type=Path, help="folder for the clone, which stays")
    chosen = arguments.parse_args()
    place = contextlib.nullcontext(chosen.keep) if chosen.keep else tempfile.TemporaryDirectory(prefix="drynpu-fresh-")
    with place as name:
        folder = Path(name).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        clone = folder / "drynpu"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        cache = {"XDG_CACHE_HOME": str(folder / "cache")}
        clean = {name: text for name, text in os.environ.items() if not name.startswith(("DRYNPU", "PYTHON", "MAKE"))}
        with timed("make demo", None):
            subprocess.run(["make", "demo"], cwd=clone, env={**clean, **cache}, check=True, stdout=subprocess.DEVNULL)
        work = folder / "work"
        work.mkdir()
        do_tasks(clone, work, cache)
    print("all five tasks work in a fresh clone")
    return 0


if __name__ == "__main__":
    sys.exit(main())
