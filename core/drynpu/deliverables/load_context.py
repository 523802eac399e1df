"""What the loaders of a record group get."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from attrs import frozen

from drynpu.platforms import Platform, find_platform
from drynpu.raw import ClockAnchors, ProfReader
from drynpu.tables._host import Dictionaries
from drynpu.tables._sides import DeviceSide
from drynpu.tables._stored import Stored


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
    _api: Stored
    _tasks: Stored
    _kernels: Stored
    notes: list[str]

    @property
    def platform(self) -> Platform:
        """What the chips of the run record."""
        return find_platform(self.reader.host_info.platform_version)

    @property
    def api(self) -> pl.DataFrame:
        """The calls of the toolkit, made anew each time."""
        return self._api.frame()

    @property
    def tasks(self) -> pl.DataFrame:
        """The tasks of the devices, made anew each time."""
        return self._tasks.frame()

    @property
    def kernels(self) -> pl.DataFrame:
        """The compute tasks, made anew each time."""
        return self._kernels.frame()
