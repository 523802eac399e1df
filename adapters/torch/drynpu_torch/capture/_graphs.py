"""Operators of graphs: what is captured launches nothing, what is replayed is launched by the device itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drynpu.arrays import I64, Bools
from drynpu.device import inherit
from drynpu.kernels import Placement
from drynpu_torch.capture._chunk import rows_named
from drynpu_torch.capture._native import around
from drynpu_torch.device import GRAPH_CAPTURE, GRAPH_KEEPING, GRAPH_REPLAY

_MODE = "PythonDispatchMode"
"""What PyTorch shows of the call of a dispatch mode, the one that captures among them."""


def place_graphs(
    placement: I64, placements: Sequence[Placement], names: Sequence[str], name: I64, parent: I64, depth: I64
) -> tuple[Bools, Bools]:
    """
    Change the *placement* of operators, ``[n]`` indices into *placements*, that belong to graphs.

    Returns
    -------
    replayed, hidden:
        Shape ``[n]``: what the framework does not see, because the device runs it, and what nobody is shown: ranges,
        the mode that captures, and what keeps arguments. Ranges of replays are among the first: they end one.
    """
    captures = rows_named(names, name, GRAPH_CAPTURE.__eq__)
    keeping = rows_named(names, name, GRAPH_KEEPING.__eq__)
    modes = rows_named(names, name, _MODE.__eq__)
    modes &= np.isin(np.arange(len(name)), parent[captures | keeping])
    captured = inherit(depth, parent, captures) | around(parent, captures)
    placement[captured] = placements.index(Placement.CAPTURED)
    replays = rows_named(names, name, GRAPH_REPLAY.__eq__)
    replayed = inherit(depth, parent, replays)
    nodes = replayed & (placement == placements.index(Placement.DEVICE))
    placement[nodes] = placements.index(Placement.GRAPH)
    # The tracer sees a captured operator twice: where the script calls it, and where the mode does.
    again = (parent >= 0) & captures[np.maximum(parent, 0)]
    hidden = captures | keeping | modes | again | inherit(depth, parent, keeping)
    return np.asarray(replayed | replays, bool), np.asarray(hidden, bool)
