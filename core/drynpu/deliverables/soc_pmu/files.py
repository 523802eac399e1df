"""soc_pmu: hits and misses of the translation buffers by task (cann_msprof.md 4.4)."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from drynpu.deliverables._task_rates import task_rates
from drynpu.layouts.result_files import SOC_PMU_FILE
from drynpu.tables import Profile
from drynpu.writers.number_text import Writer

READ_TABLES = ("soc_pmu_tasks",)


def csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return the table; the Python writer makes it on every chip."""
    del writer
    return {"soc_pmu": _table(profile)}


def torch_csv_files(profile: Profile, writer: Writer) -> Mapping[str, pl.DataFrame]:
    """Return what torch_npu.profiler copies (torch_npu_profiler.md 3.6)."""
    del writer
    return {SOC_PMU_FILE: _table(profile)}


def _table(profile: Profile) -> pl.DataFrame:
    return task_rates(profile.frame("soc_pmu_tasks"), {"TLB Hit Rate": "hits", "TLB Miss Rate": "misses"})
