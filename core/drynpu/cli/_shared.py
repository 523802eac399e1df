"""What several verbs share: ``--json``, and how to print."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import orjson
from rich.console import Console

F = TypeVar("F", bound=Callable[..., Any])


def as_json(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "json_output", is_flag=True, help="Print JSON for programs.")(function)


def echo_json(document: object) -> None:
    """Print a document as indented JSON."""
    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str).decode())


def console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is: ``drynpu[torch]`` and ``[Errno 2]`` are no markup."""
    return Console(stderr=stderr, markup=False, emoji=False, highlight=False)
