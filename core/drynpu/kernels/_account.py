"""
The physical account of a kernel on a chip: its times, and what it computes and moves in them.

Each part holds numbers of one kernel, or columns of many (`CostTable`).
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from attrs import frozen

N = TypeVar("N")
"""A number, or a column of numbers."""
_NONE: Any = 0
_NO_TIME: Any = 0.0
"""Defaults of any ``N``; their types are the types of columns."""


@frozen(kw_only=True)
class EngineTimes(Generic[N]):
    """Times of the engine of one kind of core and of the pipes that every kind has."""

    time_ns: N = _NO_TIME
    scalar_ns: N = _NO_TIME
    mte2_ns: N = _NO_TIME
    icache_miss_rate: N = _NO_TIME


@frozen(kw_only=True)
class CubeTimes(EngineTimes[N]):
    """Times of cube cores."""

    mac_ns: N = _NO_TIME
    mte1_ns: N = _NO_TIME
    fixpipe_ns: N = _NO_TIME


@frozen(kw_only=True)
class VectorTimes(EngineTimes[N]):
    """Times of vector cores."""

    vec_ns: N = _NO_TIME
    mte3_ns: N = _NO_TIME


@frozen(kw_only=True)
class Products(Generic[N]):
    """What the cube multiplies, and moves from and to L0 for it."""

    float_ops: N = _NONE
    """Products of 16x16x16 of floating operands, 8192 operations each (of whatever width)."""
    int8_ops: N = _NONE
    """Products of 16x32x16 of 8-bit operands, 16384 operations each."""
    l0_read_bytes: N = _NONE
    """What the cube reads from L0A; it reads as much from L0B."""
    l0c_bytes: N = _NONE
    """What the cube writes to L0C; it reads as much to add to."""


@frozen(kw_only=True)
class MainBytes(Generic[N]):
    """The part of a core's traffic that L2 misses, in whole lines of 128 bytes."""

    main_read_bytes: N = _NONE
    main_write_bytes: N = _NONE


@frozen(kw_only=True)
class CubeBytes(MainBytes[N]):
    """Bytes that cross cube cores, named by the way they go (GM is what lies behind L2)."""

    gm_to_l1_bytes: N = _NONE
    l1_to_l0a_bytes: N = _NONE
    l1_to_l0b_bytes: N = _NONE
    l0c_to_gm_bytes: N = _NONE
    """Split chips: results leave by fixpipe."""
    l0c_to_ub_bytes: N = _NONE
    """Unified chips: results leave through the vector unit."""


@frozen(kw_only=True)
class VectorBytes(MainBytes[N]):
    """Bytes that cross vector cores, named by the way they go, and accesses of their units to UB."""

    gm_to_ub_bytes: N = _NONE
    ub_to_gm_bytes: N = _NONE
    vector_read_bytes: N = _NONE
    vector_write_bytes: N = _NONE
    scalar_read_bytes: N = _NONE
    scalar_write_bytes: N = _NONE


@frozen(kw_only=True)
class VectorCycles(Generic[N]):
    """Cycles in which vector units compute, by the kind of numbers."""

    fp32: N = _NONE
    fp16: N = _NONE
    int32: N = _NONE
    misc: N = _NONE
    """Everything else: other widths, and conversions."""


@frozen(kw_only=True)
class Conflicts(Generic[N]):
    """Parts of ``vec_ns`` in which vector instructions wait for each other's access to UB."""

    bankgroup: N = _NO_TIME
    bank: N = _NO_TIME
    resource: N = _NO_TIME


@frozen(kw_only=True)
class Work(Generic[N]):
    """
    What a kernel computes and moves, summed over the blocks; noise on the times of a launch changes none of it.

    Unified chips have the bytes that L2 misses in ``cube``.
    """

    products: Products[N] = Products()
    cube: CubeBytes[N] = CubeBytes()
    vector: VectorBytes[N] = VectorBytes()
    cycles: VectorCycles[N] = VectorCycles()
    conflicts: Conflicts[N] = Conflicts()
    l2_victim_share: N = _NO_TIME
    """Misses that push another line out of L2, per miss."""


@frozen(kw_only=True)
class KernelCost:
    """
    Physical account of one kernel on one chip. Times in ns (float), cycles summed over blocks.

    Identities (device_and_cost_model.md 3.1): cycles of the cube = ``cube.time_ns * aic_mhz/1000 * block_num``;
    each pipe time lies in [0, engine time]; ``duration_ns`` is at least every engine time.
    Unified chips have one engine, whose time stands in both ``cube`` and ``vector`` (see ``cost``).
    """

    duration_ns: float
    block_num: int
    mix_block_num: int
    cube: CubeTimes[float] = CubeTimes()
    vector: VectorTimes[float] = VectorTimes()
    work: Work[float] = Work()
