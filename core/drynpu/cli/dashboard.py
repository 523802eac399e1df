"""``drynpu dashboard``: look at profiles in a browser."""

from __future__ import annotations

from pathlib import Path

import click

from drynpu._extras import require
from drynpu.cli._shared import console
from drynpu.views.runs import Library


@click.command()
@click.argument("directory", type=click.Path(exists=True, path_type=Path), default=".")
@click.option("--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0 takes any free one.")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on. Others than this machine then need the token that is printed.",
)
def dashboard(directory: Path, port: int, host: str) -> None:
    """
    Serve the runs below DIRECTORY as pages: steps, operators, timeline, memory and what else they hold.

    DIRECTORY holds result directories (*_ascend_pt, *_ascend_ms, PROF_*), also of a real device and without raw data,
    or is one of them, or a single result file. New runs appear while it is served. Ctrl-C ends it.
    """
    require("dash", "dashboard")
    from drynpu.views.dashboard import Place, serve

    out = console()

    def report(address: str) -> None:
        out.print(f"Runs below {directory}: {address}\nCtrl-C ends it.", soft_wrap=True)

    serve(Library(directory), Place(host, port), report)
