"""Where operators worked, and which rows are the sink's or state kernels."""

from __future__ import annotations

from typing import Final

import numpy as np

from drynpu.arrays import I64, Bools
from drynpu.device import inherit
from drynpu.kernels import Placement
from drynpu_torch.capture._chunk import rows_named
from drynpu_torch.capture._communication import inside_communication
from drynpu_torch.capture._native import COPY_RANGES
from drynpu_torch.capture._patches import CREATION, LOADER
from drynpu_torch.capture._tracer import Call, Tracer
from drynpu_torch.device import COPY_TO_HOST
from drynpu_torch.rules import NAMESPACE

# Operators that create tensors. The sink has a kernel for each, which calls the CPU's operator of the same name.
_FACTORIES, _INDICES = ("aten::empty_strided", "aten::empty"), ("aten::tril_indices", "aten::triu_indices")
_STATED: Final = f"{NAMESPACE}::"
"""Names of operators that stand for kernels begin with it."""
PLACEMENTS: Final = tuple(Placement)
"""The places of operators; columns hold indices into them."""


def sink_rows(names: list[str], name: I64, parent: I64) -> Bools:
    """
    Return which rows, shape ``[n]``, come from the sink; neither a device nor plain PyTorch would leave them.

    They are needed to place the others and are not shown: the CPU's factory inside the device's of the same name, and
    the range around the creation of a loader's iterator.
    """
    factories = rows_named(names, name, lambda text: text in (*_FACTORIES, *_INDICES))
    copies = rows_named(names, name, lambda text: text in COPY_RANGES)
    creations = rows_named(names, name, lambda text: text.startswith(LOADER) and text.endswith(CREATION))
    nested = (parent >= 0) & (name[np.maximum(parent, 0)] == name)
    return np.asarray(factories & nested | copies | creations, bool)


def stated_launches(names: list[str], name: I64, call: I64, parent: I64) -> tuple[I64, Bools]:
    """
    Return the call that states the kernels of each row, shape ``[n]``, and which rows only state them.

    Most rows state their own. An operator of torch_npu that launches one kernel says so by a call inside; those that
    launch several keep these calls, as copies and casts are operators on a device, too.
    """
    rows = np.flatnonzero(rows_named(names, name, lambda text: text.startswith(_STATED)) & (parent >= 0))
    parents, first, count = np.unique(parent[rows], return_index=True, return_counts=True)
    single = rows[first[count == 1]]
    launch, stated = call.copy(), np.zeros(len(call), bool)
    launch[parents[count == 1]], stated[single] = call[single], True
    return launch, stated


def placements(
    names: list[str],
    name: I64,
    parent: I64,
    depth: I64,
    call: I64,
    tracer: Tracer,
) -> I64:
    """
    Return where each operator works, an index into :class:`Placement`, shape ``[n]``.

    The sink computes on CPU tensors, so the device follows from the tree of calls. A copy to the device allocates
    through the sink's factory, which shows as one factory inside another. Copies to the host are annotated. Beside a
    real NPU the host does the work of data loaders, of pinning memory, of gloo, and the scalar-only work inside an
    optimizer's step (its step counters).
    """
    place = np.full(len(name), PLACEMENTS.index(Placement.DEVICE), np.int64)

    def named(text: str) -> Bools:
        return rows_named(names, name, text.__eq__)

    def inside(prefix: str) -> Bools:
        return inherit(depth, parent, rows_named(names, name, lambda text: text.startswith(prefix)))

    copies = named("aten::_to_copy")
    for factory_name in _FACTORIES:
        factory = named(factory_name)
        inner = np.flatnonzero(factory & (parent >= 0))
        inner = inner[factory[parent[inner]]]
        outer = parent[parent[inner]]
        outer = outer[outer >= 0]
        place[outer[copies[outer]]] = PLACEMENTS.index(Placement.TO_DEVICE)
    place[inside(COPY_TO_HOST) & named("aten::clone")] = PLACEMENTS.index(Placement.TO_HOST)
    counters = inside("Optimizer.step#") & (call >= 0)
    distinct, example = np.unique(call[counters], return_inverse=True)
    scalar = np.array([_only_scalars(tracer.examples.get(number)) for number in distinct.tolist()], bool)
    counters[counters] = scalar[example]
    communication = inside_communication(names, name, depth, parent)
    on_host = inside(LOADER) | inside("aten::_pin_memory") | communication | counters
    place[on_host] = PLACEMENTS.index(Placement.HOST)
    return place


def _only_scalars(example: Call | None) -> bool:
    """Whether a call has tensor arguments and all of its tensors, those in lists too, have dimension 0."""
    if example is None:
        return False
    _, shapes, dtypes, _ = example
    typed = list(zip(shapes, dtypes, strict=False))
    tensors = [shape for shape, dtype in typed if dtype not in ("", "Scalar", "ScalarList", "TensorList")]
    lists = [shape for shape, dtype in typed if dtype == "TensorList"]
    return bool(tensors) and not any(tensors) and not any(any(shape) for shape in lists)
