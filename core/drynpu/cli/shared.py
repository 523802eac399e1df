"""What several verbs share, also verbs of plugins: ``--json``, ``--topology``, and how to print."""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click
import orjson
from attrs import fields

from drynpu import OptionError, at_stage

if TYPE_CHECKING:
    from rich.console import Console

QUIET_FRAMEWORKS = {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "1", "KINETO_LOG_LEVEL": "99"}
"""Settings with which frameworks print nothing of their own when they start."""

_PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s*%?")

F = TypeVar("F", bound=Callable[..., Any])


def as_json(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "json_output", is_flag=True, help="Print JSON for programs.")(function)


def gathered(name: str, kind: type[Any]) -> Callable[[F], F]:
    """Pass the options that have the names of the fields of *kind* as one value, in the argument *name*."""

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def command(*arguments: object, **options: object) -> object:
            value = kind(**{field.name: options.pop(field.name) for field in fields(kind)})
            return function(*arguments, **options, **{name: value})

        return cast("F", command)

    return decorate


def echo_json(document: object) -> None:
    """Print a document as indented JSON."""
    at_stage("")
    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str).decode())


@contextmanager
def output_to_stderr() -> Iterator[None]:
    """Send what this process and those that it starts print on stdout to stderr meanwhile: a document stands alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is: ``drynpu[torch]`` and ``[Errno 2]`` are no markup."""
    from drynpu.views import plain_console  # a script that is run does not wait for it

    at_stage("")  # what is printed next must not mix with a line that is drawn again
    return plain_console(stderr=stderr)


def read_share(text: str) -> float:
    """
    Return a share that is written as ``10%``, 0 to 1.

    Raises
    ------
    ValueError
        It is written in another way.
    """
    match = _PERCENT.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is no share; write it as 10%")
    return float(match[1]) / 100


def read_topology(_: click.Context, option: click.Parameter, value: Path | None) -> Path | None:
    """Refuse a file that describes no topology, before anything runs."""
    if value is None:
        return None
    from drynpu.platforms import load_topology  # few verbs need it

    try:
        load_topology(value)
    except OptionError as error:
        raise click.BadParameter(str(error), param=option) from error
    return value.absolute()


topology_option = click.option(
    "--topology",
    callback=read_topology,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Links of the cluster: nodes, HCCS, RoCE, super-nodes (YAML).",
)
