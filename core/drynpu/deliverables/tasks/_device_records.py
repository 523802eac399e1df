"""Device side of a PROF directory: task starts and ends, step marks, memory and frequency samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from drynpu.arrays import I64, U16, Records
from drynpu.deliverables.graph import facts as graph_facts
from drynpu.deliverables.graph.facts import STEP_END_TAG, STEP_START_TAG
from drynpu.deliverables.tasks import facts
from drynpu.deliverables.tasks._host_records import task_numbers
from drynpu.deliverables.tasks.facts import SqeType, StarsFunction
from drynpu.kernels import Copy, KernelSpec, TaskType
from drynpu.raw import MODEL_ID_NONE, ClockAnchors, encode_stream_task, join_records, pack_stars_header
from drynpu.simulate._inputs import DEFAULT_STREAM
from drynpu.simulate._memory import Simulation

_SQE_TYPES: Mapping[TaskType, SqeType] = {
    TaskType.AI_CORE: SqeType.AI_CORE,
    TaskType.AI_VECTOR_CORE: SqeType.AIV,
    TaskType.MIX_AIC: SqeType.AI_CORE,
    TaskType.MIX_AIV: SqeType.AIV,
    TaskType.AI_CPU: SqeType.AI_CPU,
    TaskType.DSA: SqeType.DSA,
    TaskType.MEMCPY: SqeType.SDMA,
}


def device_records(simulation: Simulation, anchors: ClockAnchors) -> dict[str, Records]:
    """Return when tasks ran and where their ids began again, by record kind; ticks are raw."""
    task_id, batch = task_numbers(simulation)
    start = simulation.schedule.kernel_start_ticks + anchors.device_cntvct
    return {
        "stars_soc": _stars(simulation, task_id, start),
        "ts_track_flip": _flips(simulation, task_id, batch, start),
    }


def _sqe_type(kernel: KernelSpec, task_type: TaskType) -> SqeType:
    if kernel.copy in (Copy.HOST_TO_DEVICE, Copy.DEVICE_TO_HOST):
        return SqeType.PCIE_DMA
    return _SQE_TYPES[task_type]


def _stars(simulation: Simulation, task_id: U16, start: I64) -> Records:
    kernels = simulation.lowered.kernels
    types = [int(_sqe_type(*of)) for of in zip(kernels, simulation.task_types, strict=True)]
    sqe = np.array(types or [0])[simulation.lowered.launch_kernel]
    halves = []
    for function, tick in (
        (StarsFunction.TASK_START, start),
        (StarsFunction.TASK_END, start + simulation.kernel_ticks),
    ):
        rows = facts.STARS_SOC.new(len(start))
        rows["stream_id"], rows["task_id"] = encode_stream_task(simulation.stream, task_id)
        rows["tick"] = tick
        rows["header"] = pack_stars_header(int(function), np.arange(len(start)), sqe)
        halves.append(rows)
    both = join_records(facts.STARS_SOC, halves)
    # On a tie the end of one task comes before the start of the next.
    ending = np.concatenate([np.ones(len(start)), np.zeros(len(start))])
    return np.asarray(both[np.lexsort((ending, both["tick"]))])


def _flips(simulation: Simulation, task_id: U16, batch: U16, start: I64) -> Records:
    turns = np.flatnonzero((task_id == 0) & (batch > 0))
    rows = facts.TS_TRACK_FLIP.new(len(turns))
    rows["tick"], rows["stream_id"] = start[turns], simulation.stream[turns]
    rows["flip_number"], rows["task_id"] = batch[turns], task_id[turns]
    return rows


def step_records(steps: tuple[tuple[int, int, int], ...], anchors: ClockAnchors) -> Records:
    """
    Mark explicit steps ``(step id, start_ns, end_ns)`` in the step trace (tags 60000 and 60001, cann_msprof.md 5).

    Times are those of the recording's host timeline (Unix ns). What began before the device's counter did is marked
    at its first tick: no device writes an earlier one.
    """
    table = np.array(steps, np.int64).reshape(-1, 3)
    rows = graph_facts.TS_TRACK_STEP.new(2 * len(table))
    rows["tick"] = np.maximum(anchors.unix_to_tick(table[:, 1:].reshape(-1)), 0)
    rows["index_id"] = np.repeat(table[:, 0], 2)
    rows["tag_id"] = np.tile([STEP_START_TAG, STEP_END_TAG], len(table))
    rows["model_id"], rows["stream_id"] = MODEL_ID_NONE, DEFAULT_STREAM
    return rows
