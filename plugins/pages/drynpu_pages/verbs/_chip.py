"""The option for the chip of profiles that name none: ``--chip`` of what shows profiles."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TypeVar

import click

_Command = TypeVar("_Command", bound=Callable[..., object])


def _choose(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    del context, parameter
    if value:
        os.environ["DRYNPU_CHIP"] = value


def chip_option(name: str = "--chip") -> Callable[[_Command], _Command]:
    """Return the option, where another chip can be named too under another name."""
    return click.option(
        name,
        callback=_choose,
        expose_value=False,
        help="Chip of profiles that name none, for peaks and memory; a profile that names its chip has that one.",
    )
