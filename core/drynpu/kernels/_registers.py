"""
The registers that metric groups are made of, and columns over them.

Bits per count are the pipe width times the scale of cann_msprof.md 4.2, those of the 950 of Ascend/msprof
``metric_calculator_group/memory_calculator.h`` and its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from drynpu.kernels._core import Column, Formula

__all__ = ["BITS_PER_COUNT", "BITS_PER_COUNT_950", "MetricGroup", "pipe", "quotient", "rate", "ratio", "total"]


@frozen(kw_only=True)
class MetricGroup:
    """
    One ``aic_metrics`` group of a chip family.

    Split chips have columns for the cube and for the vector core, unified chips only ``cube`` ones. ``tail`` are
    the columns that follow all others.
    """

    cube_events: tuple[int, ...]
    vector_events: tuple[int, ...] = ()
    cube: tuple[Column, ...] = ()
    vector: tuple[Column, ...] = ()
    tail: tuple[str, ...] = ()


BITS_PER_COUNT: Mapping[int, int] = MappingProxyType(
    {
        0xF: 256 * 8,
        0x10: 256 * 8,
        0x12: 8 * 8,
        0x13: 8 * 8,
        0x15: 256 * 4,
        0x16: 256 * 4,
        0x1B: 256 * 16,
        0x1C: 256 * 16,
        0x21: 256 * 16,
        0x22: 256 * 8,
        0x27: 256 * 8,
        0x28: 256 * 32,
        0x29: 256 * 8,
        0x2A: 256 * 32,
        0x31: 256 * 16,
        0x32: 128 * 8,
        0x37: 128,
        0x38: 128,
        0x3D: 128,
        0x3E: 128,
        0x43: 128 * 2,
        0x44: 128 * 2,
        0x17F: 128 * 2,
        0x180: 128 * 2,
        0x191: 128 * 2,
    }
)
"""Bits that one count of a bandwidth register stands for, by event code; not for the 950."""

BITS_PER_COUNT_950: Mapping[int, int] = MappingProxyType(
    {
        0x3: 128,
        0x5: 128,
        0x204: 128,
        0x206: 128,
        0x304: 256 * 16,
        0x306: 256 * 8,
        0x308: 256 * 8,
        0x30A: 256 * 8,
        0x400: 8 * 8,
        0x401: 8 * 8,
        0x422: 128 * 8,
        0x423: 128 * 8,
        0x56F: 256 * 4,
        0x570: 256 * 4,
        0x571: 128 * 2,
        0x572: 128 * 2,
        0x703: 256 * 16,
        0x705: 256 * 8,
        0x707: 256 * 16,
        0x709: 256 * 8,
        0x70C: 256 * 8,
        0x712: 256 * 8,
    }
)


def ratio(name: str, *codes: int) -> Column:
    """Return a column of counts per total cycle."""
    return Column(name, Formula.RATIO, tuple((code, 1.0) for code in codes))


def pipe(name: str, *codes: int) -> tuple[Column, Column]:
    """Return the time and the ratio of a pipe."""
    terms = tuple((code, 1.0) for code in codes)
    return Column(f"{name}_time(us)", Formula.TIME, terms), Column(f"{name}_ratio", Formula.RATIO, terms)


def quotient(name: str, above: int, below: int) -> Column:
    """Return a column of one event per other event."""
    return Column(name, Formula.QUOTIENT, ((above, 1.0), (below, 1.0)))


def total(name: str, *terms: tuple[int, float]) -> Column:
    """Return a column of weighted counts."""
    return Column(name, Formula.TOTAL, terms)


def rate(name: str, bits: Mapping[int, int], *codes: int) -> Column:
    """Return a bandwidth, with its unit in the name."""
    return Column(f"{name}(GB/s)", Formula.BANDWIDTH, tuple((code, float(bits[code])) for code in codes))
