"""A profile as tables: what every deliverable, analysis and view works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from attrs import field, frozen

from drynpu.platforms import Platform, find_platform
from drynpu.tables._schemas import KERNELS
from drynpu.tables.stored import Stored, filed


@frozen(eq=False, kw_only=True)
class ToolkitTables:
    """
    The long tables of what the toolkit recorded.

    They are kept in a third of their size and made when they are asked for, every time anew: who needs one more than
    once keeps it, and who is done lets it go.
    """

    _api: Stored = field(repr=False, converter=filed)
    _tasks: Stored = field(repr=False, converter=filed)
    _kernels: Stored = field(repr=False, converter=filed)

    @property
    def api(self) -> pl.DataFrame:
        """Calls of the toolkit (``API``)."""
        return self._api.frame()

    @property
    def tasks(self) -> pl.DataFrame:
        """Everything that ran on the devices (``TASKS``)."""
        return self._tasks.frame()

    @property
    def kernels(self) -> pl.DataFrame:
        """Compute tasks, with their counters at the right (``KERNELS``)."""
        return self._kernels.frame()


@frozen(eq=False, kw_only=True)
class Profile(ToolkitTables):
    """
    One recording read back from disk. Tables follow the schemas of this room; absent data gives empty tables.

    The framework's long ones (``host_ops``, ``queue``) are kept like the tables of `ToolkitTables`. Tables of record
    groups and of products are found by name: `frame`.

    Attributes
    ----------
    path:
        The profile directory: ``*_ascend_pt``, ``*_ascend_ms``, or ``PROF_*`` where there is nothing around it.
    prof_path, framework_path:
        Where the toolkit's and the framework's records are; ``None`` if absent.
    pid, pid_name, hostname:
        Of the recorded process; 0 and ``""`` if unknown.
    rank_id:
        -1 if the run was not distributed.
    platform_version:
        Chip number of info.json (cann_msprof.md 1.9), ``""`` if unknown.
    aic_mhz, aiv_mhz, aic_cores, aiv_cores:
        Clocks and core numbers of the first device; 0 if unknown.
    level:
        ``level0`` to ``level3``, or ``""`` (sample.json ``prof_level``).
    aic_metrics:
        Metric group under its neutral name, e.g. ``PipeUtilization``; ``""`` if no counters were collected.
    begin_ns, end_ns:
        Unix time of the collection's begin and end; 0 where the directory does not tell (a killed run has no end).
    product:
        Framework whose profiler left it, by which its deliverables are made: ``torch``, ``mindspore`` or another's.
    notes:
        What the reader had to tolerate or leave out, one readable line each.
    """

    path: Path
    prof_path: Path | None
    framework_path: Path | None
    pid: int
    pid_name: str
    hostname: str
    rank_id: int
    device_ids: tuple[int, ...]
    platform_version: str
    aic_mhz: int
    aiv_mhz: int
    aic_cores: int
    aiv_cores: int
    level: str
    aic_metrics: str
    begin_ns: int
    end_ns: int
    notes: tuple[str, ...]
    product: str = "torch"
    _host_ops: Stored = field(repr=False, converter=filed)
    _queue: Stored = field(repr=False, converter=filed)
    allocations: pl.DataFrame = field(repr=False)
    python_calls: pl.DataFrame = field(repr=False)
    gc: pl.DataFrame = field(repr=False)
    communication_ops: pl.DataFrame = field(repr=False)
    group_tables: Mapping[str, pl.DataFrame] = field(factory=dict, repr=False)
    """Tables of record groups and products that have rows; see :meth:`frame`."""
    schemas: Mapping[str, pl.Schema] = field(factory=dict, repr=False)
    """Schemas of all tables of record groups and products, by name."""
    profiler_info: Mapping[str, object] = field(repr=False)
    metadata: Mapping[str, object] = field(repr=False)
    results: Mapping[str, pl.DataFrame] | None = field(default=None, repr=False)
    """
    Tables read directly from result files, keyed by the analysis they replace.

    Files and tables that no table of a profile is for have their own names.
    """
    result_files: tuple[Path, ...] = ()
    """Of such a profile: the files that there are, whether a reader is for them or not."""
    _kept: dict[str, Any] = field(factory=dict, init=False, repr=False)

    def keep(self, name: str, compute: Callable[[], Any]) -> Any:
        """Return the result kept under *name*; the first call computes it. A copy with other tables keeps its own."""
        if name not in self._kept:
            self._kept[name] = compute()
        return self._kept[name]

    @property
    def platform(self) -> Platform:
        """What the chips of the profile record, and how the toolkit shows it."""
        return find_platform(self.platform_version, split=any(name.startswith("aiv_") for name in self.pmu_columns))

    @property
    def with_toolkit(self) -> bool:
        """Whether the toolkit recorded, or whoever left the results may have."""
        return self.prof_path is not None or self.results is not None

    @property
    def source(self) -> str:
        """``raw`` if read from records, ``results`` if read from what the vendor's tools made of them."""
        return "raw" if self.results is None else "results"

    def frame(self, name: str) -> pl.DataFrame:
        """
        Return a table of a record group or product, empty with its schema if absent.

        Raises
        ------
        KeyError
            No record group and no product has a table *name*.
        """
        return self.group_tables[name] if name in self.group_tables else pl.DataFrame(schema=self.schemas[name])

    @property
    def host_ops(self) -> pl.DataFrame:
        """Operators and annotations of the framework (``HOST_OPS``)."""
        return self._host_ops.frame()

    @property
    def queue(self) -> pl.DataFrame:
        """The task queue of the framework (``QUEUE``)."""
        return self._queue.frame()

    def compact(self, name: str, *columns: str) -> pl.DataFrame:
        """
        Return columns (default all) of one of the long tables with texts as ``Categorical``: 4 bytes a row, not 16.

        All other columns have the dtypes of the schema.

        Raises
        ------
        KeyError
            There is no long table *name*, or it has no such column.
        """
        return self._long[name].compact(*columns)

    def table(self, name: str) -> Stored:
        """
        Return one of the long tables as it is kept, for who reads it part by part.

        Raises
        ------
        KeyError
            There is no long table *name*.
        """
        return self._long[name]

    def rows(self, name: str, places: pl.Series) -> pl.DataFrame:
        """
        Return some rows of one of the long tables, without making the others.

        Raises
        ------
        KeyError
            There is no long table *name*.
        """
        return self._long[name].gather(places)

    @property
    def _long(self) -> Mapping[str, Stored]:
        return {
            "host_ops": self._host_ops,
            "queue": self._queue,
            "api": self._api,
            "tasks": self._tasks,
            "kernels": self._kernels,
        }

    @property
    def pmu_columns(self) -> tuple[str, ...]:
        """Counter columns at the right of ``kernels``; empty if none were collected."""
        return tuple(name for name in self._kernels.schema if name not in KERNELS)
