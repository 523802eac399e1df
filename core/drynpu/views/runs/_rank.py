"""One rank of a run, opened: its profile, and what pages ask of it again and again."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from attrs import define, field, frozen

from drynpu._errors import ChipError
from drynpu.analysis import Summary, op_statistic, step_ranges, summarise
from drynpu.platforms import Chip, load_chip
from drynpu.plugins import Plugins, from_plugins
from drynpu.products import load_profile
from drynpu.tables import Profile
from drynpu.writers.number_text import UNKNOWN

_MOST_KEPT = 24
"""Results that a rank keeps: pages with their tables, indices of the timeline."""


@frozen
class Selection:
    """What a reader chose besides the run: a step (``""`` for all of them) and the choices of a page."""

    step: str = ""
    choices: Mapping[str, str] = field(factory=dict)


@define(eq=False, slots=False)
class Rank:
    """
    One profile, loaded when it is first asked for something. What is computed once is kept.

    Attributes
    ----------
    number:
        The rank; ``None`` where the run was not distributed.
    """

    path: Path
    number: int | None
    _kept: OrderedDict[Hashable, Any] = field(factory=OrderedDict, init=False, repr=False)
    _lock: threading.RLock = field(factory=threading.RLock, init=False, repr=False)

    def keep(self, key: Hashable, compute: Callable[[], Any]) -> Any:
        """Return the result kept under *key*; computes it the first time. The last few results are kept."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = compute()
                while len(self._kept) > _MOST_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key]

    @property
    def label(self) -> str:
        """What a selector shows."""
        return "single" if self.number is None else str(self.number)

    @cached_property
    def profile(self) -> Profile:
        """
        The profile.

        Raises
        ------
        DrynpuError
            It cannot be read.
        """
        return load_profile(self.path)

    @cached_property
    def summary(self) -> Summary:
        """The summary that ``drynpu analyze`` prints."""
        return summarise(self.profile)

    @cached_property
    def modelled(self) -> bool:
        """Whether the device's times were simulated by drynpu; not so in a genuine profile."""
        return self.summary.chip != UNKNOWN

    @cached_property
    def chip(self) -> Chip | None:
        """The chip that the profile names; of one that names none what DRYNPU_CHIP says, None if it is not known."""
        named = self.summary.chip
        wanted = os.environ.get("DRYNPU_CHIP", "") if named == UNKNOWN else named
        try:
            return load_chip(wanted, extra_files=from_plugins(Plugins.chip_files)) if wanted else None
        except ChipError:
            return None

    @cached_property
    def steps(self) -> pl.DataFrame:
        """The step trace, one row per device and step, in the order of the run."""
        return self.summary.steps

    @cached_property
    def step_names(self) -> list[str]:
        """Steps that can be selected; empty without a schedule."""
        return [step for step in self.steps["step"].unique(maintain_order=True) if step]

    @cached_property
    def operators(self) -> pl.DataFrame:
        """Totals by operator type: `drynpu.analysis.op_statistic`."""
        return op_statistic(self.profile)

    def step_range(self, step: str) -> tuple[int, int] | None:
        """Return begin and end of a step on the device, ns; ``None`` if it is unknown there."""
        if not step:
            return None
        ranges = step_ranges(self.profile)
        rows = ranges.filter(pl.col("step_id").cast(pl.String) == step)
        if rows.is_empty():
            return None
        return int(rows["device_start_ns"][0]), int(rows["device_end_ns"][0])

    def kernels(self, step: str, *columns: str) -> pl.DataFrame:
        """Return columns of the kernels that start inside a step, of all kernels for ``""``; texts as categories."""
        kernels = self.profile.compact("kernels", *dict.fromkeys((*columns, "start_ns")))
        within = self.step_range(step)
        if within is not None:
            kernels = kernels.filter(pl.col("start_ns").is_between(*within))
        return kernels.select(columns)
