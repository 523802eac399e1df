"""The hooks of the plugin ``msprof``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from drynpu.plugins import Activation


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu msprof``."""
    from drynpu.plugins.verbs import LazyVerb

    line = "The vendor's msprof: record, export, query and analyze."
    group.add_command(LazyVerb("msprof", "drynpu_msprof.verb", line, "Run scripts"))


@hookimpl
def drynpu_activate(context: Activation) -> None:
    """Let programs of the script find ``npu-smi``."""
    from drynpu_msprof.smi import serve_command

    serve_command(context.environment)
