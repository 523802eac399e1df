"""Counters of single cores, sampled (``aic-mode=sample-based``): made from the counters of the kernels they ran."""

from __future__ import annotations

import numpy as np
from attrs import frozen

from drynpu.arrays import I64, Bools, Records
from drynpu.deliverables._traffic import edges_us
from drynpu.deliverables.core_samples import facts
from drynpu.deliverables.counters.records import count_launches, counter_notes, metric_name
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.deliverables.units import US_PER_S
from drynpu.device.samplers.cores import core_counts
from drynpu.kernels import event_codes
from drynpu.options import Level
from drynpu.raw import join_records


@frozen(eq=False, kw_only=True)
class _Cores:
    """One kind of core: its numbers, and what each launch counts on it in how many blocks."""

    first: int
    number: int
    events: tuple[int, ...]
    launches: I64
    blocks: I64
    cycles: I64
    pmu: I64


def build(context: RecordContext) -> GroupRecords:
    """
    Return a record per core and reading of the counters, idle cores too, at the frequency that was asked for.

    A first reading is taken when the recording begins and a last one when it ends, so that the samples together have
    counted what the kernels did. Cores are numbered from 0, vector cores behind the largest number of a cube core.
    """
    rate_hz = context.request.sampling.ai_core_hz
    metrics = metric_name(context.request, context.chip)
    if rate_hz is None or context.request.level is Level.L0:
        return GroupRecords()
    if metrics is None:
        # With tasks, the counters of tasks have said it already.
        alone = context.request.level is Level.NONE
        return GroupRecords(notes=counter_notes(context.request, context.chip) if alone else ())
    kinds = _kinds(context, metrics)
    limit = context.chip.platform.counters.first_vector_core
    if limit is not None and kinds[0].number > limit:
        note = f"ai_core_utilization is not written: {context.chip.name} has more cube cores than the {limit} numbers"
        return GroupRecords(notes=(f"{note} that records have for them",))
    times_us = edges_us(context, US_PER_S // rate_hz)
    names = context.chip.platform.counters.sample_records
    if len(names) == 1:
        parts = [_records(context, kind, names[0], times_us) for kind in kinds]
        return GroupRecords(device={names[0]: _in_order(join_records(facts.BY_NAME[names[0]], parts))})
    return GroupRecords(
        device={name: _records(context, kind, name, times_us) for name, kind in zip(names, kinds, strict=False)}
    )


def _kinds(context: RecordContext, metrics: str) -> list[_Cores]:
    """Return the cube (or unified) cores and, where they are apart, the vector cores."""
    chip, counted = context.chip, count_launches(context.simulation, metrics)
    cube, vector = event_codes(metrics, chip)
    both, costs, events = counted.mixed, counted.costs, counted.events
    on_cube, on_vector = (_with(side, both) for side in (~counted.vector_first, counted.vector_first))
    if not chip.split:
        on_cube = np.ones(len(on_cube), bool)
    kinds = [
        _Cores(
            first=0,
            number=chip.cube_cores,
            events=cube,
            launches=counted.launches,
            blocks=np.where(on_cube, costs.block_num, 0),
            cycles=events.aic_total_cycles,
            pmu=events.aic_pmu,
        )
    ]
    if chip.split:
        kinds.append(
            _Cores(
                first=chip.platform.counters.first_vector_core or 0,
                number=chip.vector_cores,
                events=vector,
                launches=counted.launches,
                blocks=np.where(on_vector, costs.aiv_blocks, 0),
                cycles=events.aiv_total_cycles,
                pmu=events.aiv_pmu,
            )
        )
    return kinds


def _with(side: Bools, rows: I64) -> Bools:
    side = side.copy()
    side[rows] = True
    return side


def _records(context: RecordContext, kind: _Cores, name: str, times_us: I64) -> Records:
    simulation = context.simulation
    start = simulation.schedule.kernel_start_ticks[kind.launches] * simulation.tick_ns
    counts = core_counts(
        start,
        start + simulation.kernel_ticks[kind.launches] * simulation.tick_ns,
        kind.blocks,
        np.column_stack([kind.pmu, kind.cycles]),
        cores=kind.number,
        times_ns=times_us * 1000,
    )
    rows = facts.BY_NAME[name].new(len(times_us) * kind.number)
    unix_ns = np.repeat(times_us * 1000 + simulation.base_ns, kind.number)
    if "tick" in (rows.dtype.names or ()):
        rows["tick"] = context.anchors.unix_to_tick(unix_ns)
    else:
        rows["time_ns"] = unix_ns + context.to_raw_ns
    flat = counts.reshape(len(rows), -1)
    rows["events"], rows["task_cycles"] = flat[:, :-1], flat[:, -1]
    rows["event_count"] = len(kind.events)
    rows["core_id"] = np.tile(kind.first + np.arange(kind.number), len(times_us))
    return rows


def _in_order(rows: Records) -> Records:
    """Return the records of both kinds of core by time, then by core."""
    time = rows["tick" if "tick" in (rows.dtype.names or ()) else "time_ns"]
    return np.asarray(rows[np.lexsort((rows["core_id"], time))])
