"""The hooks of the plugin ``torch_graphs``; the import is cheap."""

from __future__ import annotations

from drynpu.plugins import FacadePart, facade_folder, hookimpl


@hookimpl
def drynpu_facade_parts() -> tuple[FacadePart, ...]:
    """Add graphs to ``torch.npu`` and their names to ``torch_npu._C``."""
    folder = facade_folder(__file__) / "torch_npu"
    return (
        FacadePart(package="torch_npu.npu", folder=folder / "npu", names="_graphs_part"),
        FacadePart(package="torch_npu._C", folder=folder / "_C", names="_graphs_part"),
    )
