"""
Counters of the caches beyond the cores.

Which events the L2 cache counts per task is the platform's: those the collector asks for (hicann/oam-tools
profimpl/platform, ``*_L2CACHEEVENT``). Only the sums that mean requests, hits and victims are public (Ascend/msprof
``l2_cache_config``), so the other events stay 0; which of several summands is read and which is write is taken from
their order.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.platforms import CacheEvents

I64 = npt.NDArray[np.int64]

LLC_BYTES_PER_COUNT = 4096
"""What the parser takes one throughput count for: 64 bytes, times 64 (Ascend/msprof ``llc_model``)."""


def encode_cache_events(
    events: CacheEvents, reads: I64, writes: I64, read_misses: I64, write_misses: I64, victims: I64
) -> I64:
    """Return the counters ``[m, 8]`` of tasks with those requests, misses and victims among the misses."""
    counts = np.zeros((len(reads), 8), np.int64)

    def put(codes: tuple[int, ...], read: I64, write: I64) -> None:
        both = (read, write) if len(codes) > 1 else (read + write,)
        for code, value in zip(codes, both, strict=False):
            counts[:, events.events.index(code)] += value

    put(events.requests, reads, writes)
    put(events.victims[:1], victims, np.zeros_like(victims))
    if events.hits:
        put(events.hits, reads - read_misses, writes - write_misses)
    else:
        put(events.misses[:1], read_misses + write_misses - victims, np.zeros_like(victims))
    return counts


@frozen(kw_only=True)
class LlcEvents:
    """
    Events of the last level cache in one mode.

    ``traffic`` are requests of all kinds (reads, writes), ``requests`` and ``hits`` those of the mode, as sums. Nothing
    says what their summands are but the ones named ``first_``: the others stay 0.
    """

    traffic: tuple[int, int]
    requests: tuple[int, ...]
    hits: tuple[int, ...]
    first_request: int
    first_hit: int

    @property
    def codes(self) -> tuple[int, ...]:
        """Everything that is counted."""
        return tuple(sorted({*self.traffic, *self.requests, *self.hits}))


def llc_events(mode: str) -> LlcEvents:
    """
    Return the events of ``read`` or ``write`` (Ascend/msprof ``llc_model``).

    The names are those of the public kernel driver of the same cache (``hisi_uncore_l3c_pmu``): 0x00 and 0x01 reads and
    writes, 0x20 and 0x21 those of the devices' side, 0x22 and 0x23 their hits.
    """
    if mode == "write":
        return LlcEvents(
            traffic=(0x00, 0x01),
            requests=(0x21, 0x35),
            hits=(0x03, 0x14, 0x23, 0x37),
            first_request=0x21,
            first_hit=0x23,
        )
    return LlcEvents(
        traffic=(0x00, 0x01),
        requests=(0x20, 0x34),
        hits=(0x02, 0x13, 0x22, 0x36),
        first_request=0x20,
        first_hit=0x22,
    )
