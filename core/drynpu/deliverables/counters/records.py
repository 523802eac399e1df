"""Counter records: one context record per kernel for its main engine, one more record for the other half."""

from __future__ import annotations

import numpy as np
from attrs import evolve, frozen

from drynpu._errors import OptionError
from drynpu.arrays import F64, I64, Bools, Records
from drynpu.deliverables._host_launches import number_tasks
from drynpu.kernels import CORE_TASKS, CostTable, CounterValues, TaskType, counter_values, event_codes
from drynpu.layouts import counters as facts
from drynpu.layouts.counters import PmuFunction
from drynpu.layouts.schedulers import FFTS_MIXED, SUB_TASK_MIX_AIC, SUB_TASK_MIX_AIV
from drynpu.options import Level, MetricGroup, Metrics, ProfilingRequest
from drynpu.options.profiling_options import metrics_text, sample_parameters
from drynpu.platforms import Chip
from drynpu.raw import RecordKind, join_records, join_task_id, pack_stars_header
from drynpu.simulate import Simulation

# ffts types and sub-task types that tell a reader which engine a record counts (cann_msprof.md 7.4).
_AIC, _AIV, _MIX = 0, 1, FFTS_MIXED
_MIX_AIC, _MIX_AIV = SUB_TASK_MIX_AIC, SUB_TASK_MIX_AIV
_CORE_AIV = 1
"""Lowest bit of the core type: in block records it stands where context records have the ffts type."""
_V6_MAIN, _V6_MIXED = 1, 2
"""Flags of the 950's records."""


def counter_problem(metrics: Metrics, chip: Chip) -> str | None:
    """Return why a chip gives no counters of *metrics*, naming what it has; ``None`` where it gives them."""
    text = metrics_text(metrics)
    if not text:
        return None
    try:
        event_codes(text, chip)
    except OptionError as error:
        return str(error)
    return None


def metric_name(request: ProfilingRequest, chip: Chip) -> str | None:
    """Return the metric group or the custom events that are recorded, ``None`` when there are no counters."""
    text = metrics_text(request.aic_metrics)
    if not text or not _wanted(request) or counter_problem(request.aic_metrics, chip):
        return None
    return text


def _wanted(request: ProfilingRequest) -> bool:
    """Counters come with operator names, samples of cores without any tasks, too; at L0 there are neither."""
    sampled_alone = request.level is Level.NONE and request.sampling.ai_core_hz is not None
    return request.level >= Level.L1 or sampled_alone


def counter_notes(request: ProfilingRequest, chip: Chip) -> tuple[str, ...]:
    """Return a line about counters that were asked for and are not recorded, none if all are."""
    if not _wanted(request):
        return ()
    problem = counter_problem(request.aic_metrics, chip)
    return (f"No counters were recorded: {problem}",) if problem else ()


@frozen(eq=False, kw_only=True)
class Counted:
    """
    The launches that run on AI cores, in launch order.

    ``kind`` is the row's place in ``CORE_TASKS``; ``vector_first`` tells whose main engine is the vector core,
    ``mixed`` which rows may have another half.
    """

    launches: I64
    kind: I64
    costs: CostTable
    events: CounterValues

    @property
    def vector_first(self) -> Bools:
        """Which launches have the vector core as their main engine."""
        return np.isin(self.kind, [CORE_TASKS.index(TaskType.AI_VECTOR_CORE), CORE_TASKS.index(TaskType.MIX_AIV)])

    @property
    def mixed(self) -> I64:
        """The rows of launches that run on both kinds of cores."""
        return np.flatnonzero(
            np.isin(self.kind, [CORE_TASKS.index(TaskType.MIX_AIC), CORE_TASKS.index(TaskType.MIX_AIV)])
        )

    def half(self, vector: Bools) -> tuple[I64, I64, F64]:
        """Return total cycles, counters and core time in ns of the vector half where told so, else of the cube's."""
        cycles = np.where(vector, self.events.aiv_total_cycles, self.events.aic_total_cycles)
        pmu = np.where(vector[:, None], self.events.aiv_pmu, self.events.aic_pmu)
        return cycles, pmu, np.where(vector, self.costs.vector.time_ns, self.costs.cube.time_ns)


def count_launches(simulation: Simulation, metrics: str) -> Counted:
    """Return what every launch that runs on AI cores counts in a metric group."""
    counts = zip(simulation.task_types, simulation.lowered.kernels, strict=True)
    place = np.array(
        [CORE_TASKS.index(name) if name in CORE_TASKS and spec.known else -1 for name, spec in counts] or [-1]
    )
    kind = place[simulation.lowered.launch_kernel]
    launches = np.flatnonzero(kind >= 0)
    costs = simulation.costs.take(simulation.lowered.launch_kernel[launches], simulation.factor[launches])
    return Counted(launches=launches, kind=kind[launches], costs=costs, events=counter_values(costs, metrics))


def counter_records(simulation: Simulation, request: ProfilingRequest, *, device_cntvct: int) -> dict[str, Records]:
    """
    Return the counters of all kernels that run on AI cores, by record kind.

    There are none without a metric group, and none where samples of cores are requested: a core has one set.
    """
    chip = simulation.costs.chip
    metrics = metric_name(request, chip)
    if metrics is None or not simulation.task_types or request.sampling.ai_core_hz is not None:
        return {}
    counted = count_launches(simulation, metrics)
    kind, build = _BUILDERS[chip.platform.counters.record]
    both = join_records(kind, build(simulation, counted, device_cntvct))
    if "end_tick" in (kind.dtype.names or ()):
        both = both[np.argsort(both["end_tick"], kind="stable")]
    return {kind.name: both}


def _records(simulation: Simulation, counted: Counted, device_cntvct: int) -> list[Records]:
    """Return a context record per launch, and a block record for the other half of mixed ones."""
    main, mixed = counted.vector_first, counted.mixed
    context = _tasks(facts.FFTS_PROFILE, simulation, counted, device_cntvct)
    context["header"] = pack_stars_header(int(PmuFunction.CONTEXT_PMU), np.arange(len(context)))
    context["ffts"] = np.array([_AIC, _AIV, _MIX, _MIX])[counted.kind] << 13
    context["sub_task"] = np.array([0, 0, _MIX_AIC, _MIX_AIV])[counted.kind]
    context["total_cycles"], context["pmu"], _ = counted.half(main)
    return [context, _blocks(context[mixed], counted, mixed)]


def _blocks(context: Records, counted: Counted, mixed: I64) -> Records:
    """Return a record for each block of the other kind of core: all of them add up to what that core counted."""
    main = counted.vector_first[mixed]
    cycles, pmu, _ = counted.half(~counted.vector_first)
    numbers = np.where(cycles[mixed] > 0, counted.costs.mix_block_num[mixed], 0)
    owner = np.repeat(np.arange(len(mixed)), numbers)
    place = np.arange(len(owner)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    block = context[owner]
    block["header"] = pack_stars_header(int(PmuFunction.BLOCK_PMU), np.arange(len(owner)))
    block["ffts"] |= np.where(main[owner], 0, _CORE_AIV).astype(np.uint16)
    block["block_id"] = place
    block["total_cycles"] = _share(cycles[mixed][owner], place, numbers[owner])
    block["pmu"] = _share(pmu[mixed][owner], place[:, None], numbers[owner][:, None])
    return block


def _share(total: I64, place: I64, parts: I64) -> I64:
    """Return the part that each place has of a whole number: as even as can be, and together all of it."""
    return np.asarray(total // parts + (place < total % parts))


def _records_v6(simulation: Simulation, counted: Counted, device_cntvct: int) -> list[Records]:
    """Return a context record per launch and kind of core, whose ticks are that core's time from the task's start."""
    main, mixed = counted.vector_first, np.zeros(len(counted.launches), np.uint8)
    mixed[counted.mixed] = _V6_MIXED
    parts = []
    for vector, flags in ((main, mixed | _V6_MAIN), (~main, mixed)):
        rows = _tasks(facts.FFTS_PROFILE_V6, simulation, counted, device_cntvct)
        rows["header"] = pack_stars_header(int(PmuFunction.CONTEXT_PMU_V6), np.arange(len(rows)))
        rows["flags"], rows["core_type"] = flags, np.where(vector, _CORE_AIV, 0)
        rows["total_cycles"], rows["pmu"], core_ns = counted.half(vector)
        ticks = np.rint(core_ns / simulation.tick_ns).astype(np.uint64)
        rows["end_tick"] = np.minimum(rows["start_tick"] + ticks, rows["end_tick"])
        parts.append(rows)
    first, second = parts
    return [first, second[(mixed > 0) & (second["total_cycles"] > 0)]]


def _records_hwts(simulation: Simulation, counted: Counted, device_cntvct: int) -> list[Records]:
    """Return a record per launch, in the order in which they ended: there is no time in it."""
    del device_cntvct
    rows, ends = _whole(facts.AICORE, simulation, counted)
    return [rows[np.argsort(ends, kind="stable")]]


def _records_ts(simulation: Simulation, counted: Counted, device_cntvct: int) -> list[Records]:
    """Return a record per launch at the end of its task."""
    rows, ends = _whole(facts.AICORE_TS, simulation, counted)
    rows["tick"], rows["block_num"] = ends + device_cntvct, counted.costs.block_num
    return [rows[np.argsort(ends, kind="stable")]]


def _whole(kind: RecordKind, simulation: Simulation, counted: Counted) -> tuple[Records, I64]:
    """Return records that have one kind of core, and when their tasks ended in ticks."""
    launches = counted.launches
    rows = kind.new(len(launches))
    stream, task_id, _ = number_tasks(simulation).executed
    rows["stream_id"], rows["task_id"] = stream[launches], task_id[launches]
    cube, vector = (counted.half(np.full(len(launches), is_vector)) for is_vector in (False, True))
    rows["total_cycles"], rows["pmu"] = cube[0] + vector[0], cube[1] + vector[1]
    ends = simulation.schedule.kernel_start_ticks[launches] + simulation.kernel_ticks[launches]
    return rows, ends


_BUILDERS = {
    kind.name: (kind, build)
    for kind, build in (
        (facts.FFTS_PROFILE, _records),
        (facts.FFTS_PROFILE_V6, _records_v6),
        (facts.AICORE, _records_hwts),
        (facts.AICORE_TS, _records_ts),
    )
}


def _tasks(kind: RecordKind, simulation: Simulation, counted: Counted, device_cntvct: int) -> Records:
    launches = counted.launches
    rows = kind.new(len(launches))
    stream, task_id, batch_id = (number[launches] for number in number_tasks(simulation).executed)
    if "stream_id" in (kind.dtype.names or ()):
        rows["stream_id"], rows["task_id"] = stream, task_id
    else:
        rows["task_id"] = join_task_id(task_id, batch_id)
    rows["start_tick"] = simulation.schedule.kernel_start_ticks[launches] + device_cntvct
    rows["end_tick"] = rows["start_tick"] + simulation.kernel_ticks[launches].astype(np.uint64)
    return rows


def sample_metrics(request: ProfilingRequest, chip: Chip) -> dict[str, object]:
    """
    Return the entries of sample.json that follow from the options.

    They tell a reader which events the counters are, so they name what the records hold: nothing for a group that
    is not recorded, no vector core where the chip has one kind of core.
    """
    metrics, platform = metric_name(request, chip), chip.platform
    known = request if metrics else evolve(request, aic_metrics=MetricGroup.NONE)
    parameters = sample_parameters(known, platform)
    if metrics is None:
        return parameters
    cube, vector = (",".join(f"{code:#x}" for code in codes) for codes in event_codes(metrics, chip))
    parameters |= {"ai_core_profiling_events": cube, "aiv_profiling_events": vector}
    if not vector:
        parameters |= {"aiv_profiling": "off", "aiv_metrics": ""}
    return parameters
