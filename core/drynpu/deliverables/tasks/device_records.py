"""Device side of a PROF directory: task starts and ends, step marks, memory and frequency samples."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from drynpu.arrays import I64, Records
from drynpu.deliverables._host_launches import number_tasks
from drynpu.deliverables.tasks.task_forms import MIXED, TaskRuns, flip_records, task_records
from drynpu.kernels import Copy, KernelSpec, TaskType
from drynpu.layouts import graph as graph_facts
from drynpu.layouts.graph import STEP_END_TAG, STEP_START_TAG
from drynpu.layouts.schedulers import SqeType
from drynpu.raw import MODEL_ID_NONE, ClockAnchors
from drynpu.simulate import DEFAULT_STREAM, Simulation

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
    platform = simulation.costs.chip.platform
    stream, task_id, batch = number_tasks(simulation).executed
    start = simulation.schedule.kernel_start_ticks + anchors.device_cntvct
    kernels = simulation.lowered.kernels
    types = [int(_sqe_type(*pair)) for pair in zip(kernels, simulation.task_types, strict=True)]
    runs = TaskRuns(
        stream=stream,
        task_id=task_id,
        batch_id=batch,
        start=start,
        end=start + simulation.kernel_ticks,
        sqe=np.array(types or [0])[simulation.lowered.launch_kernel],
        sub_task=_sub_task_types(simulation),
    )
    return {**task_records(runs, platform), "ts_track_flip": flip_records(runs, platform)}


def _sub_task_types(simulation: Simulation) -> I64:
    """Return the type of the sub-task that each launch is, 0 where it is none; shape ``[m]``."""
    mixed = simulation.costs.chip.platform.tasks.mixed_sub_tasks
    types = np.array([MIXED.get(kind, 0) if mixed else 0 for kind in simulation.task_types] or [0], np.int64)
    return types[simulation.lowered.launch_kernel]


def _sqe_type(kernel: KernelSpec, task_type: TaskType) -> SqeType:
    if kernel.copy in (Copy.HOST_TO_DEVICE, Copy.DEVICE_TO_HOST):
        return SqeType.PCIE_DMA
    return _SQE_TYPES[task_type]


def step_records(steps: tuple[tuple[int, int, int], ...], anchors: ClockAnchors) -> Records:
    """
    Mark explicit steps ``(step id, start_ns, end_ns)`` in the step trace (tags 60000 and 60001, cann_msprof.md 5).

    Times are on the recording's host timeline (Unix ns). What began before the device's counter did is marked
    at its first tick: no device writes an earlier one.
    """
    table = np.array(steps, np.int64).reshape(-1, 3)
    rows = graph_facts.TS_TRACK_STEP.new(2 * len(table))
    rows["tick"] = np.maximum(anchors.unix_to_tick(table[:, 1:].reshape(-1)), 0)
    rows["index_id"] = np.repeat(table[:, 0], 2)
    rows["tag_id"] = np.tile([STEP_START_TAG, STEP_END_TAG], len(table))
    rows["model_id"], rows["stream_id"] = MODEL_ID_NONE, DEFAULT_STREAM
    return rows
