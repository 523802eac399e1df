"""The hooks of the plugin ``cluster``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click

_VERBS = {
    "cluster": "Analyse the ranks of a run together: who waits for whom.",
    "synth": "Make a cluster of many ranks from a few, as test data.",
}


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu cluster`` and ``drynpu synth``."""
    from drynpu.plugins.verbs import LazyVerb

    for verb, line in _VERBS.items():
        group.add_command(LazyVerb(verb, f"drynpu_cluster.verbs.{verb}", line, "Look at runs"))
