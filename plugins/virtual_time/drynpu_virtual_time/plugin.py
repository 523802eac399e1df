"""The hooks of the plugin ``virtual_time``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    import click

    from drynpu.plugins import Activation

_LOADTEST = "Latency and throughput of a model that vLLM-Ascend serves, on simulated time."


@hookimpl
def drynpu_cli(group: click.Group) -> None:
    """Add ``drynpu loadtest``."""
    from drynpu.plugins.verbs import LazyVerb

    group.add_command(LazyVerb("loadtest", "drynpu_virtual_time.loadtest.verb", _LOADTEST, "Run scripts"))


@hookimpl
def drynpu_activate(context: Activation) -> None:
    """Put the script on the virtual clock if ``DRYNPU_TIME`` says so."""
    if context.environment.get("DRYNPU_TIME") == "virtual":
        from drynpu_virtual_time.start import start_virtual_time

        start_virtual_time(context.environment)


@hookimpl
def drynpu_device_installed(framework: str) -> None:
    """Let the device of PyTorch pass time on the virtual clock."""
    import os

    if framework == "torch" and os.environ.get("DRYNPU_TIME") == "virtual":
        from drynpu_virtual_time.torch_device import follow_device

        follow_device()
