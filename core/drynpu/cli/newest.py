"""The run that a verb looks at where a folder has several: a script leaves its next result beside the last."""

from __future__ import annotations

from pathlib import Path

import click

from drynpu._printable import printable
from drynpu.views.runs import Run


def newest_run(path: Path) -> Run:
    """Return the newest run at *path*; where there are others, say on stderr which it is, and the one before."""
    run, older = Run.newest(path)
    if older:
        before = path / older[0]
        text = f"{1 + len(older)} runs in {path}: this is the newest, {run.name}; the one before it is {before}"
        click.echo(printable(text), err=True)
    return run
