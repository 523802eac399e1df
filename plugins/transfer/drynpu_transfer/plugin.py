"""The hooks of the plugin ``transfer``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import FacadePart, facade_folder, hookimpl


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add ``transfer_to_npu`` to ``torch_npu.contrib``."""
    folder = facade_folder(__file__) / "torch_npu" / "contrib"
    return (FacadePart(package="torch_npu.contrib", folder=folder, names="_transfer_part"),)
