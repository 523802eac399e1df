"""The flag table: every collection switch of ``msprof``, declared once (cann_msprof.md 6.1)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from attrs import frozen

from drynpu.options._values import Range
from drynpu.options.profiling_options import ChipFamily, resolve_family

__all__ = ["FLAGS", "Flag", "FlagGroup", "FlagKind", "available_flags"]


class FlagKind(enum.Enum):
    """How the text of a flag is read; the value is its metavar in a usage text."""

    SWITCH = "on|off"
    LEVEL = "on|off|l0|l1|l2|l3"
    GRAPH_API = "off|l0|l1"
    BLOCK = "all|on|off"
    MODE = "task-based|sample-based"
    METRICS = "group"
    INTEGER = "n"
    LLC = "read|write"
    HOST_SYSTEMS = "cpu,mem,disk,network,osrt,numa"
    HOST_USAGE = "cpu,mem"
    STORAGE = "<n>MB"
    OP_TYPES = "type,type"
    OUTPUT = "directory"
    PATH = "path"
    EXPORT = "text|db"
    DEVICES = "all|id,id"
    PIDS = "pid,pid"
    DOMAINS = "domain,domain"
    FLOW = "name,name"
    ENVIRONMENT = "K=V;K=V"
    COMMAND = "command"


class FlagGroup(enum.Enum):
    """Where a flag stands in a usage text; the value is the heading."""

    RUN = "What to run and where the data goes"
    WHEN = "When to record"
    TASKS = "Tasks, operators and calls"
    COUNTERS = "AI Core counters"
    MARKS = "User marks"
    DEVICE = "Items of the device, sampled by time"
    HOST = "Items of the host, sampled by time"


@frozen(kw_only=True)
class Flag:
    """
    One switch.

    Attributes
    ----------
    name:
        Without its two hyphens.
    help:
        One sentence; the default and the range are not in it.
    default:
        What counts when it is left out, as it would be written; ``""`` where there is no such text.
    path:
        Where its value goes in the neutral model, or ``launch.<field>`` of `Launch`; ``""`` for none of its own.
    limits:
        Range of a number; the 950 takes more for ``sys-hardware-mem-freq``.
    families:
        The chips that have it; ``None`` for all.
    needs:
        The switch that must be on for it to count.
    with_application, without_application:
        Whether it counts in a run with an application, and in one that samples the system only.
    note:
        What the command prints when it is given.
    """

    name: str
    kind: FlagKind
    group: FlagGroup
    help: str
    default: str = ""
    path: str = ""
    limits: Range | None = None
    families: frozenset[ChipFamily] | None = None
    needs: str = ""
    with_application: bool = True
    without_application: bool = True
    note: str = ""

    @property
    def option(self) -> str:
        """As it is typed: ``--name``."""
        return f"--{self.name}"


_K, _G = FlagKind, FlagGroup
_ALL = frozenset(ChipFamily)
_950 = frozenset({ChipFamily.ASCEND_950})
_A2_950 = frozenset({ChipFamily.ASCEND_A2_A3, ChipFamily.ASCEND_950})
# What a chip lacks beyond the tables of the reference is from the command's own lists (hicann/runtime
# msprofbin/src/input_parser.cpp).
_NOT_310 = _ALL - {ChipFamily.ASCEND_310}
_LINKS = _NOT_310 - {ChipFamily.ASCEND_310B}
_SECONDS = Range(1, 4_294_967_295, "s")
_HZ_10, _HZ_50, _HZ_100 = Range(1, 10, "Hz"), Range(1, 50, "Hz"), Range(1, 100, "Hz")


def _tasks(
    name: str,
    kind: FlagKind,
    text: str,
    default: str,
    path: str,
    *,
    families: frozenset[ChipFamily] | None = None,
    note: str = "",
) -> Flag:
    return Flag(
        name=name,
        kind=kind,
        group=_G.TASKS,
        help=text,
        default=default,
        path=path,
        families=families,
        without_application=False,
        note=note,
    )


def _sampled(
    switch: str,
    frequency: str,
    item: str,
    default: str,
    limits: Range,
    path: str,
    families: frozenset[ChipFamily] | None = None,
    *,
    state: str = "off",
) -> tuple[Flag, Flag]:
    """Return the two flags of a sampled item: its switch and its rate."""
    return (
        Flag(name=switch, kind=_K.SWITCH, group=_G.DEVICE, help=f"Sample {item}.", default=state, families=families),
        Flag(
            name=frequency,
            kind=_K.INTEGER,
            group=_G.DEVICE,
            help=f"How often --{switch} samples.",
            default=default,
            path=path,
            limits=limits,
            families=families,
            needs=switch,
        ),
    )


_TABLE: tuple[Flag, ...] = (
    Flag(
        name="output",
        kind=_K.OUTPUT,
        group=_G.RUN,
        help="Directory for the PROF directory; made if it is not there. Counts for more than ASCEND_WORK_PATH.",
        path="output.directory",
    ),
    Flag(
        name="application",
        kind=_K.COMMAND,
        group=_G.RUN,
        help="Command to run and profile, in one text; better give it after the flags.",
        path="launch.application",
    ),
    Flag(
        name="environment",
        kind=_K.ENVIRONMENT,
        group=_G.RUN,
        help="Variables for the application's environment.",
        path="launch.environment",
        without_application=False,
    ),
    Flag(
        name="storage-limit",
        kind=_K.STORAGE,
        group=_G.RUN,
        help="Delete the oldest raw data that may age when the data grows beyond this.",
        path="output.storage_limit_mb",
        limits=Range(200, 4_294_967_295, "MB"),
        families=_NOT_310,
    ),
    Flag(
        name="type",
        kind=_K.EXPORT,
        group=_G.RUN,
        help="Form of the results: text is tables, timeline and database; db is the database alone.",
        default="text",
        path="output.export",
    ),
    Flag(
        name="python-path",
        kind=_K.PATH,
        group=_G.RUN,
        help="Python interpreter (3.7.5 or newer) for parsing afterwards.",
        path="launch.python_path",
    ),
    Flag(
        name="sys-devices",
        kind=_K.DEVICES,
        group=_G.RUN,
        help="Devices to sample when no application is run.",
        path="launch.devices",
        with_application=False,
    ),
    Flag(
        name="sys-period",
        kind=_K.INTEGER,
        group=_G.RUN,
        help="How long to sample when no application is run, in seconds.",
        path="launch.period_s",
        limits=Range(1, 2_592_000, "s"),
        with_application=False,
    ),
    Flag(
        name="delay",
        kind=_K.INTEGER,
        group=_G.WHEN,
        help="Start recording this many seconds after the application started.",
        path="window.delay_s",
        limits=_SECONDS,
        families=_NOT_310,
        without_application=False,
    ),
    Flag(
        name="duration",
        kind=_K.INTEGER,
        group=_G.WHEN,
        help="Record for this many seconds, counted from the end of the delay.",
        path="window.duration_s",
        limits=_SECONDS,
        families=_NOT_310,
        without_application=False,
    ),
    Flag(
        name="dynamic",
        kind=_K.SWITCH,
        group=_G.WHEN,
        help="Start and stop recordings by hand: the commands are start, stop and quit.",
        default="off",
        path="window.interactive",
        families=_NOT_310,
        without_application=False,
    ),
    Flag(
        name="pid",
        kind=_K.PIDS,
        group=_G.WHEN,
        help="Running processes to attach to, instead of running an application.",
        path="launch.pids",
        limits=Range(1, 4_294_967_295),
        families=_NOT_310,
        needs="dynamic",
        without_application=False,
    ),
    _tasks("task-time", _K.LEVEL, "How much to record about every task.", "on", "level"),
    _tasks(
        "task-trace",
        _K.LEVEL,
        "Old name of --task-time; counts only where that is left out.",
        "",
        "level",
    ),
    _tasks("ascendcl", _K.SWITCH, "Record calls into the ACL interface.", "on", "switches.acl_api"),
    _tasks("runtime-api", _K.SWITCH, "Record calls into the runtime.", "off", "switches.runtime_api"),
    _tasks(
        "model-execution",
        _K.SWITCH,
        "Without effect by now: --task-time covers it.",
        "off",
        "",
        note="[Note] [model-execution] This option will be discarded in later versions.",
    ),
    _tasks(
        "hccl",
        _K.SWITCH,
        "Record communication; --task-time covers it.",
        "off",
        "switches.communication",
        note="[Note] [hccl] This option will be discarded in later versions.",
    ),
    _tasks("aicpu", _K.SWITCH, "Record AI CPU operators and data preprocessing.", "off", "switches.aicpu"),
    _tasks("ge-api", _K.GRAPH_API, "Record the host's scheduling of dynamic shapes.", "off", "switches.graph_api"),
    _tasks("task-memory", _K.SWITCH, "Record the memory of operators.", "off", "switches.task_memory"),
    _tasks("task-tsfw", _K.SWITCH, "Record the task scheduler's management data.", "off", "switches.task_scheduler"),
    _tasks("task-block", _K.BLOCK, "Record the blocks of every task.", "off", "switches.task_block", families=_950),
    _tasks("optype", _K.OP_TYPES, "Operator types to record; all if left out.", "", "filters.op_types", families=_950),
    Flag(
        name="ai-core",
        kind=_K.SWITCH,
        group=_G.COUNTERS,
        help="Read AI Core counters; on with --task-time l1 or more, off when no application is run.",
        default="on",
    ),
    Flag(
        name="aic-mode",
        kind=_K.MODE,
        group=_G.COUNTERS,
        help="Read counters per task or by time; by time when no application is run.",
        default="task-based",
        needs="ai-core",
    ),
    Flag(
        name="aic-freq",
        kind=_K.INTEGER,
        group=_G.COUNTERS,
        help="How often counters are read by time.",
        default="100",
        path="sampling.ai_core_hz",
        limits=_HZ_100,
        needs="ai-core",
    ),
    Flag(
        name="aic-metrics",
        kind=_K.METRICS,
        group=_G.COUNTERS,
        help="Group of counters, or Custom: and up to eight event numbers.",
        path="aic_metrics",
        needs="ai-core",
    ),
    Flag(
        name="l2",
        kind=_K.SWITCH,
        group=_G.COUNTERS,
        help="Read the hit rates of the L2 cache and, where there are any, of the address translation.",
        default="off",
        path="switches.l2_cache",
        families=_NOT_310,
        without_application=False,
    ),
    Flag(
        name="instr-profiling",
        kind=_K.SWITCH,
        group=_G.COUNTERS,
        help="Record bandwidth and latency of the cores' bus instead of tasks; stands alone.",
        default="off",
        path="switches.instructions",
        families=_A2_950,
    ),
    Flag(
        name="instr-profiling-freq",
        kind=_K.INTEGER,
        group=_G.COUNTERS,
        help="Cycles between two records of --instr-profiling.",
        default="1000",
        path="sampling.instruction_cycles",
        limits=Range(300, 30_000, "cycles"),
        families=_A2_950,
        needs="instr-profiling",
    ),
    Flag(
        name="msproftx",
        kind=_K.SWITCH,
        group=_G.MARKS,
        help="Record the marks that the application sets (mstx, msproftx).",
        default="off",
        path="switches.tx",
        without_application=False,
    ),
    Flag(
        name="mstx-domain-include",
        kind=_K.DOMAINS,
        group=_G.MARKS,
        help="Record the marks of these domains only; default is the domain without a name.",
        path="filters.tx_domains_include",
        needs="msproftx",
        without_application=False,
    ),
    Flag(
        name="mstx-domain-exclude",
        kind=_K.DOMAINS,
        group=_G.MARKS,
        help="Record the marks of all domains but these.",
        path="filters.tx_domains_exclude",
        needs="msproftx",
        without_application=False,
    ),
    *_sampled(
        "sys-hardware-mem",
        "sys-hardware-mem-freq",
        "the rates and use of the device memory, the last-level cache and the memory of components",
        "50",
        _HZ_100,
        "sampling.hardware_memory_hz",
    ),
    Flag(
        name="sys-mem-serviceflow",
        kind=_K.FLOW,
        group=_G.DEVICE,
        help="Groups of memory traffic to tell apart.",
        path="sampling.service_flow",
        families=_A2_950,
        needs="sys-hardware-mem",
    ),
    Flag(
        name="llc-profiling",
        kind=_K.LLC,
        group=_G.DEVICE,
        help="What to count of the last-level cache; the 310 knows capacity and bandwidth instead.",
        default="read",
        path="sampling.llc",
        needs="sys-hardware-mem",
    ),
    *_sampled(
        "sys-io-profiling",
        "sys-io-sampling-freq",
        "the network ports (NIC, RoCE; UB on the 950)",
        "100",
        _HZ_100,
        "sampling.io_hz",
        _ALL - {ChipFamily.ASCEND_310P},
    ),
    *_sampled(
        "sys-interconnection-profiling",
        "sys-interconnection-freq",
        "the links to the host and to other chips",
        "50",
        _HZ_50,
        "sampling.interconnection_hz",
        _LINKS,
    ),
    *_sampled("sys-cpu-profiling", "sys-cpu-freq", "the device's own CPUs", "50", _HZ_50, "sampling.cpu_hz"),
    *_sampled(
        "sys-profiling",
        "sys-sampling-freq",
        "CPU and memory use of the device's own system",
        "10",
        _HZ_10,
        "sampling.device_system_hz",
    ),
    *_sampled(
        "sys-pid-profiling",
        "sys-pid-sampling-freq",
        "CPU and memory use of every process on the device",
        "10",
        _HZ_10,
        "sampling.device_process_hz",
    ),
    *_sampled("dvpp-profiling", "dvpp-freq", "the image and video engines", "50", _HZ_100, "sampling.dvpp_hz"),
    *_sampled(
        "sys-lp", "sys-lp-freq", "the low-power state", "100", _HZ_100, "sampling.low_power_hz", _950, state="on"
    ),
    Flag(
        name="host-sys",
        kind=_K.HOST_SYSTEMS,
        group=_G.HOST,
        help="Items of the profiled process to sample; disk needs iotop, osrt needs perf and ltrace on real hosts.",
        path="sampling.host_systems",
    ),
    Flag(
        name="host-sys-pid",
        kind=_K.INTEGER,
        group=_G.HOST,
        help="Process that --host-sys samples when no application is run.",
        path="launch.host_pid",
        limits=Range(0, 2_147_483_647),
        with_application=False,
    ),
    Flag(
        name="host-sys-usage",
        kind=_K.HOST_USAGE,
        group=_G.HOST,
        help="Items of the whole host and of all its processes to sample.",
        path="sampling.host_usage",
    ),
    Flag(
        name="host-sys-usage-freq",
        kind=_K.INTEGER,
        group=_G.HOST,
        help="How often --host-sys-usage samples.",
        default="50",
        path="sampling.host_usage_hz",
        limits=_HZ_50,
        needs="host-sys-usage",
    ),
)

FLAGS: Mapping[str, Flag] = MappingProxyType({flag.name: flag for flag in _TABLE})
"""All flags by name, in the order of a usage text."""


def available_flags(chip: str) -> tuple[Flag, ...]:
    """Return the flags that the command has on *chip*. Raises `OptionError` for an unknown chip."""
    family = resolve_family(chip)
    return tuple(flag for flag in _TABLE if flag.families is None or family in flag.families)
