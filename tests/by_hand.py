"""Recordings written by hand: when they begin, their clocks, tables of operators and of memory, how they are set up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from drynpu.kernels import Allocations, KernelPlan, Operators, Signature
from drynpu.options import Clock, ProfilingRequest
from drynpu.platforms import Chip, load_chip
from drynpu.raw import ClockAnchors
from drynpu.recorder import Setup

BEGIN_NS = 1_736_408_883_000_000_000
"""When recordings begin, by Unix time."""
PID = 4321
ANCHORS = ClockAnchors(
    collection_begin_us=BEGIN_NS // 1000,
    monotonic_raw_ns=5_000_000_000,
    host_cntvct=5_000_000_000,
    device_cntvct=250_000_000,
    device_hz=50_000_000,
)
"""The clocks when recordings begin; the rate is the rate of every bundled chip."""


def setup(
    plan: Callable[[Signature], KernelPlan | None],
    request: ProfilingRequest | None = None,
    *,
    chip: Chip | str = "Ascend910B2",
    clock: Clock = Clock.PROJECTED,
    anchors: ClockAnchors = ANCHORS,
) -> Setup:
    """Return how a recording is simulated: by default on an Ascend910B2, with the options of a plain run."""
    known = load_chip(chip) if isinstance(chip, str) else chip
    requested = ProfilingRequest() if request is None else request
    return Setup(request=requested, chip=known, clock=clock, seed=0, anchors=anchors, plan=plan)


def call_table(
    names: Sequence[str],
    name: Any,
    start_ns: Any,
    end_ns: Any,
    signatures: Sequence[Signature],
    *,
    signature: Any = None,
    texts: Sequence[tuple[str, str]] = (),
    thread: Any = PID,
    **more: Any,
) -> Operators:
    """
    Return a table of operators by columns; a number stands for a column in which it is the same everywhere.

    The signature of a call has the number of its name where *signature* does not say otherwise.
    """
    count = len(start_ns)
    same = {"fwd_thread": 0, "sequence": -1, "scope": 0, **more}
    kinds = {"scope": np.uint8}
    return Operators(
        names=tuple(names),
        name=column(name, count, np.int32),
        start_ns=start_ns,
        end_ns=end_ns,
        thread=column(thread, count),
        signature=column(name if signature is None else signature, count, np.int32),
        signatures=tuple(signatures),
        texts=tuple(texts) or (("", ""),) * len(signatures),
        **{key: column(value, count, kinds.get(key, np.int64)) for key, value in same.items()},
    )


def column(value: Any, count: int, kind: type = np.int64) -> np.ndarray[Any, Any]:
    """Return a column of so many rows; from a number, or from as many."""
    return np.array(np.broadcast_to(value, count), kind)


def allocations(rows: Sequence[tuple[int, int, int]], thread: int = PID, begin_ns: int = BEGIN_NS) -> Allocations:
    """Return events of the allocator: ns after the begin, address, bytes (negative where memory is released)."""
    time, address, size = np.array(rows, np.int64).reshape(-1, 3).T
    return Allocations(
        time_ns=time + begin_ns, thread=np.full(len(time), thread), address=address.astype(np.uint64), size_bytes=size
    )
