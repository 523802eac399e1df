"""What gloo leaves in a recording: its own events and threads are not those of a device."""

from __future__ import annotations

import numpy as np
from attrs import evolve, fields

from drynpu.arrays import I64, Bools
from drynpu.device import DispatchKind, inherit
from drynpu.kernels import Operators
from drynpu.simulate import HostCall
from drynpu_torch.capture._kineto import Chunk, Interner

_TRANSPORT = "gloo:"
_CALL = "c10d::"
_FUNCTIONAL_WAIT = "_c10d_functional::wait_tensor"


def without_transport(chunk: Chunk, names: Interner) -> Chunk:
    """
    Return a chunk without gloo's events and without what ran on its threads.

    An event of gloo lasts until the data has come, over whatever else its thread does meanwhile, so it cannot stay
    among calls that nest. A thread is gloo's own if it has such events and no call of ``c10d``.
    """
    texts = [str(text) for text in names.values]
    transport = np.array([text.startswith(_TRANSPORT) for text in texts] or [False])[chunk.name]
    if not transport.any():
        return chunk
    calls = np.array([text.startswith(_CALL) for text in texts] or [False])[chunk.name]
    threads = np.setdiff1d(chunk.thread[transport], chunk.thread[calls])
    kept = ~transport & ~np.isin(chunk.thread, threads)
    kept_memory = ~np.isin(chunk.memory_thread, threads)
    # Frames are Python's and stay: gloo's own threads run none.
    columns = [of.name for of in fields(Chunk) if of.name not in ("begin_ns", "end_ns") and "frame" not in of.name]
    return evolve(
        chunk,
        **{name: getattr(chunk, name)[kept_memory if name.startswith("memory") else kept] for name in columns},
    )


def inside_communication(names: list[str], name: I64, depth: I64, parent: I64) -> Bools:
    """Tell which operators are calls of ``c10d`` or lie inside one: the device's part of them is no kernel."""
    calls = np.array([text.startswith(_CALL) for text in names] or [False])
    own = np.asarray(calls[name], bool)
    return own | inherit(depth, parent, own)


def functional_waits(operators: Operators) -> list[HostCall]:
    """Return the waits of functional collectives as pauses: a device's host would not have waited for the data."""
    if _FUNCTIONAL_WAIT not in operators.names:
        return []
    rows = np.flatnonzero(operators.name == operators.names.index(_FUNCTIONAL_WAIT))
    spans = zip(operators.start_ns[rows].tolist(), operators.end_ns[rows].tolist(), strict=True)
    threads = operators.thread[rows].tolist()
    return [
        HostCall(start, of, DispatchKind.PAUSE, until_ns=end) for (start, end), of in zip(spans, threads, strict=True)
    ]
