"""The vendor's own parsers, run on a copy of what drynpu wrote."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from attrs import frozen

KINDS = ("timeline", "summary", "db")
RESULTS = "mindstudio_profiler_output"
_LATIN = re.compile(r"\[ERROR\][^\n]*")
_PLACE = re.compile(r"\[ERROR\] (?:\[MSVP\] \[\d+\] )?")
MOST_SECONDS = 600


@frozen
class Export:
    """What the vendor's parser made of a PROF directory: the folder of its files and its lines of level ERROR."""

    prof: Path
    errors: tuple[str, ...]

    @property
    def files(self) -> Path:
        """The folder with csv and json files."""
        return self.prof / RESULTS


def export_msprof(checkout: Path, prof: Path, folder: Path) -> Export:
    """Run ``msprof.py export`` of a checkout of Ascend/msprof on a copy of *prof* without our deliverables."""
    copy = folder / prof.name
    shutil.copytree(prof, copy, ignore=shutil.ignore_patterns("mindstudio_profiler_*", "msprof_*.db", "analyze"))
    for path in (copy, *copy.rglob("*")):
        path.chmod(0o750 if path.is_dir() else 0o640)
    analysis = checkout / "analysis"
    printed = [
        subprocess.run(
            [sys.executable, "msprof/msprof.py", "export", kind, "-dir", str(copy)],
            cwd=analysis,
            env={**os.environ, "PYTHONPATH": str(analysis), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_SECONDS,
            umask=0o027,
        ).stdout
        for kind in KINDS
    ]
    logs = [path.read_text(encoding="utf-8", errors="replace") for path in copy.glob("mindstudio_profiler_log/*.log")]
    return Export(copy, error_lines("\n".join((*printed, *logs))))


def error_lines(text: str) -> tuple[str, ...]:
    """Return the distinct texts of lines of level ERROR, without time, process and place."""
    return tuple(dict.fromkeys(_PLACE.sub("", line) for line in _LATIN.findall(text)))


def commit_of(checkout: Path) -> str:
    """Return the commit of a checkout, ``unknown`` where git cannot say."""
    done = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "HEAD"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "unknown"
