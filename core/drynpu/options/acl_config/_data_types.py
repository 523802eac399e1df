"""The data-type mask (cann_msprof.md 1.7; pyacl_prof.md 3)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from attrs import evolve, frozen

from drynpu._errors import OptionError
from drynpu.options._problems import shown
from drynpu.options._request import ProfilingRequest
from drynpu.options._values import Activity, GraphApi, Level, MetricGroup, Metrics
from drynpu.options.profiling_options import ChipFamily, resolve_family

__all__ = [
    "DATA_TYPES",
    "DataType",
    "mask_from_request",
    "mask_names",
    "request_from_mask",
    "unsupported_bits",
    "widen_mask",
]


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
    families:
        The chips that have it; ``None`` for all.
    """

    name: str
    bit: int
    path: str
    public: bool = True
    families: frozenset[ChipFamily] | None = None


_ALL = frozenset(ChipFamily)
_L3 = frozenset(family for family in ChipFamily if family.has_l3)

_TABLE = (
    DataType(name="ACL_API", bit=0x1, path="switches.acl_api"),
    DataType(name="TASK_TIME", bit=0x2, path="level"),
    DataType(name="AICORE_METRICS", bit=0x4, path="aic_metrics"),
    DataType(name="AICPU", bit=0x8, path="switches.aicpu"),
    DataType(name="L2CACHE", bit=0x10, path="switches.l2_cache", families=_ALL - {ChipFamily.ASCEND_310}),
    DataType(name="HCCL_TRACE", bit=0x20, path="switches.communication"),
    DataType(name="TRAINING_TRACE", bit=0x40, path="switches.training_trace"),
    DataType(name="MSPROFTX", bit=0x80, path="switches.tx"),
    DataType(name="RUNTIME_API", bit=0x100, path="switches.runtime_api"),
    DataType(name="GE_API_L0", bit=0x200, path="switches.graph_api"),
    DataType(name="TASK_TSFW", bit=0x400, path="switches.task_scheduler", public=False),
    DataType(name="TASK_TIME_L0", bit=0x800, path="level"),
    DataType(name="TASK_MEMORY", bit=0x1000, path="switches.task_memory"),
    DataType(name="TASK_TIME_L2", bit=0x2000, path="level"),
    DataType(name="OP_ATTR", bit=0x4000, path="switches.op_attributes"),
    DataType(name="TASK_TIME_L3", bit=0x8000, path="level", families=_L3),
    DataType(name="CPU", bit=0x10000, path="sampling.cpu_hz", public=False),
    DataType(name="HARDWARE_MEMORY", bit=0x20000, path="sampling.hardware_memory_hz", public=False),
    DataType(name="IO", bit=0x40000, path="sampling.io_hz", public=False),
    DataType(name="INTER_CONNECTION", bit=0x80000, path="sampling.interconnection_hz", public=False),
    DataType(name="DVPP", bit=0x100000, path="sampling.dvpp_hz", public=False),
    DataType(name="SYS_AICORE_SAMPLE", bit=0x200000, path="sampling.ai_core_hz", public=False),
    DataType(name="AIVECTORCORE_SAMPLE", bit=0x400000, path="sampling.ai_core_hz", public=False),
    DataType(name="INSTR", bit=0x800000, path="switches.instructions", public=False),
    DataType(name="GE_API_L1", bit=0x1000000, path="switches.graph_api"),
    DataType(name="RUNTIME_TRACE", bit=0x4000000, path="level", public=False),
)

DATA_TYPES: Mapping[str, DataType] = MappingProxyType({data_type.name: data_type for data_type in _TABLE})
"""All bits by name, in ascending order."""

_BIT = {data_type.name: data_type.bit for data_type in _TABLE}
_PUBLIC = sum(data_type.bit for data_type in _TABLE if data_type.public)
_SWITCHES = {
    "ACL_API": "acl_api",
    "AICPU": "aicpu",
    "L2CACHE": "l2_cache",
    "HCCL_TRACE": "communication",
    "TRAINING_TRACE": "training_trace",
    "MSPROFTX": "tx",
    "RUNTIME_API": "runtime_api",
    "TASK_MEMORY": "task_memory",
    "OP_ATTR": "op_attributes",
}
_LEVEL_BITS = {
    Level.NONE: 0,
    Level.L0: _BIT["TASK_TIME_L0"],
    Level.L1: _BIT["TASK_TIME_L0"] | _BIT["TASK_TIME"],
    Level.L2: _BIT["TASK_TIME_L0"] | _BIT["TASK_TIME"] | _BIT["TASK_TIME_L2"],
    Level.L3: _BIT["TASK_TIME_L0"] | _BIT["TASK_TIME"] | _BIT["TASK_TIME_L2"] | _BIT["TASK_TIME_L3"],
}


def mask_names(mask: int) -> tuple[str, ...]:
    """Return the names of the bits of *mask*, lowest first; bits without a name as hexadecimal text."""
    names = []
    for position in range(mask.bit_length() if mask > 0 else 0):
        bit = mask & (1 << position)
        if bit:
            names.append(next((name for name, value in _BIT.items() if value == bit), f"{bit:#x}"))
    return tuple(names)


def widen_mask(mask: int) -> int:
    """
    Return *mask* with the bits that others bring along (pyacl_prof.md 5, ``create_config``).

    Every level of task time brings the lower ones, operator attributes bring L0 and L1, any task time brings the
    iteration trace, and the finer scheduling of the graph engine brings the coarser.
    """
    for level in (Level.L3, Level.L2, Level.L1):
        if mask & _LEVEL_BITS[level] & ~_LEVEL_BITS[_below(level)]:
            mask |= _LEVEL_BITS[level]
    if mask & _BIT["OP_ATTR"]:
        mask |= _LEVEL_BITS[Level.L1]
    if mask & _BIT["TASK_TIME_L0"]:
        mask |= _BIT["TRAINING_TRACE"]
    if mask & _BIT["GE_API_L1"]:
        mask |= _BIT["GE_API_L0"]
    return mask


def _below(level: Level) -> Level:
    return list(Level)[level.rank - 1]


def unsupported_bits(mask: int, chip: str) -> int:
    """Return the bits of *mask* that ``start`` refuses: without a name, not public, or not on *chip*."""
    family = resolve_family(chip)
    absent = sum(d.bit for d in _TABLE if d.families is not None and family not in d.families)
    return mask & ~(_PUBLIC & ~absent)


def request_from_mask(
    mask: int,
    metrics: Metrics = MetricGroup.PIPE_UTILIZATION,
    *,
    chip: str = "5",
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
        family = resolve_family(chip)
        names = ", ".join(mask_names(refused))
        raise OptionError([f"data_type_config: {refused:#x} ({names}) is not supported on {family.label}."])
    mask = widen_mask(mask)
    base = base or ProfilingRequest()
    level = max(level for level, bits in _LEVEL_BITS.items() if mask & bits == bits)
    graph = GraphApi.OFF
    if mask & _BIT["GE_API_L0"]:
        graph = GraphApi.L1 if mask & _BIT["GE_API_L1"] else GraphApi.L0
    switches: dict[str, Any] = {field: bool(mask & _BIT[name]) for name, field in _SWITCHES.items()}
    counted = bool(mask & _BIT["AICORE_METRICS"]) and level >= Level.L1
    return evolve(
        base,
        level=level,
        activities=(Activity.DEVICE,),
        aic_metrics=metrics if counted else MetricGroup.NONE,
        switches=evolve(base.switches, graph_api=graph, **switches),
    )


def mask_from_request(request: ProfilingRequest, *, system: bool = False) -> int:
    """
    Return the mask that asks for *request*, widened as the collector does.

    *system* adds the bits of the items sampled by time and of the collector itself, which the calls do not take but
    which the collector notes for itself.
    """
    switches = request.switches
    mask = _LEVEL_BITS[request.level]
    for name, field in _SWITCHES.items():
        if getattr(switches, field):
            mask |= _BIT[name]
    if request.aic_metrics is not MetricGroup.NONE:
        mask |= _BIT["AICORE_METRICS"]
    if switches.graph_api is not GraphApi.OFF:
        mask |= _BIT["GE_API_L1" if switches.graph_api is GraphApi.L1 else "GE_API_L0"]
    mask = widen_mask(mask)
    return mask | _system_bits(request) if system else mask


def _system_bits(request: ProfilingRequest) -> int:
    sampling = request.sampling
    asked = {
        "CPU": sampling.cpu_hz is not None,
        "HARDWARE_MEMORY": sampling.hardware_memory_hz is not None,
        "IO": sampling.io_hz is not None,
        "INTER_CONNECTION": sampling.interconnection_hz is not None,
        "DVPP": sampling.dvpp_hz is not None,
        "SYS_AICORE_SAMPLE": sampling.ai_core_hz is not None,
        "AIVECTORCORE_SAMPLE": sampling.ai_core_hz is not None,
        "INSTR": request.switches.instructions,
        "TASK_TSFW": request.switches.task_scheduler,
        "RUNTIME_TRACE": request.level >= Level.L0,
    }
    return sum(_BIT[name] for name, wanted in asked.items() if wanted)
