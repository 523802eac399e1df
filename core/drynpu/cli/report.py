"""``drynpu report``: the pages of a run in one file."""

from __future__ import annotations

from pathlib import Path

import click

from drynpu import OutputError
from drynpu._extras import require
from drynpu.cli._shared import console
from drynpu.views.runs import Run


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default="report.html", show_default=True
)
@click.option("--rank", default="", help="Rank whose pages are written; the first without it.")
@click.option("-f", "--force", is_flag=True, help="Replace the file if it exists.")
def report(directory: Path, output: Path, rank: str, force: bool) -> None:
    """
    Write the pages of the run in DIRECTORY to one HTML file, which opens offline.

    DIRECTORY is a result directory, a folder with the ranks of one run, or a single result file.
    """
    require("plotly", "dashboard")
    from drynpu.views.report import write_report

    if output.exists() and not force:
        raise OutputError(f"{output} exists; --force replaces it")
    run = Run.from_path(directory)
    write_report(run, run.rank(rank), output)
    console().print(f"Written: {output} ({output.stat().st_size / 2**20:.1f} MB)", soft_wrap=True)
