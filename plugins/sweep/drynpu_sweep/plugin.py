"""The hooks of the plugin ``sweep``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click

_LINE = "Run a script with several values of its options, and compare."


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu sweep``."""
    from drynpu.plugins.verbs import LazyVerb

    group.add_command(LazyVerb("sweep", "drynpu_sweep.sweep", _LINE, "Run scripts"))
