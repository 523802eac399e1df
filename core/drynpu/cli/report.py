"""``drynpu report``: the pages of a run in one file, or one page as a picture."""

from __future__ import annotations

from pathlib import Path

import click

from drynpu import OutputError
from drynpu._extras import require
from drynpu.cli._shared import console
from drynpu.views.pages import find_page
from drynpu.views.runs import Run


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default="report.html", show_default=True
)
@click.option("--rank", default="", help="Rank whose pages are written; the first without it.")
@click.option("--page", default="overview", show_default=True, help="Page that a picture shows (-o NAME.png).")
@click.option("--dark", is_flag=True, help="Draw a picture in the dark colours.")
@click.option("-f", "--force", is_flag=True, help="Replace the file if it exists.")
def report(directory: Path, output: Path, rank: str, page: str, dark: bool, force: bool) -> None:
    """
    Write the pages of the run in DIRECTORY to one HTML file, which opens offline; to NAME.png one page as a picture.

    A picture is drawn by a browser that is installed (Chromium, Chrome or Edge).

    DIRECTORY is a result directory, a folder with the ranks of one run, or a single result file.
    """
    require("plotly", "dashboard")
    from drynpu.views.report import write_picture, write_report

    if output.exists() and not force:
        raise OutputError(f"{output} exists; --force replaces it")
    run = Run.from_path(directory)
    if output.suffix.lower() == ".png":
        write_picture(run, run.rank(rank), find_page(page), output, dark=dark)
    else:
        write_report(run, run.rank(rank), output)
    console().print(f"Written: {output} ({output.stat().st_size / 2**20:.1f} MB)", soft_wrap=True)
    console().print(f"Open:    {output.resolve().as_uri()}", soft_wrap=True)
