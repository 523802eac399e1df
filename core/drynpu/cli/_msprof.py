"""``drynpu msprof``: the vendor's command of that name."""

from __future__ import annotations

import os
from typing import Any

import click

from drynpu import CommandError, OptionError
from drynpu.chips import load_chip
from drynpu.cli._msprof_flags import PROCESSING_FLAGS, msprof_flags, read_request
from drynpu.cli._msprof_process import process
from drynpu.options import Settings
from drynpu.options.msprof_cli import parse
from drynpu.plugins import build_manager

__all__ = ["msprof"]


@click.command(
    short_help="Parse, export, query and analyze PROF directories.",
    context_settings={"allow_interspersed_args": False},
)
@msprof_flags
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def msprof(command: tuple[str, ...], **flags: Any) -> None:
    """
    Do what the vendor's msprof does with the flags of msprof.

    --parse, --export, --query and --analyze work on the PROF directories at --output, whoever recorded them.
    """
    given = {name.replace("_", "-"): text for name, text in flags.items() if text is not None}
    try:
        request = read_request(given, command)
        if request is None:
            _refuse_collection(given, command)
        else:
            for text in request.warnings:
                click.echo(f"[WARNING] {text}", err=True)
            process(request)
    except OptionError as error:
        for problem in error.problems:
            click.echo(f"[ERROR] {problem}", err=True)
        raise SystemExit(1) from error
    except CommandError as error:
        click.echo(f"[ERROR] {error}", err=True)
        raise SystemExit(error.exit_code) from error


def _refuse_collection(given: dict[str, str], command: tuple[str, ...]) -> None:
    """Check the flags of a collection and say that it cannot be carried out."""
    chip = load_chip(
        Settings.from_environ(os.environ).chip, extra_files=build_manager(record_problems=True).chip_files()
    )
    collected = {name: text for name, text in given.items() if name not in PROCESSING_FLAGS}
    parsed = parse(collected, application=command, chip=chip.platform_version)
    for notice in parsed.notices:
        click.echo(f"[WARNING] {notice.message}", err=True)
    raise CommandError(
        "Start profiling failed: drynpu msprof cannot collect yet, so the application was not started. The flags are "
        "valid. To record: profile in the script (torch_npu.profiler) and start it with drynpu run; then use "
        "drynpu msprof --export=on --output=<its result directory>."
    )
