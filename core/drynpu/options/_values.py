"""
The words of the option model: one enum per idea, in neutral spelling.

Vendor spellings (``Level1``, ``ACL_AICORE_PIPE_UTILIZATION``, ``l1``, ``PipeUtilization``) are the business of
the dialects; nothing here knows them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from attrs import field, frozen

from drynpu._errors import OptionError


class Level(enum.Enum):
    """How much is recorded per task. Ordered: ``Level.L1 >= Level.L0``."""

    NONE = "none"
    """No device tasks at all; user marks may still be recorded."""
    L0 = "l0"
    """Launch and execution times."""
    L1 = "l1"
    """Plus operator names, types, shapes, communication and counters."""
    L2 = "l2"
    """Plus operator attributes, runtime calls and AI CPU operators."""
    L3 = "l3"
    """The trial level of the collector, on the chips that have it."""

    @property
    def rank(self) -> int:
        """Position in the order of levels, 0 for ``NONE``."""
        return list(Level).index(self)

    def __ge__(self, other: Level) -> bool:
        return self.rank >= other.rank

    def __gt__(self, other: Level) -> bool:
        return self.rank > other.rank

    def __le__(self, other: Level) -> bool:
        return self.rank <= other.rank

    def __lt__(self, other: Level) -> bool:
        return self.rank < other.rank


class Activity(enum.Enum):
    """Which side is recorded."""

    HOST = "host"
    """Operators of the framework as they run on the host (``FRAMEWORK/``)."""
    DEVICE = "device"
    """Calls into the device layer and the tasks on the device (``PROF_*``)."""


class MetricGroup(enum.Enum):
    """Named groups of AI Core counters (cann_msprof.md 1.8)."""

    NONE = "none"
    PIPE_UTILIZATION = "pipe_utilization"
    ARITHMETIC_UTILIZATION = "arithmetic_utilization"
    MEMORY = "memory"
    MEMORY_L0 = "memory_l0"
    MEMORY_UB = "memory_ub"
    RESOURCE_CONFLICT_RATIO = "resource_conflict_ratio"
    L2_CACHE = "l2_cache"
    MEMORY_ACCESS = "memory_access"
    PIPELINE_EXECUTE_UTILIZATION = "pipeline_execute_utilization"


class LlcMode(enum.Enum):
    """What the last-level cache sampler counts."""

    READ = "read"
    WRITE = "write"
    CAPACITY = "capacity"
    BANDWIDTH = "bandwidth"


class HostSystem(enum.Enum):
    """Host metrics of the profiled process."""

    CPU = "cpu"
    MEMORY = "memory"
    DISK = "disk"
    NETWORK = "network"
    OS_RUNTIME = "os_runtime"
    NUMA = "numa"


class HostUsage(enum.Enum):
    """Host metrics of the whole host and all processes."""

    CPU = "cpu"
    MEMORY = "memory"


class ExportType(enum.Enum):
    """Form of the deliverables."""

    TEXT = "text"
    DB = "db"


class GraphApi(enum.Enum):
    """Host scheduling of dynamic-shape operators, and how finely."""

    OFF = "off"
    L0 = "l0"
    L1 = "l1"


class BlockTrace(enum.Enum):
    """Block-level records of tasks."""

    OFF = "off"
    ON = "on"
    ALL = "all"


@frozen
class Range:
    """A closed range of numbers; ``high=None`` means without upper end."""

    low: float
    high: float | None = None
    unit: str = ""

    def holds(self, value: float) -> bool:
        """Whether *value* lies in the range (never for NaN)."""
        return self.low <= value and (self.high is None or value <= self.high)

    def describe(self) -> str:
        """Readable text such as ``1 to 100 Hz`` or ``at least 0``."""
        unit = f" {self.unit}" if self.unit else ""
        if self.high is None:
            return f"at least {self.low:g}{unit}"
        return f"{self.low:.0f} to {self.high:.0f}{unit}"


_EVENT = Range(0x1, 0x7FFF_FFFF)
# As many as the collector takes (cann_msprof.md 1.8).
_MAX_EVENTS = 8


def _as_tuple(events: Iterable[int]) -> tuple[int, ...]:
    return tuple(events)


@frozen
class CustomEvents:
    """
    A hand-picked list of AI Core counter events: one to eight numbers, each 0x1..0x7FFFFFFF.

    The wider of the two documented event ranges is taken (cann_msprof.md 1.8). The text form is
    ``custom:0x8,0xa``. Raises `OptionError` when built from anything else.
    """

    events: tuple[int, ...] = field(converter=_as_tuple)

    def __attrs_post_init__(self) -> None:
        if not 1 <= len(self.events) <= _MAX_EVENTS:
            raise OptionError([f"aic_metrics: {len(self.events)} custom events; allowed are 1 to {_MAX_EVENTS}."])
        bad = [e for e in self.events if not isinstance(e, int) or isinstance(e, bool) or not _EVENT.holds(e)]
        if bad:
            raise OptionError([f"aic_metrics: custom event {e!r}; allowed are 0x1 to 0x7FFFFFFF." for e in bad])

    @property
    def text(self) -> str:
        """The neutral text form, ``custom:0x8,0xa``."""
        return "custom:" + ",".join(f"{event:#x}" for event in self.events)

    @classmethod
    def from_text(cls, text: str) -> CustomEvents:
        """
        Read ``custom:0x8,10`` (prefix in any case, numbers hexadecimal with 0x or decimal).

        Raises
        ------
        OptionError
            When the prefix is missing, an item is no number, or the list is too long or out of range.
        """
        prefix, _, items = text.partition(":")
        if prefix.casefold() != "custom":
            raise OptionError([f"aic_metrics: {text!r} is not a custom event list; it starts with 'custom:'."])
        events, bad = [], []
        for item in items.split(","):
            try:
                events.append(int(item, 16 if item.strip().casefold().startswith("0x") else 10))
            except ValueError:
                bad.append(f"aic_metrics: {item!r} in {text!r} is not a number; write hexadecimal with 0x, or decimal.")
        if bad:
            raise OptionError(bad)
        return cls(tuple(events))


Metrics = MetricGroup | CustomEvents
