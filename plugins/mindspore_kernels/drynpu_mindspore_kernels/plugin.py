"""The hooks of the plugin ``mindspore_kernels``; the import is cheap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu.plugins import hookimpl

if TYPE_CHECKING:
    from drynpu_mindspore.loaded import LoadedMindSpore


@hookimpl
def drynpu_framework_loaded(framework: str, loaded: LoadedMindSpore) -> None:
    """Have MindSpore compute what only Ascend has, now that a script imports it."""
    if framework == "mindspore":
        from drynpu_mindspore_kernels._extend import extend
        from drynpu_mindspore_kernels.graph_engine import WholeGraphs

        loaded.backend.use_graph_engine(WholeGraphs)
        extend(loaded)
