"""The ``drynpu`` command: its verbs, and the one place where errors become exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from drynpu import CommandError, DrynpuError, __version__
from drynpu.cli._analyze import analyze
from drynpu.cli._check import check
from drynpu.cli._chips import chips
from drynpu.cli._completion import completion
from drynpu.cli._doctor import doctor
from drynpu.cli._run import run
from drynpu.plugins import build_manager

__all__ = ["cli", "main"]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="drynpu")
def cli() -> None:
    """Run Ascend profiling code where there is no NPU, and look at what it leaves."""


for command in (run, analyze, check, chips, doctor, completion):
    cli.add_command(command)


def main(argv: Sequence[str] | None = None) -> None:
    """
    Run the command line; the console script.

    An error of drynpu is one message on stderr and the exit status 1 (or the one the error carries).
    """
    try:
        build_manager(record_problems=True).add_commands(cli)
        cli.main(args=None if argv is None else list(argv), prog_name="drynpu")
    except DrynpuError as error:
        click.echo(f"drynpu: {error}", err=True)
        sys.exit(error.exit_code if isinstance(error, CommandError) else 1)
