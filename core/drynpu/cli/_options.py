"""Options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
import orjson

__all__ = ["as_json", "echo_json"]

F = TypeVar("F", bound=Callable[..., Any])


def as_json(function: F) -> F:
    """Add ``--json``."""
    return click.option("--json", "json_output", is_flag=True, help="Print JSON for programs.")(function)


def echo_json(document: object) -> None:
    """Print a document as indented JSON."""
    click.echo(orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS, default=str).decode())
