"""The hooks of the plugin ``script_check``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu check``."""
    from drynpu.plugins.verbs import LazyVerb

    line = "Find the mistakes of a script, or of profiling options."
    group.add_command(LazyVerb("check", "drynpu_script_check.verb", line, "Run scripts"))
