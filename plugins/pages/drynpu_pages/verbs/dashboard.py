"""``drynpu dashboard``: look at profiles in a browser."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from drynpu import require
from drynpu.cli.shared import as_json, console, echo_json
from drynpu_pages.library import Library
from drynpu_pages.verbs._chip import chip_option


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path), default=".")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes any free one.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Others than this machine then need the token that is printed.",
)
@chip_option()
@as_json
def dashboard(directory: Path, port: int, host: str, json_output: bool) -> None:
    """
    Serve the runs below DIRECTORY as pages: steps, operators, timeline, memory and what else they hold.

    DIRECTORY holds result directories (*_ascend_pt, *_ascend_ms, PROF_*), also of a real device and without raw data,
    or is one of them, or a single result file. New runs appear while it is served. Ctrl-C ends it. With --json the
    address and the runs that are there are printed when it is served.
    """
    require("dash", "dashboard")
    from drynpu_pages.dashboard import Place, serve

    library = Library(directory)

    def report(address: str) -> None:
        if json_output:
            runs = [{"name": run.name, "ranks": [rank.rank for rank in run.folders]} for run in library.folders()]
            echo_json({"address": address, "directory": str(directory), "runs": runs})
            sys.stdout.flush()  # who reads it waits for it, not for the end
        else:
            console().print(f"Runs below {directory}: {address}\nCtrl-C ends it.", soft_wrap=True)

    serve(library, Place(host, port), report)
