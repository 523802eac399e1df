"""The hooks of the plugin ``msprof``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu msprof``."""
    from drynpu.plugins.verbs import LazyVerb

    line = "The vendor's msprof: record, export, query and analyze."
    group.add_command(LazyVerb("msprof", "drynpu_msprof.verb", line, "Run scripts"))
