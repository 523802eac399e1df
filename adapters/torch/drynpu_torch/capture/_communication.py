"""Removal of gloo's events and threads from a recording: a device would not have them."""

from __future__ import annotations

import numpy as np
from attrs import evolve, fields

from drynpu.arrays import I64, Bools
from drynpu.device import DispatchKind, inherit
from drynpu.kernels import Operators
from drynpu.simulate import HostCall
from drynpu_torch.capture._chunk import Chunk, Interner, rows_named

_TRANSPORT = "gloo:"
_CALL = "c10d::"
_FUNCTIONAL_WAIT = "_c10d_functional::wait_tensor"


def without_transport(chunk: Chunk, names: Interner) -> Chunk:
    """
    Return a chunk without the events of gloo and without those on its threads.

    An event of gloo lasts until the data has come. It overlaps whatever else its thread does meanwhile, so that calls
    would not nest. A thread belongs to gloo if it has such events and no call of ``c10d``.
    """
    transport = rows_named(names.values, chunk.name, lambda text: text.startswith(_TRANSPORT))
    if not transport.any():
        return chunk
    calls = rows_named(names.values, chunk.name, lambda text: text.startswith(_CALL))
    threads = np.setdiff1d(chunk.thread[transport], chunk.thread[calls])
    kept = ~transport & ~np.isin(chunk.thread, threads)
    kept_memory = ~np.isin(chunk.memory_thread, threads)
    # Frames and marks stay, because gloo's threads run neither Python nor operators of the device. So do waits for a
    # processor: whoever waits for gloo waits for those, too.
    names_of_fields = (column.name for column in fields(Chunk))
    columns = [
        name
        for name in names_of_fields
        if name not in ("begin_ns", "end_ns") and not name.startswith(("frame", "mark", "delays", "accesses"))
    ]
    return evolve(
        chunk,
        **{name: getattr(chunk, name)[kept_memory if name.startswith("memory") else kept] for name in columns},
    )


def inside_communication(names: list[str], name: I64, depth: I64, parent: I64) -> Bools:
    """Return which operators are calls of ``c10d`` or lie inside one; they move data and launch no kernels."""
    calls = rows_named(names, name, lambda text: text.startswith(_CALL))
    return calls | inherit(depth, parent, calls)


def functional_waits(operators: Operators) -> list[HostCall]:
    """Return the waits of functional collectives as pauses; beside a device the host does not wait for the data."""
    if _FUNCTIONAL_WAIT not in operators.names:
        return []
    rows = np.flatnonzero(operators.name == operators.names.index(_FUNCTIONAL_WAIT))
    columns = (operators.start_ns, operators.end_ns, operators.thread)
    waits = zip(*(column[rows].tolist() for column in columns), strict=True)
    return [HostCall(start_ns, thread, DispatchKind.PAUSE, until_ns=end_ns) for start_ns, end_ns, thread in waits]
