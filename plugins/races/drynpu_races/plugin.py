"""The hooks of the plugin ``races``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import FacadePart, facade_folder, hookimpl


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add the search for races to ``torch_npu.npu``."""
    folder = facade_folder(__file__) / "torch_npu" / "npu"
    return (FacadePart(package="torch_npu.npu", folder=folder, names="_races_part"),)
