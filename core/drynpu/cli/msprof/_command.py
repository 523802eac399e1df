"""``drynpu msprof``: the vendor's command of that name."""

from __future__ import annotations

from typing import Any

import click

from drynpu import CommandError, OptionError
from drynpu.cli.msprof._collect import collect
from drynpu.cli.msprof._flags import msprof_flags, read_request
from drynpu.cli.msprof._process import process, warn


@click.command(
    context_settings={"allow_interspersed_args": False},
)
@msprof_flags
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def msprof(command: tuple[str, ...], **flags: Any) -> None:
    """
    Do what the vendor's msprof does with the same flags.

    With COMMAND: run it and record every process of it that uses PyTorch. With --parse, --export, --query or
    --analyze: work on the PROF directories at --output, whoever recorded them.
    """
    given = {name.replace("_", "-"): text for name, text in flags.items() if text is not None}
    try:
        request = read_request(given, command)
        if request is None:
            collect(given, command)
        else:
            for text in request.warnings:
                warn(text)
            process(request)
    except OptionError as error:
        for problem in error.problems:
            click.echo(f"[ERROR] {problem}", err=True)
        raise SystemExit(1) from error
    except CommandError as error:
        click.echo(f"[ERROR] {error}", err=True)
        raise SystemExit(error.exit_code) from error
