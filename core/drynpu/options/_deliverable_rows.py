"""
The table option -> deliverables (cann_msprof.md 3), per class of chips.

Which chip has which file is from the vendor's page of result files (Ascend/msprof
docs/en/user_guide/profile_data_file_references.md, "Supported Products"), narrowed where the option itself does less
(cann_msprof.md 1.3, rows ``sys_io_sampling_freq`` and ``sys_interconnection_freq``). That page does not know the 310:
what the collector can sample there (hicann/oam-tools profimpl/platform/mini_platform.cpp) decides. HBM and DDR go by
the memory that a chip has.
"""

from __future__ import annotations

import enum
from collections.abc import Callable

from attrs import field, frozen

from drynpu.options._request import ProfilingRequest
from drynpu.options._values import (
    Activity,
    BlockTrace,
    ExportType,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    MetricGroup,
)
from drynpu.options.profiling_options import ChipClass

__all__ = ["DELIVERABLES", "Deliverable", "DeliverableKind", "Needs"]


class DeliverableKind(enum.Enum):
    """What a deliverable is."""

    CSV = "csv"
    JSON = "json"
    DB = "db"
    TEXT = "txt"
    LAYER = "layer"
    """A process of ``msprof_*.json``; Step Trace is threads of Ascend Hardware there."""
    ROWS = "rows"
    """Rows of a file that other options leave, too."""
    COLUMNS = "columns"
    """Columns of such a file."""


class Needs(enum.Enum):
    """What must happen in a run for a deliverable to have data; the value is a readable condition."""

    NOTHING = ""
    KERNELS = "kernels run on the device"
    COLLECTIVES = "collective communication runs"
    GRAPH = "a compiled graph with fused operators runs"
    STATIC_GRAPH = "a static graph is loaded"
    ITERATIONS = "iterations of a graph run"
    MARKS = "the application sets marks"
    AICPU = "operators run on the AI CPU"
    PREPROCESSING = "TensorFlow's data preprocessing is sunk to the device"
    DATA_QUEUE = "data is sunk to the device through a queue"
    OPERATOR_MEMORY = "the graph engine allocates memory for operators"
    FUSION_TASKS = "fusion tasks run"
    DYNAMIC_SHAPES = "operators of dynamic shape are scheduled"
    APPLICATION = "an application runs"


@frozen(kw_only=True)
class Deliverable:
    """
    One deliverable of one option.

    Attributes
    ----------
    option:
        Path of the neutral option.
    kind, name:
        What it is and its name: the stem of a file, or the title of a layer.
    detail:
        For rows and columns: which.
    chips:
        Where it exists.
    needs:
        What must happen in the run; a file without data is not written.
    when:
        Whether a request asks for it.
    """

    option: str
    kind: DeliverableKind
    name: str
    detail: str = ""
    chips: frozenset[ChipClass]
    needs: Needs = Needs.NOTHING
    when: Callable[[ProfilingRequest], bool] = field(eq=False, repr=False)

    @property
    def file(self) -> str:
        """The file it is, or is part of, as a pattern: ``nic_*.csv``."""
        if self.kind is DeliverableKind.LAYER:
            return "msprof_*.json"
        if self.kind is DeliverableKind.TEXT:
            return f"{self.name}.txt"
        suffix = "csv" if self.kind in (DeliverableKind.ROWS, DeliverableKind.COLUMNS) else self.kind.value
        return f"{self.name}_*.{suffix}"

    @property
    def title(self) -> str:
        """As it is shown in a table: the file, with what of it where it is a part."""
        part = self.name if self.kind is DeliverableKind.LAYER else self.detail
        return f"{self.file} ({part})" if part else self.file


_Test = Callable[[ProfilingRequest], bool]
_C = ChipClass
_ALL = frozenset(ChipClass)
_A2_A3 = frozenset({_C.ASCEND_A2, _C.ASCEND_A3})
_950 = frozenset({_C.ASCEND_950})
_A2_950 = _A2_A3 | _950
_A2_310B = _A2_A3 | {_C.ASCEND_310B}
_HBM = _A2_950 | {_C.ASCEND_910}
_ROCE = _A2_A3 | {_C.ASCEND_910}


def _device(request: ProfilingRequest) -> bool:
    return Activity.DEVICE in request.activities


def _tasks(level: Level) -> _Test:
    return lambda request: _device(request) and request.level >= level


def _switch(name: str) -> _Test:
    return lambda request: bool(getattr(request.switches, name))


def _rate(name: str) -> _Test:
    return lambda request: getattr(request.sampling, name) is not None


def _host_system(item: HostSystem) -> _Test:
    return lambda request: item in request.sampling.host_systems


def _host_usage(item: HostUsage) -> _Test:
    return lambda request: item in request.sampling.host_usage


def _counted(request: ProfilingRequest) -> bool:
    """Whether counters are read per task."""
    return (
        _tasks(Level.L1)(request)
        and request.aic_metrics is not MetricGroup.NONE
        and request.sampling.ai_core_hz is None
    )


def _sampled(request: ProfilingRequest) -> bool:
    """Whether cores are sampled; at L0 the toolkit collects no counters either way."""
    wanted = request.aic_metrics is not MetricGroup.NONE and request.sampling.ai_core_hz is not None
    return wanted and request.level is not Level.L0


def _anything(request: ProfilingRequest) -> bool:
    """Whether the request leaves any data at all."""
    return any(row.when(request) for row in _OPTION_ROWS)


@frozen
class _Rows:
    """Rows of one option, spelled shortly."""

    option: str
    when: _Test
    chips: frozenset[ChipClass] = _ALL
    needs: Needs = Needs.NOTHING

    def _row(self, kind: DeliverableKind, name: str, detail: str = "") -> Deliverable:
        return Deliverable(
            option=self.option,
            kind=kind,
            name=name,
            detail=detail,
            chips=self.chips,
            needs=self.needs,
            when=self.when,
        )

    def __call__(
        self, *, csv: str = "", json: str = "", layer: str = "", rows: str = "", columns: str = ""
    ) -> tuple[Deliverable, ...]:
        """
        Return a row for every name; names are separated by commas, ``rows`` and ``columns`` are ``name: detail``.

        A layer is named as the timeline does (cann_msprof.md 4.5), the application's by what it is.
        """
        found = [
            self._row(kind, name.strip())
            for kind, names in (
                (DeliverableKind.JSON, json),
                (DeliverableKind.CSV, csv),
                (DeliverableKind.LAYER, layer),
            )
            for name in names.split(",")
            if name
        ]
        for kind, text in ((DeliverableKind.ROWS, rows), (DeliverableKind.COLUMNS, columns)):
            name, _, detail = text.partition(": ")
            if name:
                found.append(self._row(kind, name, detail))
        return tuple(found)


def _task_rows() -> tuple[Deliverable, ...]:
    level, times, named = "level", _tasks(Level.L0), _tasks(Level.L1)
    return (
        *_Rows(level, times)(json="msprof"),
        *_Rows(level, times, needs=Needs.KERNELS)(csv="op_summary"),
        *_Rows(level, times)(csv="api_statistic,task_time", layer="CANN,Ascend Hardware,Overlap Analysis"),
        *_Rows(level, times, needs=Needs.GRAPH)(csv="fusion_op"),
        *_Rows(level, times, needs=Needs.COLLECTIVES)(layer="Communication"),
        *_Rows(level, times, _A2_310B | _950)(layer="AI Core Freq"),
        *_Rows(level, times, _A2_A3)(layer="Voltage Info"),
        *_Rows(level, times, _950, Needs.FUSION_TASKS)(layer="Fusion Task"),
        *_Rows(level, named, needs=Needs.KERNELS)(csv="op_statistic"),
        *_Rows(level, named, needs=Needs.COLLECTIVES)(csv="communication_statistic"),
        *_Rows(level, named, _950, Needs.COLLECTIVES)(csv="ccu_mission", layer="CCU"),
        *_Rows("aic_metrics", _counted, needs=Needs.KERNELS)(columns="op_summary: counter columns"),
        *_Rows("sampling.ai_core_hz", _sampled)(csv="ai_core_utilization", layer="AI Core Utilization"),
        *_Rows("sampling.ai_core_hz", _sampled, _A2_310B | _950)(csv="ai_vector_core_utilization"),
    )


def _switch_rows() -> tuple[Deliverable, ...]:
    def rows(
        name: str, chips: frozenset[ChipClass] = _ALL, needs: Needs = Needs.NOTHING, when: _Test | None = None
    ) -> _Rows:
        return _Rows(f"switches.{name}", when or _switch(name), chips, needs)

    return (
        *rows("training_trace", needs=Needs.ITERATIONS)(json="step_trace", csv="step_trace", layer="Step Trace"),
        *rows("runtime_api")(rows="api_statistic: runtime rows", layer="CANN"),
        *rows("acl_api")(rows="api_statistic: AscendCL rows", layer="CANN"),
        *rows("graph_api", needs=Needs.DYNAMIC_SHAPES, when=lambda r: r.switches.graph_api is not GraphApi.OFF)(
            rows="api_statistic: GE rows"
        ),
        *rows(
            "communication",
            needs=Needs.COLLECTIVES,
            when=lambda r: r.switches.communication and r.level >= Level.L1,
        )(csv="communication_statistic", rows="api_statistic: communication rows"),
        *rows("communication", needs=Needs.COLLECTIVES)(layer="Communication"),
        *rows("aicpu", needs=Needs.AICPU)(csv="aicpu"),
        *rows("aicpu", frozenset({_C.ASCEND_910}), Needs.PREPROCESSING)(csv="dp"),
        *rows("aicpu", needs=Needs.DATA_QUEUE)(csv="aicpu_mi"),
        *rows("l2_cache", _ALL - {_C.ASCEND_310}, Needs.KERNELS)(csv="l2_cache"),
        *rows("l2_cache", _A2_950, Needs.KERNELS)(csv="soc_pmu"),
        *rows("tx", needs=Needs.MARKS)(csv="msprof_tx", json="msprof_tx", layer="application"),
        *rows("task_memory", needs=Needs.OPERATOR_MEMORY)(csv="memory_record,operator_memory"),
        *rows("task_memory", needs=Needs.STATIC_GRAPH)(csv="static_op_mem"),
        *rows("task_block", _950, Needs.KERNELS, lambda r: r.switches.task_block is not BlockTrace.OFF)(
            layer="Block Detail"
        ),
        *rows("instructions", _A2_A3, Needs.KERNELS)(layer="biu_group,aic_core_group,aiv_core_group"),
        *rows("instructions", _950, Needs.KERNELS)(layer="Biu Perf"),
    )


def _device_rows() -> tuple[Deliverable, ...]:
    def rows(name: str, chips: frozenset[ChipClass] = _ALL, needs: Needs = Needs.NOTHING) -> _Rows:
        return _Rows(f"sampling.{name}", _rate(name), chips, needs)

    memory, links = "hardware_memory_hz", "interconnection_hz"
    return (
        *rows(memory, _HBM)(csv="hbm", layer="HBM"),
        *rows(memory, _ALL - _HBM)(csv="ddr", layer="DDR"),
        # The 310 counts capacity and bandwidth instead; what it leaves is not in the references.
        *rows(memory, _ALL - {_C.ASCEND_310})(csv="llc_read_write", layer="LLC"),
        *rows(memory)(csv="npu_mem", layer="NPU MEM"),
        *rows(memory, needs=Needs.APPLICATION)(csv="npu_module_mem"),
        *rows(memory, _A2_310B)(layer="Acc PMU,Stars Soc Info"),
        *rows(memory, _A2_950)(layer="QoS"),
        *rows("io_hz", _ROCE | {_C.ASCEND_310, _C.ASCEND_310B})(csv="nic", layer="NIC"),
        *rows("io_hz", _ROCE)(csv="roce", layer="RoCE"),
        *rows("io_hz", _950)(csv="ub", layer="Ub"),
        *rows(links, _HBM | {_C.ASCEND_310P})(csv="pcie", layer="PCIe"),
        *rows(links, _ROCE)(csv="hccs", layer="HCCS"),
        *rows(links, _A2_950)(layer="Stars Chip Trans"),
        *rows(links, _950 | {_C.ASCEND_A3})(layer="SIO"),
        *rows(links, _950)(csv="ccu_channel,ub", layer="Ub"),
        *rows("dvpp_hz", _ALL - {_C.ASCEND_310P})(csv="dvpp"),
        *rows("device_system_hz")(csv="cpu_usage,sys_mem"),
        *rows("device_process_hz")(csv="process_cpu_usage,process_mem"),
        *rows("cpu_hz")(
            csv="ai_cpu_top_function,ai_cpu_pmu_events,ctrl_cpu_top_function,ctrl_cpu_pmu_events",
        ),
        *rows("cpu_hz", _ALL - _950)(csv="ts_cpu_top_function,ts_cpu_pmu_events"),
    )


def _host_rows() -> tuple[Deliverable, ...]:
    def system(item: HostSystem) -> _Rows:
        return _Rows("sampling.host_systems", _host_system(item))

    def usage(item: HostUsage) -> _Rows:
        return _Rows("sampling.host_usage", _host_usage(item))

    return (
        *system(HostSystem.CPU)(csv="host_cpu_usage", layer="CPU Usage"),
        *system(HostSystem.MEMORY)(csv="host_mem_usage", layer="Memory Usage"),
        *system(HostSystem.DISK)(csv="host_disk_usage", layer="Disk Usage"),
        *system(HostSystem.NETWORK)(csv="host_network_usage", layer="Network Usage"),
        *system(HostSystem.OS_RUNTIME)(csv="os_runtime_statistic", layer="OS Runtime API"),
        *usage(HostUsage.CPU)(csv="cpu_usage,process_cpu_usage"),
        *usage(HostUsage.MEMORY)(csv="sys_mem,process_mem"),
    )


_OPTION_ROWS = (*_task_rows(), *_switch_rows(), *_device_rows(), *_host_rows())


def _timeline(request: ProfilingRequest) -> bool:
    return any(row.kind is DeliverableKind.LAYER and row.when(request) for row in _OPTION_ROWS)


def _always(kind: DeliverableKind, name: str, when: _Test) -> Deliverable:
    return Deliverable(option="output.export", kind=kind, name=name, chips=_ALL, when=when)


# Either form of export leaves the database (cann_msprof.md 6.2); the timeline and the list of files come with any text.
DELIVERABLES: tuple[Deliverable, ...] = (
    *_OPTION_ROWS,
    _always(DeliverableKind.JSON, "msprof", _timeline),
    _always(DeliverableKind.DB, "msprof", _anything),
    _always(DeliverableKind.TEXT, "README", lambda r: ExportType.TEXT in r.output.export and _anything(r)),
)
"""Every deliverable of every option, in the order of cann_msprof.md 3."""
