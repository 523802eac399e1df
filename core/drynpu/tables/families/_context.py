"""What the loaders of a family get."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from attrs import frozen

from drynpu.raw import ClockAnchors, ProfReader
from drynpu.tables._host import Dictionaries
from drynpu.tables._sides import DeviceSide

__all__ = ["LoadContext"]


@frozen(eq=False, kw_only=True)
class LoadContext:
    """
    A PROF directory being read: its records, the host's clock, the devices with theirs, and the core tables.

    Add a readable line to ``notes`` for whatever had to be left out.
    """

    reader: ProfReader
    words: Dictionaries
    clock: ClockAnchors
    devices: Sequence[DeviceSide]
    api: pl.DataFrame
    tasks: pl.DataFrame
    kernels: pl.DataFrame
    notes: list[str]
