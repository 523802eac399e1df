"""Adds to a MindSpore what its CPU build lacks of Ascend; each part is tried by itself."""

from __future__ import annotations

from pathlib import Path

from drynpu_mindspore.loaded import LoadedMindSpore
from drynpu_mindspore_kernels._binding import known_release
from drynpu_mindspore_kernels._distributed import build_exchange, replace_collectives
from drynpu_mindspore_kernels._lazy_inline import compile_each_use
from drynpu_mindspore_kernels._narrow_types import follow_narrow_types
from drynpu_mindspore_kernels._refusals import speak_of_ascend
from drynpu_mindspore_kernels._sinking import sink_on_ascend
from drynpu_mindspore_kernels.communication import build_collectives
from drynpu_mindspore_kernels.compositions import COMPOSITIONS, serve_compositions
from drynpu_mindspore_kernels.splitting import split_on_ascend

_SERVED = "_drynpu_compositions"
"""Attribute of the package that keeps what MindSpore's kernels call."""
_COMPOSITIONS = "operators that only Ascend has, bf16 and fp16 in kernels of the CPU that lack them"
_SPLITTING = "graphs split over ranks"


def extend(loaded: LoadedMindSpore) -> None:
    """Add kernels, narrow types, collectives and the splitting of graphs to the MindSpore that was loaded."""
    package, device, tried = loaded.package, loaded.device, loaded.tried
    folder = Path(next(iter(package.__path__)))

    def in_graph_mode() -> bool:
        return bool(package.get_context("mode") == package.GRAPH_MODE)

    tried.attempt("errors in words of Ascend", lambda: speak_of_ascend(device))
    tried.attempt("lazy_inline", lambda: compile_each_use(package.nn.Cell, device))
    exchange = build_exchange(loaded)
    tried.attempt("collectives", lambda: replace_collectives(exchange))
    collectives = build_collectives(exchange)
    served = tried.attempt(_COMPOSITIONS, lambda: serve_compositions(folder, tried, collectives=collectives))
    setattr(package, _SERVED, served)
    if served is not None:
        loaded.primitives.update(COMPOSITIONS)
        device.before_graphs.append(served.widen)
        tried.attempt("bf16 and fp16", lambda: follow_narrow_types(package, served.widen))
    tried.attempt("data sinking", lambda: sink_on_ascend(package.train.Model, lambda: device.is_ascend, in_graph_mode))
    tried.attempt(_SPLITTING, lambda: split_on_ascend(folder, lambda: device.is_ascend))
    tried.attempt(_SPLITTING, known_release)  # it reaches inside when a graph is split
