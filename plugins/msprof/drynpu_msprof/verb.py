"""``drynpu msprof``: the vendor's command of that name."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import click

from drynpu import CommandError, OptionError
from drynpu.cli.shared import as_json, echo_json, output_to_stderr
from drynpu_msprof._collect import collect
from drynpu_msprof._flags import Request, msprof_flags, read_request
from drynpu_msprof._process import Processed, process, warn
from drynpu_msprof._script import NO_OPERATOR_TUNING, script_arguments, script_flags


@click.command(
    context_settings={"allow_interspersed_args": False},
)
@msprof_flags
@as_json
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def msprof(command: tuple[str, ...], json_output: bool, **flags: Any) -> None:
    """
    Do what the vendor's msprof does with the same flags.

    With COMMAND: run it and record every process of it that uses PyTorch. With --parse, --export, --query or
    --analyze: work on the PROF directories at --output, whoever recorded them; the script form, msprof.py
    import|export|query|analyze -dir DIR, does the same. --json, which the vendor's has not,
    prints a document of the directories and files at the end, and everything else on stderr.
    """
    texts = {name.replace("_", "-"): text for name, text in flags.items() if text is not None}
    try:
        script = script_arguments(command)
        if script is not None:
            texts, command = script_flags(script), ()
        elif command[:1] == ("op",):
            raise CommandError(NO_OPERATOR_TUNING)
        request = read_request(texts, command)
        with output_to_stderr() if json_output else nullcontext():
            done = collect(texts, command) if request is None else _process(request)
    except OptionError as error:
        for problem in error.problems:
            click.echo(f"[ERROR] {problem}", err=True)
        raise SystemExit(1) from error
    except CommandError as error:
        click.echo(f"[ERROR] {error}", err=True)
        raise SystemExit(error.exit_code) from error
    if json_output:
        mode = "collect" if request is None else request.mode
        echo_json({"mode": mode, "directories": [each.document() for each in done]})


def _process(request: Request) -> list[Processed]:
    for text in request.warnings:
        warn(text)
    return process(request)
