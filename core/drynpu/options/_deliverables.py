"""Which option leaves which deliverable."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from drynpu.options._deliverable_rows import DELIVERABLES, Deliverable, DeliverableKind
from drynpu.options._request import ProfilingRequest
from drynpu.options._values import Activity, ExportType, HostSystem, Level, MetricGroup
from drynpu.options.profiling_options import ChipClass, resolve_class

__all__ = ["deliverables", "files_of_option", "is_left"]

_Row = tuple[str, Callable[[ProfilingRequest], bool], tuple[str, ...]]


def _device(request: ProfilingRequest) -> bool:
    return Activity.DEVICE in request.activities


def _text(request: ProfilingRequest) -> bool:
    return ExportType.TEXT in request.output.export


def _database(request: ProfilingRequest) -> bool:
    return ExportType.DB in request.output.export


def _tasks(request: ProfilingRequest, level: Level) -> bool:
    return _device(request) and request.level >= level


_PROFILE_DB, _ANALYSIS_DB = "ascend_pytorch_profiler*.db", "analysis.db"

# torch_npu_profiler.md 3.6, 4.16, 4.17.
_TORCH_DATABASES: tuple[_Row, ...] = (
    ("output.export", _database, (_PROFILE_DB,)),
    ("output.export", lambda r: _tasks(r, Level.L0), (_ANALYSIS_DB,)),
    ("activities", lambda r: Activity.HOST in r.activities, (f"{_PROFILE_DB} (PYTORCH_API, CONNECTION_IDS)",)),
    (
        "level",
        lambda r: _tasks(r, Level.L0),
        (f"{_PROFILE_DB} (CANN_API, TASK, COMPUTE_TASK_INFO)", f"{_ANALYSIS_DB} (StepTraceTime)"),
    ),
    (
        "level",
        lambda r: _tasks(r, Level.L1),
        (f"{_PROFILE_DB} (COMMUNICATION_TASK_INFO)", f"{_ANALYSIS_DB} (CommAnalyzer*)"),
    ),
    (
        "aic_metrics",
        lambda r: _tasks(r, Level.L1) and r.aic_metrics is not MetricGroup.NONE,
        (f"{_PROFILE_DB} (TASK_PMU_INFO)",),
    ),
    ("switches.with_stack", lambda r: r.switches.with_stack, (f"{_PROFILE_DB} (PYTORCH_CALLCHAINS)",)),
    (
        "switches.profile_memory",
        lambda r: r.switches.profile_memory,
        (f"{_PROFILE_DB} (MEMORY_RECORD, OP_MEMORY, NPU_MEM, NPU_MODULE_MEM)",),
    ),
    ("switches.tx", lambda r: _device(r) and r.switches.tx, (f"{_PROFILE_DB} (MSTX_EVENTS)",)),
    ("switches.gc_threshold_ms", lambda r: r.switches.gc_threshold_ms is not None, (f"{_PROFILE_DB} (GC_RECORD)",)),
    ("sampling.io_hz", lambda r: _device(r) and r.sampling.io_hz is not None, (f"{_PROFILE_DB} (NIC, ROCE)",)),
    (
        "sampling.interconnection_hz",
        lambda r: _device(r) and r.sampling.interconnection_hz is not None,
        (f"{_PROFILE_DB} (PCIE, HCCS)",),
    ),
)
_TORCH_TEXT: tuple[_Row, ...] = (
    ("activities", lambda r: Activity.HOST in r.activities, ("trace_view.json", "operator_details.csv")),
    ("activities", _device, ("trace_view.json",)),
    ("level", lambda r: _tasks(r, Level.L0), ("kernel_details.csv", "step_trace_time.csv", "task_time.csv")),
    (
        "level",
        lambda r: _tasks(r, Level.L1),
        ("op_statistic.csv", "api_statistic.csv", "communication.json", "communication_matrix.json"),
    ),
    ("level", lambda r: _tasks(r, Level.L2), ("data_preprocess.csv",)),
    (
        "aic_metrics",
        lambda r: _tasks(r, Level.L1) and r.aic_metrics is not MetricGroup.NONE,
        ("kernel_details.csv (counter columns)",),
    ),
    (
        "switches.profile_memory",
        lambda r: r.switches.profile_memory,
        ("memory_record.csv", "operator_memory.csv", "npu_module_mem.csv"),
    ),
    ("switches.l2_cache", lambda r: _device(r) and r.switches.l2_cache, ("l2_cache.csv", "soc_pmu.csv")),
    ("switches.tx", lambda r: _device(r) and r.switches.tx, ("trace_view.json (marks)",)),
    ("sampling.io_hz", lambda r: _device(r) and r.sampling.io_hz is not None, ("nic.csv", "roce.csv")),
    (
        "sampling.interconnection_hz",
        lambda r: _device(r) and r.sampling.interconnection_hz is not None,
        ("pcie.csv", "hccs.csv"),
    ),
)


def deliverables(request: ProfilingRequest, chip: str) -> tuple[Deliverable, ...]:
    """
    Return what *request* leaves in ``mindstudio_profiler_output`` and beside it (cann_msprof.md 3).

    *chip* is a platform version, family or SoC name; what it lacks is not among them. Each comes with what must happen
    in the run for it to have data, so one that is missing from a real run must have an unmet need. A file that several
    options leave appears for each of them.

    Raises
    ------
    OptionError
        For an unknown chip.
    """
    here = resolve_class(chip)
    return tuple(row for row in DELIVERABLES if is_left(row, request, here))


def is_left(row: Deliverable, request: ProfilingRequest, here: ChipClass | None) -> bool:
    """Whether *request* leaves a deliverable on a class of chips; ``None`` is any."""
    written = _text(request) or row.kind is DeliverableKind.DB
    return written and (here is None or here in row.chips) and row.when(request)


def files_of_option(request: ProfilingRequest, path: str, *, torch: bool, chip: str | None = None) -> tuple[str, ...]:
    """
    Return the files that the option at *path* leaves with its effective value; empty when it leaves none.

    *torch* picks ``ASCEND_PROFILER_OUTPUT`` (torch_npu_profiler.md 3.6) over ``mindstudio_profiler_output``
    (cann_msprof.md 3). A file named for several options needs only one of them; none is written empty. Without *chip*
    the files of all chips are named. An option that leaves no file of its own has its part of the timeline.
    """
    if torch:
        return tuple(dict.fromkeys(_torch_files(request, path)))
    here = None if chip is None else resolve_class(chip)
    found = [row for row in DELIVERABLES if row.option == path and is_left(row, request, here)]
    files = [row.title for row in found if row.kind is not DeliverableKind.LAYER]
    return tuple(dict.fromkeys(files or (row.title for row in found)))


_TORCH_HOST = (HostSystem.CPU, HostSystem.MEMORY, HostSystem.DISK, HostSystem.NETWORK, HostSystem.OS_RUNTIME)


def _torch_files(request: ProfilingRequest, path: str) -> Iterator[str]:
    rows = (*(_TORCH_TEXT if _text(request) else ()), *(_TORCH_DATABASES if _database(request) else ()))
    for option, produced, files in rows:
        if option == path and produced(request):
            yield from files
    if not _text(request):
        return
    if path == "sampling.host_systems" and any(item in _TORCH_HOST for item in request.sampling.host_systems):
        yield "trace_view.json (host rows)"
