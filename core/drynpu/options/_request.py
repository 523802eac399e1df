"""The one neutral option model: what the user asked for, whatever the spelling it came in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import attrs
from attrs import field, frozen

from drynpu._errors import OptionError
from drynpu.options._notices import Notice, Origin
from drynpu.options._schedule import Schedule
from drynpu.options._table import check_ranges
from drynpu.options._values import (
    Activity,
    BlockTrace,
    ExportType,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    LlcMode,
    MetricGroup,
    Metrics,
)


def _unique(values: Iterable[object]) -> tuple[Any, ...]:
    return tuple(dict.fromkeys(values))


@frozen(kw_only=True)
class Switches:
    """What is recorded beside the tasks themselves. Raises `OptionError` for a negative threshold."""

    record_shapes: bool = False
    profile_memory: bool = False
    with_stack: bool = False
    with_modules: bool = False
    with_flops: bool = False
    l2_cache: bool = False
    tx: bool = False
    """User marks."""
    aicpu: bool = False
    """AI CPU operator details."""
    communication: bool = False
    """Asked for by name; communication tasks also follow the level (cann_msprof.md 1.3 ``hccl``)."""
    training_trace: bool = False
    """Iteration trace with forward and backward points."""
    runtime_api: bool = False
    acl_api: bool = True
    graph_api: GraphApi = GraphApi.OFF
    task_memory: bool = False
    """Operator memory as the device layer sees it."""
    task_scheduler: bool = False
    task_block: BlockTrace = BlockTrace.OFF
    op_attributes: bool = False
    record_op_args: bool = False
    instructions: bool = False
    gc_threshold_ms: float | None = None
    """Garbage collections at least this long are recorded; 0 records all, ``None`` none."""

    def __attrs_post_init__(self) -> None:
        check_ranges(self, "switches")


@frozen(kw_only=True)
class Filters:
    """Names that narrow what is recorded; empty means everything or automatic."""

    first_forward_op: str = ""
    last_backward_op: str = ""
    op_types: tuple[str, ...] = field(default=(), converter=_unique)
    tx_domains_include: tuple[str, ...] = field(default=(), converter=_unique)
    tx_domains_exclude: tuple[str, ...] = field(default=(), converter=_unique)
    """Only one of the two domain lists may be non-empty."""

    def __attrs_post_init__(self) -> None:
        if self.tx_domains_include and self.tx_domains_exclude:
            raise OptionError(
                ["filters.tx_domains_exclude: cannot be combined with filters.tx_domains_include; give one of them."]
            )


@frozen(kw_only=True)
class Sampling:
    """
    Items sampled by time, each at its own rate; ``None`` means not sampled.

    Ranges stand in the option table; a chip may allow less (its dialect says so).
    """

    hardware_memory_hz: int | None = None
    service_flow: str = ""
    llc: LlcMode = LlcMode.READ
    io_hz: int | None = None
    interconnection_hz: int | None = None
    cpu_hz: int | None = None
    """The CPUs of the device: hot functions and counters."""
    dvpp_hz: int | None = None
    low_power_hz: int | None = None
    instruction_cycles: int | None = None
    """A cycle interval, not a frequency (cann_msprof.md 9)."""
    ai_core_hz: int | None = None
    """AI Core counters by time (sample-based) instead of by task; ``None`` is by task."""
    device_system_hz: int | None = None
    """CPU usage and memory of the device's own system."""
    device_process_hz: int | None = None
    """The same for every process of the device's own system."""
    host_systems: tuple[HostSystem, ...] = field(default=(), converter=_unique)
    host_usage: tuple[HostUsage, ...] = field(default=(), converter=_unique)
    host_usage_hz: int = 50

    def __attrs_post_init__(self) -> None:
        check_ranges(self, "sampling")


@frozen(kw_only=True)
class Window:
    """
    When, within the life of the process, anything is recorded; the defaults are all of it.

    ``interactive`` recordings are started and stopped from outside (cann_msprof.md 6.1 ``--dynamic``) and have neither
    delay nor duration. Raises `OptionError`.
    """

    delay_s: int | None = None
    duration_s: int | None = None
    """Counted from the end of the delay; ``None`` is to the end."""
    interactive: bool = False

    def __attrs_post_init__(self) -> None:
        check_ranges(self, "window")
        timed = [name for name in ("delay_s", "duration_s") if getattr(self, name) is not None]
        if self.interactive and timed:
            raise OptionError([f"window.{name}: cannot be combined with window.interactive." for name in timed])


@frozen(kw_only=True)
class Output:
    """Where the data goes and in which form."""

    directory: str | None = None
    """Absolute or relative path; ``None`` leaves the choice to the surface."""
    worker_name: str | None = None
    """``None`` stands for the host name."""
    storage_limit_mb: int | None = None
    export: tuple[ExportType, ...] = field(default=(ExportType.TEXT,), converter=_unique)
    data_simplification: bool = True
    analyse: bool = True
    """Whether deliverables are written when a recording ends."""
    asynchronous: bool = False
    """Whether that happens without waiting."""

    def __attrs_post_init__(self) -> None:
        check_ranges(self, "output")
        if not self.export:
            raise OptionError(["output.export: empty; allowed are 'text' and 'db', at least one of them."])


@frozen(kw_only=True)
class ProfilingRequest:
    """
    Everything the user asked for, in neutral words.

    ``schedule=None`` records from start to stop. Raises `OptionError` when no activity is left.
    """

    level: Level = Level.L1
    activities: tuple[Activity, ...] = field(default=(Activity.HOST, Activity.DEVICE), converter=_unique)
    aic_metrics: Metrics = MetricGroup.PIPE_UTILIZATION
    switches: Switches = Switches()
    filters: Filters = Filters()
    sampling: Sampling = Sampling()
    schedule: Schedule | None = None
    window: Window = Window()
    output: Output = Output()

    def __attrs_post_init__(self) -> None:
        if not self.activities:
            raise OptionError(["activities: empty; allowed are 'host' and 'device', at least one of them."])


def with_values(request: ProfilingRequest, values: Mapping[str, object]) -> ProfilingRequest:
    """Return *request* with *values*, by path (not of a schedule). Raises `OptionError` as the classes do."""
    top: dict[str, Any] = {}
    sections: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        section, dot, name = path.partition(".")
        if dot:
            sections.setdefault(section, {})[name] = value
        else:
            top[path] = value
    for section, inner in sections.items():
        top[section] = attrs.evolve(getattr(request, section), **inner)
    return attrs.evolve(request, **top)


def value_at(request: ProfilingRequest, path: str) -> Any:
    """Return the value of the option at *path*."""
    section, dot, name = path.partition(".")
    value = getattr(request, section)
    return getattr(value, name) if dot else value


def is_on(value: object) -> bool:
    """Whether a value of an option asks for anything: not for ``None``, off, no level, no counters, an empty list."""
    if value is None or isinstance(value, bool):
        return bool(value)
    return value not in ("", (), Level.NONE, MetricGroup.NONE, GraphApi.OFF, BlockTrace.OFF)


def leaf_values(request: ProfilingRequest) -> dict[str, object]:
    """
    Return every single option of *request* by its path.

    Paths are written as in a document: ``level``, ``switches.tx``, ``schedule.wait``; a request without schedule has
    the one path ``schedule`` with the value ``None``.
    """
    leaves: dict[str, object] = {}
    for attribute in attrs.fields(ProfilingRequest):
        value = getattr(request, attribute.name)
        if isinstance(value, (Switches, Filters, Sampling, Output, Schedule, Window)):
            inner = attrs.asdict(value, recurse=False)
            leaves.update({f"{attribute.name}.{name}": item for name, item in inner.items()})
        else:
            leaves[attribute.name] = value
    return leaves


def _frozen_map(values: Mapping[str, object]) -> Mapping[str, Any]:
    return MappingProxyType(dict(values))


@frozen(kw_only=True)
class Parsed:
    """
    A document after its dialect has read it.

    Attributes
    ----------
    request:
        The neutral request.
    notices:
        What the dialect changed or wants said, in the order in which the vendor says it.
    origins:
        For every path of `leaf_values` where its effective value came from.
    dialect:
        ``profiling_options``, ``acl_json``, ``msprof_cli``, ``experimental_config`` or ``request``.
    spellings:
        Path -> the name of the option in the dialect, for the options that have one.
    effective:
        The dialect's own options with their effective values, in the dialect's order and spelling.
    """

    request: ProfilingRequest
    notices: tuple[Notice, ...] = ()
    origins: Mapping[str, Origin] = field(converter=_frozen_map)
    dialect: str
    spellings: Mapping[str, str] = field(default={}, converter=_frozen_map)
    effective: Mapping[str, object] = field(default={}, converter=_frozen_map)

    @classmethod
    def build(
        cls,
        request: ProfilingRequest,
        *,
        dialect: str,
        notices: Iterable[Notice] = (),
        origins: Mapping[str, Origin] | None = None,
        spellings: Mapping[str, str] | None = None,
        effective: Mapping[str, object] | None = None,
    ) -> Parsed:
        """Return a `Parsed` whose origins are complete: paths that are not named came from the defaults."""
        known = origins or {}
        return cls(
            request=request,
            notices=tuple(notices),
            origins={path: known.get(path, Origin.DEFAULT) for path in leaf_values(request)},
            dialect=dialect,
            spellings=spellings or {},
            effective=effective or {},
        )
