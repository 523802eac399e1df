"""
The key table: every key of a collector options document, declared once.

A surface that carries the same keys under other rules (acl.json, ``aclprofSetConfig``) is another `Surface`
value; the keys themselves do not change.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from drynpu.options._values import Range
from drynpu.options.profiling_options._chips import ChipFamily

__all__ = ["ACL_JSON", "GE_OPTIONS", "KEYS", "Key", "Kind", "Surface"]


class Kind(enum.Enum):
    """How the value of a key is read."""

    SWITCH = "on or off"
    LEVEL = "on, off, l0 ... l3"
    GRAPH_API = "l0, l1 or off"
    BLOCK = "all, on or off"
    TEXT = "any text"
    FLOW = "a non-empty text"
    METRICS = "a counter group"
    FREQUENCY = "an integer"
    LLC = "an LLC mode"
    HOST_SYSTEMS = "a list of host metrics"
    HOST_USAGE = "a list of whole-host metrics"
    STORAGE = "a size in MB"
    OP_TYPES = "a list of operator types"
    OUTPUT = "a directory"


@frozen
class Key:
    """
    One key.

    Attributes
    ----------
    path:
        Where its value goes in the neutral model.
    limits:
        Range of a number.
    families:
        The chips that have it; ``None`` for all.
    note:
        What the collector prints when the key is present.
    """

    name: str
    kind: Kind
    path: str
    limits: Range | None = None
    families: frozenset[ChipFamily] | None = None
    note: str = ""


_A2_950 = frozenset({ChipFamily.ASCEND_A2_A3, ChipFamily.ASCEND_950})
_A2 = frozenset({ChipFamily.ASCEND_A2_A3})
_950 = frozenset({ChipFamily.ASCEND_950})
_ALL = frozenset(ChipFamily)
_HZ_50, _HZ_100 = Range(1, 50), Range(1, 100)

_TASK_TRACE_NOTE = "[Note] [task_trace] This option will be discarded in later versions.Use task_time instead"
_HCCL_NOTE = "[Note] [hccl] This option will be discarded in later versions."

# cann_msprof.md 1.3, in its order. That the 310 has neither the L2 counters nor a link is from the collector's own
# table (hicann/oam-tools profimpl/platform/mini_platform.cpp).
_TABLE = (
    Key("output", Kind.OUTPUT, "output.directory"),
    Key("storage_limit", Kind.STORAGE, "output.storage_limit_mb"),
    Key("training_trace", Kind.SWITCH, "switches.training_trace"),
    Key("task_trace", Kind.LEVEL, "level", note=_TASK_TRACE_NOTE),
    Key("task_time", Kind.LEVEL, "level"),
    Key("ge_api", Kind.GRAPH_API, "switches.graph_api"),
    Key("hccl", Kind.SWITCH, "switches.communication", note=_HCCL_NOTE),
    Key("aicpu", Kind.SWITCH, "switches.aicpu"),
    Key("fp_point", Kind.TEXT, "filters.first_forward_op"),
    Key("bp_point", Kind.TEXT, "filters.last_backward_op"),
    Key("aic_metrics", Kind.METRICS, "aic_metrics"),
    Key("l2", Kind.SWITCH, "switches.l2_cache", families=_ALL - {ChipFamily.ASCEND_310}),
    Key("msproftx", Kind.SWITCH, "switches.tx"),
    Key("runtime_api", Kind.SWITCH, "switches.runtime_api"),
    Key("task_memory", Kind.SWITCH, "switches.task_memory"),
    Key("task_tsfw", Kind.SWITCH, "switches.task_scheduler"),
    Key("task_block", Kind.BLOCK, "switches.task_block", families=_950),
    Key("sys_hardware_mem_freq", Kind.FREQUENCY, "sampling.hardware_memory_hz", _HZ_100),
    Key("sys_mem_serviceflow", Kind.FLOW, "sampling.service_flow", families=_A2_950),
    Key("llc_profiling", Kind.LLC, "sampling.llc"),
    Key("sys_io_sampling_freq", Kind.FREQUENCY, "sampling.io_hz", _HZ_100, _ALL - {ChipFamily.ASCEND_310P}),
    Key(
        "sys_interconnection_freq",
        Kind.FREQUENCY,
        "sampling.interconnection_hz",
        _HZ_50,
        _ALL - {ChipFamily.ASCEND_310, ChipFamily.ASCEND_310B},
    ),
    Key("sys_cpu_freq", Kind.FREQUENCY, "sampling.cpu_hz", _HZ_50, _950),
    Key("dvpp_freq", Kind.FREQUENCY, "sampling.dvpp_hz", _HZ_100),
    Key("instr_profiling", Kind.SWITCH, "switches.instructions", families=_950),
    # The 950 has no use for the interval but does not refuse it; the dialect says so.
    Key("instr_profiling_freq", Kind.FREQUENCY, "sampling.instruction_cycles", Range(300, 30_000), _A2 | _950),
    Key("host_sys", Kind.HOST_SYSTEMS, "sampling.host_systems"),
    Key("host_sys_usage", Kind.HOST_USAGE, "sampling.host_usage"),
    Key("host_sys_usage_freq", Kind.FREQUENCY, "sampling.host_usage_hz", _HZ_50),
    Key("sys_lp_freq", Kind.FREQUENCY, "sampling.low_power_hz", _HZ_100, _950),
    Key("optype", Kind.OP_TYPES, "filters.op_types"),
)

KEYS: Mapping[str, Key] = MappingProxyType({key.name: key for key in _TABLE})
"""All keys by name."""


@frozen(kw_only=True)
class Surface:
    """
    One way an options document reaches the collector, and how the collector refuses it there.

    Attributes
    ----------
    keys:
        The whitelist.
    unknown_id, unknown_reason:
        Identifier and reason for a key outside it.
    value_id:
        Identifier for a bad value.
    empty_reason, syntax_reason:
        For no text and for text that is not JSON.
    byte_limit:
        Longest document, in bytes of UTF-8.
    storage_limit_fails:
        Whether a bad ``storage_limit`` is refused; otherwise it is only warned about.
    extra:
        Keys that only this surface has.
    empty_rule:
        Whether no options at all mean the enabled-but-empty set of cann_msprof.md 1.2, and the list of 2020 is known.
    length_fails:
        Whether a document that is too long is refused even when reading leniently.
    acl_defaults:
        Whether the defaults are those of acl.json: calls and counters on, communication and the iteration trace
        following the level, the directory of the executable for want of another.
    """

    name: str
    keys: frozenset[str]
    unknown_id: str
    unknown_reason: str
    value_id: str
    empty_reason: str
    syntax_reason: str
    byte_limit: int
    storage_limit_fails: bool
    extra: tuple[Key, ...] = ()
    empty_rule: bool = True
    length_fails: bool = False
    acl_defaults: bool = False

    @property
    def table(self) -> Mapping[str, Key]:
        """The keys it takes, by name, in the order of the key table."""
        keys = (*KEYS.values(), *self.extra)
        return {key.name: key for key in keys if key.name in self.keys}


GE_OPTIONS = Surface(
    name="profiling_options",
    keys=frozenset(KEYS),
    unknown_id="EK0001",
    unknown_reason="Ge option is not supported",
    value_id="EK0001",
    empty_reason="Ge option config can not be empty",
    syntax_reason="Ge option config should be a valid json string",
    byte_limit=2048,
    storage_limit_fails=False,
)
"""TensorFlow, GE options and ``PROFILING_OPTIONS`` (cann_msprof.md 1.1, 1.5)."""

_ASCENDCL = Key("ascendcl", Kind.SWITCH, "switches.acl_api")
_NOT_IN_ACL_JSON = {"training_trace", "task_trace", "fp_point", "bp_point", "task_block"}

ACL_JSON = Surface(
    name="acl_json",
    keys=frozenset({*KEYS, "ascendcl"} - _NOT_IN_ACL_JSON),
    unknown_id="EK0005",
    unknown_reason="param not supported",
    value_id="EK0003",
    empty_reason="Acl json config can not be empty",
    syntax_reason="Acl json config should be a valid json string",
    byte_limit=1024 * 1024,
    storage_limit_fails=True,
    extra=(_ASCENDCL,),
    empty_rule=False,
    length_fails=True,
    acl_defaults=True,
)
"""The ``profiler`` section of acl.json without its ``switch``, which is no option (cann_msprof.md 1.6)."""
