"""Adds to a MindSpore what its CPU build lacks of Ascend; each part is tried by itself."""

from __future__ import annotations

from pathlib import Path

from drynpu_mindspore.inside import require
from drynpu_mindspore.loaded import LoadedMindSpore
from drynpu_mindspore_kernels._binding import RELEASES
from drynpu_mindspore_kernels._distributed import build_exchange, replace_collectives
from drynpu_mindspore_kernels._narrow_types import follow_narrow_types
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
    exchange = build_exchange(loaded)
    tried.attempt("collectives", lambda: replace_collectives(exchange))
    collectives = build_collectives(exchange)
    served = tried.attempt(_COMPOSITIONS, lambda: serve_compositions(folder, tried, collectives=collectives))
    setattr(package, _SERVED, served)
    if served is not None:
        loaded.primitives.update(COMPOSITIONS)
        device.before_graphs.append(served.widen)
        tried.attempt("bf16 and fp16", lambda: follow_narrow_types(package, served.widen))
    tried.attempt(_SPLITTING, lambda: split_on_ascend(folder, lambda: device.is_ascend))
    tried.attempt(_SPLITTING, lambda: require(RELEASES))  # it reaches inside when a graph is split
