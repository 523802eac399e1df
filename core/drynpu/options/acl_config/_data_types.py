"""The data-type mask and the codes of counter groups (cann_msprof.md 1.7; pyacl_prof.md 3)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from drynpu._errors import OptionError
from drynpu.options._problems import shown
from drynpu.options._request import ProfilingRequest, with_values
from drynpu.options._table import Kind, LazyTable, option_rows
from drynpu.options._values import Activity, GraphApi, Level, MetricGroup, Metrics
from drynpu.options.profiling_options import METRIC_NAMES, metric_groups, series_among
from drynpu.platforms import DEFAULT_CHIP, resolve_platform


@frozen(kw_only=True)
class DataType:
    """
    One bit.

    Attributes
    ----------
    name:
        The vendor's constant, without ``ACL_PROF_`` (or ``PROF_``) in front.
    bit:
        Its value.
    path:
        The neutral option that it turns on; ``""`` where there is none.
    public:
        Whether the calls take it; the others are set inside the collector only, and ``start`` refuses them.
    series:
        The chips that have it; ``None`` for all.
    """

    name: str
    bit: int
    path: str
    public: bool = True
    series: frozenset[str] | None = None


def _data_types() -> Mapping[str, DataType]:
    data_types = [
        DataType(name=name, bit=bit, path=row.path, public=public, series=series_among(**row.platforms_of(entry)))
        for row in option_rows().values()
        for public, bits in ((True, row.bits), (False, row.inner_bits))
        for name, value in bits.items()
        for entry in [value if isinstance(value, Mapping) else {"bit": value}]
        for bit in [entry["bit"]]
    ]
    return {data_type.name: data_type for data_type in sorted(data_types, key=lambda data_type: data_type.bit)}


DATA_TYPES: Mapping[str, DataType] = LazyTable(_data_types)
"""All bits by name, in ascending order."""

_LEVEL_NAMES = {
    Level.NONE: (),
    Level.L0: ("TASK_TIME_L0",),
    Level.L1: ("TASK_TIME_L0", "TASK_TIME"),
    Level.L2: ("TASK_TIME_L0", "TASK_TIME", "TASK_TIME_L2"),
    Level.L3: ("TASK_TIME_L0", "TASK_TIME", "TASK_TIME_L2", "TASK_TIME_L3"),
}


def _bits(*names: str) -> int:
    return sum(DATA_TYPES[name].bit for name in names)


def _level_bits(level: Level) -> int:
    return _bits(*_LEVEL_NAMES[level])


def _switches() -> dict[str, int]:
    """Return path -> bit of the switches that a bit of the calls turns on."""
    rows = option_rows()
    public = (data_type for data_type in DATA_TYPES.values() if data_type.public)
    return {data_type.path: data_type.bit for data_type in public if rows[data_type.path].kind is Kind.SWITCH}


def mask_names(mask: int) -> tuple[str, ...]:
    """Return the names of the bits of *mask*, lowest first; bits without a name as hexadecimal text."""
    names = []
    for position in range(mask.bit_length() if mask > 0 else 0):
        bit = mask & (1 << position)
        if bit:
            names.append(
                next((data_type.name for data_type in DATA_TYPES.values() if data_type.bit == bit), f"{bit:#x}")
            )
    return tuple(names)


def widen_mask(mask: int) -> int:
    """
    Return *mask* with the bits that others bring along (pyacl_prof.md 5, ``create_config``).

    Every level of task time brings the lower ones, operator attributes bring L0 and L1, any task time brings the
    iteration trace, and the finer scheduling of the graph engine brings the coarser.
    """
    for level in (Level.L3, Level.L2, Level.L1):
        if mask & _bits(_LEVEL_NAMES[level][-1]):
            mask |= _level_bits(level)
    if mask & _bits("OP_ATTR"):
        mask |= _level_bits(Level.L1)
    if mask & _bits("TASK_TIME_L0"):
        mask |= _bits("TRAINING_TRACE")
    if mask & _bits("GE_API_L1"):
        mask |= _bits("GE_API_L0")
    return mask


def unsupported_bits(mask: int, chip: str) -> int:
    """Return the bits of *mask* that ``start`` refuses: without a name, not public, or not on *chip*."""
    platform = resolve_platform(chip)
    return mask & ~_bits(
        *(
            data_type.name
            for data_type in DATA_TYPES.values()
            if data_type.public and (data_type.series is None or not data_type.series.isdisjoint(platform.series))
        )
    )


def request_from_mask(
    mask: int,
    metrics: Metrics = MetricGroup.PIPE_UTILIZATION,
    *,
    chip: str = DEFAULT_CHIP,
    base: ProfilingRequest | None = None,
) -> ProfilingRequest:
    """
    Return the request that *mask* asks for.

    Parameters
    ----------
    mask:
        Bits as given; they are widened first.
    metrics:
        The group, which counts only with the bit ``AICORE_METRICS`` and, as everywhere, from level L1 on.
    base:
        Where everything else comes from (sampled items, output directory); the model's defaults if left out.

    Raises
    ------
    OptionError
        For a mask of 0 or below, and for bits that ``start`` refuses.
    """
    if not isinstance(mask, int) or isinstance(mask, bool) or mask <= 0:
        raise OptionError([f"data_type_config: {shown(mask)} asks for nothing; allowed: at least one bit."])
    refused = unsupported_bits(mask, chip)
    if refused:
        platform = resolve_platform(chip)
        names = ", ".join(mask_names(refused))
        raise OptionError([f"data_type_config: {refused:#x} ({names}) is not supported on {platform.label}."])
    mask = widen_mask(mask)
    base = base or ProfilingRequest()
    level = max(level for level in Level if mask & _level_bits(level) == _level_bits(level))
    graph = GraphApi.OFF
    if mask & _bits("GE_API_L0"):
        graph = GraphApi.L1 if mask & _bits("GE_API_L1") else GraphApi.L0
    counted = bool(mask & _bits("AICORE_METRICS")) and level >= Level.L1
    return with_values(
        base,
        {
            "level": level,
            "activities": (Activity.DEVICE,),
            "aic_metrics": metrics if counted else MetricGroup.NONE,
            "switches.graph_api": graph,
            **{path: bool(mask & bit) for path, bit in _switches().items()},
        },
    )


AICORE_METRICS: Mapping[int, MetricGroup] = MappingProxyType(
    {
        0: MetricGroup.ARITHMETIC_UTILIZATION,
        1: MetricGroup.PIPE_UTILIZATION,
        2: MetricGroup.MEMORY,
        3: MetricGroup.MEMORY_L0,
        4: MetricGroup.RESOURCE_CONFLICT_RATIO,
        5: MetricGroup.MEMORY_UB,
        6: MetricGroup.L2_CACHE,
        7: MetricGroup.PIPELINE_EXECUTE_UTILIZATION,
        8: MetricGroup.MEMORY_ACCESS,
        0xFF: MetricGroup.NONE,
    }
)
"""Code -> group (pyacl_prof.md 3, "aicore metrics")."""


def metric_group(code: int, chip: str = DEFAULT_CHIP) -> MetricGroup:
    """
    Return the group of *code*.

    Raises
    ------
    OptionError
        When no group has that code, or *chip* lacks the group.
    """
    group = AICORE_METRICS.get(code) if isinstance(code, int) else None
    if group is None:
        allowed = ", ".join(f"{known:#x}" if known > 9 else str(known) for known in AICORE_METRICS)
        raise OptionError([f"aicore_metrics: {shown(code)} is no group of counters; allowed: {allowed}."])
    platform = resolve_platform(chip)
    if group is not MetricGroup.NONE and group not in metric_groups(platform):
        name = METRIC_NAMES[group]
        raise OptionError([f"aicore_metrics: {code} ({name}) does not exist on {platform.label}."])
    return group
