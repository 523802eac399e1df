"""When an entry of the option table counts: which requests leave a file or a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from drynpu.options._request import ProfilingRequest, is_on, value_at
from drynpu.options._table import OptionRow
from drynpu.options._values import Activity, Level, MetricGroup


@frozen(kw_only=True)
class Condition:
    """
    What has to be true of a request.

    Attributes
    ----------
    option:
        Path of the option that has to be on.
    level:
        The lowest level that will do.
    side:
        What has to be recorded; ``None`` for either.
    item:
        The value that has to be in the list of *option*, in neutral spelling.
    counters:
        How counters have to be read: ``by_task``, ``by_time``, ``any``; ``""`` for no matter.
    """

    option: str
    level: Level = Level.NONE
    side: Activity | None = None
    item: str = ""
    counters: str = ""

    @classmethod
    def of_entry(
        cls, row: OptionRow, entry: Mapping[str, Any], *, side: str | None = None, level: str = "none"
    ) -> Condition:
        """Return the condition of an entry of *row*; *side* and *level* hold where it names none."""
        where = entry.get("side", row.side or side)
        return cls(
            option=row.path,
            level=Level(entry.get("level", level)),
            side=None if where is None else Activity(where),
            item=entry.get("item", ""),
            counters=entry.get("counters", ""),
        )

    def holds(self, request: ProfilingRequest) -> bool:
        """Whether *request* is one of those."""
        value = value_at(request, self.option)
        return (
            is_on(value)
            and request.level >= self.level
            and (self.side is None or self.side in request.activities)
            and (not self.item or (isinstance(value, tuple) and any(each.value == self.item for each in value)))
            and self._counts(request)
        )

    def _counts(self, request: ProfilingRequest) -> bool:
        if not self.counters:
            return True
        by_time = request.sampling.ai_core_hz is not None
        # At L0 the toolkit collects no counters either way.
        ways = {"any": True, "by_task": not by_time, "by_time": by_time and request.level is not Level.L0}
        return request.aic_metrics is not MetricGroup.NONE and ways[self.counters]
