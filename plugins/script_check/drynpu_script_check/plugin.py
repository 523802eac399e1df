"""The hooks of the plugin ``script_check``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from drynpu.plugins import Activation


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu check``."""
    from drynpu.plugins.verbs import LazyVerb

    line = "Find the mistakes of a script, or of profiling options."
    group.add_command(LazyVerb("check", "drynpu_script_check.verb", line, "Run scripts"))


@hookimpl
def drynpu_activate(context: Activation) -> None:
    """Look at a script that computes values, and say once where the types of its tensors make it slow."""
    settings = context.environment
    if settings.get("DRYNPU_COMPUTE") == "0" or settings.get("DRYNPU_QUIET") == "1":
        return
    if settings.get("DRYNPU_TIME") == "virtual":  # its clocks are the script's
        return
    import threading

    from drynpu_script_check._slow_types import keeps_locals, watch_types

    if not keeps_locals():
        watch_types(threading.main_thread().ident or 0)
