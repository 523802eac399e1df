"""The option ``--chip`` of what shows profiles."""

from __future__ import annotations

import os

import click


def _choose(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
    del context, parameter
    if value:
        os.environ["DRYNPU_CHIP"] = value


chip_option = click.option(
    "--chip",
    callback=_choose,
    expose_value=False,
    help="Chip of profiles that name none, for peaks and memory; a profile that names its chip has that one.",
)
