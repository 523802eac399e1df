"""The hooks of the plugin ``calibration``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click

_VERBS = {
    "predict": "Say how long the kernels or transfers in a table take.",
    "validate": "Say how far off these times are for a profile of a real device.",
    "calibrate": "Fit these times to profiles of a real device.",
}


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu predict``, ``drynpu validate`` and ``drynpu calibrate``."""
    from drynpu.plugins.verbs import LazyVerb

    for verb, line in _VERBS.items():
        group.add_command(LazyVerb(verb, f"drynpu_calibration.verbs.{verb}", line, "Kernel times"))
