"""The hooks of the plugin ``sweep``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click

_VERBS = {
    "fit": "Say whether a training fits on chips, and how long a step takes.",
    "sweep": "Run a script with several values of its options, and compare.",
}


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu fit`` and ``drynpu sweep``."""
    from drynpu.plugins.verbs import LazyVerb

    for verb, line in _VERBS.items():
        group.add_command(LazyVerb(verb, f"drynpu_sweep.{verb}", line, "Run scripts"))
