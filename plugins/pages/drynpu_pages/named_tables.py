"""All tables of a profile by name: what was read, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import polars as pl
from attrs import define, field

from drynpu.analysis import (
    api_statistic,
    communication_statistic,
    communication_time,
    communication_transfers,
    memory_record,
    op_statistic,
    operator_details,
    operator_memory,
    overlap,
    step_phases,
    step_ranges,
    step_trace,
    summarise,
)
from drynpu.analysis.calculation import kernel_work, scope_flops, uncounted_work
from drynpu.tables import Profile
from drynpu_pages.critical import critical_path

_TABLES: Mapping[str, Callable[[Profile], pl.DataFrame]] = MappingProxyType(
    {
        "kernels": lambda profile: profile.kernels,
        "tasks": lambda profile: profile.tasks,
        "api": lambda profile: profile.api,
        "api_types": api_statistic,
        "host_ops": lambda profile: profile.host_ops,
        "queue": lambda profile: profile.queue,
        "operators": operator_details,
        "operator_types": op_statistic,
        "steps": lambda profile: summarise(profile).steps,
        "step_phases": step_phases,
        "overlaps": overlap,
        "critical_path": critical_path,
        "communication": lambda profile: profile.communication_ops,
        "communication_types": communication_statistic,
        "communication_times": lambda profile: communication_time(profile, communication_transfers(profile)),
        "links": communication_transfers,
        "memory": memory_record,
        "operator_memory": operator_memory,
        "allocations": lambda profile: profile.allocations,
        "python_calls": lambda profile: profile.python_calls,
        "gc": lambda profile: profile.gc,
        "calculation": kernel_work,
        "uncounted": lambda profile: uncounted_work(kernel_work(profile)),
        "scopes": scope_flops,
    }
)

_STATED = frozenset(
    function.__name__
    for function in (
        api_statistic,
        memory_record,
        op_statistic,
        operator_details,
        operator_memory,
        overlap,
        step_ranges,
        step_trace,
    )
)
"""Analyses whose result a profile of results states; here they stand under the names of their tables."""


@define(eq=False)
class NamedTables(Mapping[str, pl.DataFrame]):
    """
    All tables of a profile by name; each is made when it is first asked for, and kept.

    Besides the tables of every profile, which may be empty, there are tables of record groups and products that have
    rows. A profile that was read from results also has their further tables, by the names of the files.
    """

    profile: Profile
    _kept: dict[str, pl.DataFrame] = field(factory=dict, init=False, repr=False)

    def __getitem__(self, name: str) -> pl.DataFrame:
        """Return a table. Raises `KeyError` with the names that there are."""
        if name not in self._kept:
            self._kept[name] = self.compute(name)
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        """Yield the names, first of the tables that every profile has."""
        return iter(self._names())

    def __len__(self) -> int:
        """Return the number of tables."""
        return len(self._names())

    def __contains__(self, name: object) -> bool:
        """Return whether there is a table of that name."""
        return name in self._names()

    def _names(self) -> list[str]:
        stated = [name for name in self.profile.results or {} if name not in _STATED]
        return list(dict.fromkeys((*_TABLES, *sorted(self.profile.group_tables), *sorted(stated))))

    def compute(self, name: str) -> pl.DataFrame:
        """Return a table without keeping it: for those who look at each once. Raises `KeyError` as reading does."""
        if name in _TABLES:
            return _TABLES[name](self.profile)
        if name in self.profile.group_tables:
            return self.profile.group_tables[name]
        if name not in self._names():
            raise KeyError(f"no table {name!r}: there are {', '.join(self)}")
        return (self.profile.results or {})[name]
