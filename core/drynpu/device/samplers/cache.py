"""
Counters of the caches beyond the cores: which events a chip counts, and what the parser makes of them.

The events per task are those the collector asks for (hicann/oam-tools profimpl/platform, ``*_L2CACHEEVENT``), the sums
of them that mean requests, hits and victims those of Ascend/msprof ``l2_cache_config``. What the other events count is
not public, so they stay 0; which of several summands is read and which is write is taken from their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from attrs import frozen

__all__ = ["CACHE_EVENTS", "LLC_BYTES_PER_COUNT", "CacheEvents", "LlcEvents", "llc_events", "llc_units"]

I64 = npt.NDArray[np.int64]

LLC_BYTES_PER_COUNT = 4096
"""What the parser takes one throughput count for: 64 bytes, times 64 (Ascend/msprof ``llc_model``)."""


@frozen(kw_only=True)
class CacheEvents:
    """
    Events of one task, in the order of the record.

    ``requests`` and ``hits`` are (read, write) where they are counted apart. ``misses`` is empty where hits are
    counted; else a hit is a request that is neither a miss nor a victim.
    """

    events: tuple[int, ...]
    requests: tuple[int, ...]
    hits: tuple[int, ...] = ()
    misses: tuple[int, ...] = ()
    victims: tuple[int, ...]

    @property
    def text(self) -> str:
        """As sample.json names them."""
        return ",".join(f"{event:#04x}" for event in self.events)

    def encode(self, reads: I64, writes: I64, read_misses: I64, write_misses: I64, victims: I64) -> I64:
        """Return the counters ``[m, 8]`` of tasks with those requests, misses and victims among the misses."""
        counts = np.zeros((len(reads), 8), np.int64)

        def put(codes: tuple[int, ...], read: I64, write: I64) -> None:
            both = (read, write) if len(codes) > 1 else (read + write,)
            for code, value in zip(codes, both, strict=False):
                counts[:, self.events.index(code)] += value

        put(self.requests, reads, writes)
        put(self.victims[:1], victims, np.zeros_like(victims))
        if self.hits:
            put(self.hits, reads - read_misses, writes - write_misses)
        else:
            put(self.misses[:1], read_misses + write_misses - victims, np.zeros_like(victims))
        return counts


_A2 = CacheEvents(
    events=(0xF6, 0xFB, 0xFC, 0xBF, 0x90, 0x91, 0x9C, 0x9D), requests=(0xFB, 0xFC), hits=(0x90, 0x91), victims=(0x9C,)
)
_DC = CacheEvents(
    events=(0x78, 0x79, 0x77, 0x71, 0x6A, 0x6C, 0x74, 0x62), requests=(0x78, 0x79), hits=(0x6A,), victims=(0x71,)
)
_V6 = CacheEvents(
    events=(0x00, 0x81, 0x82, 0x83, 0x74, 0x75), requests=(0x00,), misses=(0x81, 0x82, 0x83), victims=(0x74, 0x75)
)

CACHE_EVENTS: Mapping[str, CacheEvents] = MappingProxyType(
    {
        "1": CacheEvents(
            events=(0x5B, 0x59, 0x5C, 0x7D, 0x7E, 0x71, 0x79, 0x7C), requests=(0x59,), hits=(0x5B,), victims=(0x5C,)
        ),
        "4": _DC,
        "5": _A2,
        "7": _A2,
        "15": _V6,
        "16": _V6,
    }
)
"""By the text of info.json ``platform_version``; chips that are not here count nothing per task."""


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


def llc_units(platform_version: str) -> int:
    """Return how many last level caches a chip counts, among which addresses alternate (``llc_model``)."""
    if platform_version in ("7", "8", "11"):
        return 1
    return 2 if platform_version == "5" else 4
