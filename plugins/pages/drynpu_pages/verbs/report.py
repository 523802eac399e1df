"""``drynpu report``: the pages of a run in one file, or one page as a picture."""

from __future__ import annotations

import os
from pathlib import Path

import click

from drynpu import OutputError, require
from drynpu.analysis.hints import find_all
from drynpu.cli.newest import newest_run
from drynpu.cli.shared import as_json, console, echo_json
from drynpu.views.theme import size_text
from drynpu_pages.markdown import markdown_summary
from drynpu_pages.pages import find_page
from drynpu_pages.verbs._chip import chip_option


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), default="report.html", show_default=True
)
@click.option("--rank", default="", help="Rank whose pages are written; the first without it.")
@click.option("--page", default="overview", show_default=True, help="Page that a picture shows (-o NAME.png).")
@click.option(
    "--figure", metavar="NAME", help="Write one figure (-o NAME.svg, .png or .pdf); a wrong name lists them all."
)
@click.option("--dark", is_flag=True, help="Draw a picture in the dark colours.")
@click.option("-f", "--force", is_flag=True, help="Replace the file if it exists.")
@click.option("--summary", is_flag=True, help="Write steps, kernels and hints as Markdown instead, for a job's page.")
@chip_option()
@as_json
def report(
    directory: Path,
    output: Path,
    rank: str,
    page: str,
    figure: str | None,
    dark: bool,
    force: bool,
    summary: bool,
    json_output: bool,
) -> None:
    """
    Write the pages of the run in DIRECTORY to one HTML file, which opens offline; to NAME.png one page as a picture.

    With --figure one figure is written alone. A browser that is installed (Chromium, Chrome or Edge) draws pictures and
    figures. --summary adds to the file that
    GITHUB_STEP_SUMMARY names, and prints where there is none.

    DIRECTORY is a result directory, a folder with the ranks of a run, or a single result file. Of a folder with several
    runs the newest is meant.
    """
    if summary:
        _summarise(directory, rank, json_output=json_output)
        return
    require("plotly", "dashboard")
    from drynpu_pages.report import find_figure, write_figure, write_picture, write_report

    if output.exists() and not force:
        raise OutputError(f"{output} exists; --force replaces it")
    run = newest_run(directory)
    if figure is not None:
        write_figure(find_figure(run, run.rank(rank), figure), output)
    elif output.suffix.lower() == ".png":
        write_picture(run, run.rank(rank), find_page(page), output, dark=dark)
    else:
        write_report(run, run.rank(rank), output)
    _say(output, output.stat().st_size, json_output=json_output)
    if not json_output:
        console().print(f"Open:    {output.resolve().as_uri()}", soft_wrap=True)


def _summarise(directory: Path, rank: str, *, json_output: bool) -> None:
    """
    Add the summary of a run to the page of the job, or print it.

    Raises
    ------
    OutputError
        The file of the job cannot be written.
    """
    chosen = newest_run(directory).rank(rank)
    text = markdown_summary(chosen.summary, find_all(chosen.profile, chosen.summary))
    page = os.environ.get("GITHUB_STEP_SUMMARY")
    if not page:
        if json_output:
            echo_json({"markdown": text})
        else:
            click.echo(text, nl=False)
        return
    try:
        with Path(page).open("a", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as error:
        raise OutputError(f"{page}: cannot be written: {error.strerror or error}") from error
    _say(Path(page), len(text.encode()), json_output=json_output)


def _say(path: Path, size_bytes: int, *, json_output: bool) -> None:
    if json_output:
        echo_json({"written": str(path), "bytes": size_bytes})
    else:
        console().print(f"Written: {path} ({size_text(size_bytes)})", soft_wrap=True)
