"""
What each event counts, as a function of the account of a kernel.

Names of the events: Ascend/msprof ``ai_core_config.py``. Modelled by assumption, where only the sum is known: reads
of L2 are split evenly over its two channels; 16-bit floating point is all counted in 128 lanes (0x4c), none in 64
(0x4d); nothing goes from L0C to L1 (0x206).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from attrs import frozen

from drynpu.kernels._counting import (
    CUBE,
    UNIFIED,
    VECTOR,
    Column,
    Core,
    Count,
    Counts,
    moved,
    never,
    products,
    registers,
    vec_ns,
    vector_cycles,
)
from drynpu.kernels._events_v6 import cube_events_v6, vector_events_v6
from drynpu.platforms import CounterSet, Platform

# MemoryAccess of A2/A3 counts these in KB of its own (cann_msprof.md 4.2), which rules there. 0x32 is also
# l1_write_bw, for which the parser takes half of that: on A2/A3 that column shows half of what enters L1.
_BYTES_A2 = {0x32: 256, 0x3D: 128, 0x3E: 128, 0x20C: 128}

# Requests of both directions together, from the requests of each.
_SUMS = {
    0x11: (0xF, 0x10),
    0x14: (0x12, 0x13),
    0x17: (0x15, 0x16),
    0x1D: (0x1B, 0x1C),
    0x23: (0x21, 0x22),
    0x2B: (0x27, 0x28, 0x29, 0x2A),
    0x33: (0x31, 0x32),
    0x39: (0x37, 0x38),
    0x3F: (0x3D, 0x3E),
    0x45: (0x43, 0x44),
}


@frozen(kw_only=True)
class CounterEvents:
    """The events of each kind of core that the account knows, by code; unified chips have only ``cube`` ones."""

    cube: Counts
    vector: Counts


def counter_events(platform: Platform) -> CounterEvents:
    """Return what the account knows about the events of a platform."""
    return _counter_events(platform.counter_set, split=platform.split)


@functools.cache
def _counter_events(counters: CounterSet, *, split: bool) -> CounterEvents:
    bits = counters.bits_per_count
    if counters.numbering == "v6":
        return CounterEvents(cube=cube_events_v6(bits), vector=vector_events_v6(bits))
    if not split:
        parts = _common(UNIFIED, bits) | _cube(UNIFIED, bits, {}) | _vector(UNIFIED, bits, {})
        return CounterEvents(cube=_with_sums(parts), vector={})
    cube = _common(CUBE, bits) | _cache(CUBE) | _cube(CUBE, bits, _BYTES_A2)
    vector = _common(VECTOR, bits) | _cache(VECTOR) | _vector(VECTOR, bits, _BYTES_A2)
    return CounterEvents(
        cube=_with_sums(cube | {0x206: never, 0x20C: moved(_BYTES_A2[0x20C], CUBE.outflow)}),
        vector=_with_sums(vector),
    )


def _with_sums(counts: dict[int, Count]) -> Counts:
    def both(parts: tuple[Count, ...]) -> Count:
        return lambda t: sum((np.rint(part(t)) for part in parts), np.zeros(len(t)))

    known = {code: tuple(counts[part] for part in codes if part in counts) for code, codes in _SUMS.items()}
    return MappingProxyType(counts | {code: both(parts) for code, parts in known.items() if parts})


def _common(core: Core, bits: Mapping[int, int]) -> dict[int, Count]:
    """Return the events that every kind of core has."""
    l2, main = bits[0xF] / 8, bits[0x12] / 8
    return {
        0x9: core.scalar,
        0xC: core.mte2,
        0x54: core.icache_requests,
        0x55: core.icache_misses,
        0xF: moved(l2, core.inflow),
        0x10: moved(l2, core.outflow),
        0x12: moved(main, core.main_reads),
        0x13: moved(main, core.main_writes),
    }


def _cache(core: Core) -> dict[int, Count]:
    """Return the events of the L2 cache; the first channel has the odd line."""
    hits, misses = core.hits("read"), core.misses("read")
    return {
        0x500: core.hits("write"),
        0x502: core.misses("write"),
        0x504: lambda t: np.ceil(hits(t) / 2),
        0x506: lambda t: np.ceil(misses(t) / 2),
        0x508: lambda t: np.floor(hits(t) / 2),
        0x50A: lambda t: np.floor(misses(t) / 2),
        0x50C: core.misses("write"),
        0x50D: lambda t: np.ceil(misses(t) / 2),
        0x50E: lambda t: np.floor(misses(t) / 2),
    }


def _cube(core: Core, bits: Mapping[int, int], size: Mapping[int, int]) -> dict[int, Count]:
    mac = core.busy(lambda t: t.cube.mac_ns)
    columns: dict[int, Column] = {
        0x31: lambda w: w.cube.l1_to_l0a_bytes + w.cube.l1_to_l0b_bytes,
        0x32: lambda w: w.cube.gm_to_l1_bytes,
        0x1B: lambda w: w.products.l0_read_bytes,
        0x1C: lambda w: w.cube.l1_to_l0a_bytes,
        0x21: lambda w: w.products.l0_read_bytes,
        0x22: lambda w: w.cube.l1_to_l0b_bytes,
        0x27: lambda w: w.cube.l0c_to_ub_bytes,
        0x28: lambda w: w.products.l0c_bytes,
        0x2A: lambda w: w.products.l0c_bytes,
    }
    return {
        0xA: mac,
        0xB: core.busy(lambda t: t.cube.mte1_ns),
        0x302: core.busy(lambda t: t.cube.mte1_ns),
        0x303: core.busy(lambda t: t.cube.fixpipe_ns),
        0x416: lambda t: np.where(t.mac_int8, 0.0, mac(t)),
        0x417: lambda t: np.where(t.mac_int8, mac(t), 0.0),
        0x49: products(core, lambda p: p.float_ops),
        0x4A: products(core, lambda p: p.int8_ops),
        0x29: never,
    } | registers(bits, columns, size)


def _vector(core: Core, bits: Mapping[int, int], size: Mapping[int, int]) -> dict[int, Count]:
    columns: dict[int, Column] = {
        0x15: lambda w: w.vector.vector_read_bytes + w.vector.scalar_read_bytes + w.vector.ub_to_gm_bytes,
        0x16: lambda w: (
            w.vector.vector_write_bytes + w.vector.scalar_write_bytes + w.vector.gm_to_ub_bytes + w.cube.l0c_to_ub_bytes
        ),
        0x37: lambda w: w.vector.scalar_read_bytes,
        0x38: lambda w: w.vector.scalar_write_bytes,
        0x3D: lambda w: w.vector.ub_to_gm_bytes,
        0x3E: lambda w: w.vector.gm_to_ub_bytes,
        0x43: lambda w: w.vector.vector_read_bytes,
        0x44: lambda w: w.vector.vector_write_bytes,
    }
    return {
        0x8: core.busy(vec_ns),
        0xD: core.busy(lambda t: t.vector.mte3_ns),
        0x4B: vector_cycles(core, lambda c: c.fp32),
        0x4C: vector_cycles(core, lambda c: c.fp16),
        0x4D: never,
        0x4E: vector_cycles(core, lambda c: c.int32),
        0x4F: vector_cycles(core, lambda c: c.misc),
        0x64: core.conflicts(lambda c: c.bankgroup),
        0x65: core.conflicts(lambda c: c.bank),
        0x66: core.conflicts(lambda c: c.resource),
    } | registers(bits, columns, size)
