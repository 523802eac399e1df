"""Device side of a PROF directory: task starts and ends, step marks, memory and frequency samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from drynpu.deliverables.frequency import facts as frequency_facts
from drynpu.deliverables.graph import facts as graph_facts
from drynpu.deliverables.npu_memory import facts as npu_memory_facts
from drynpu.deliverables.tasks import facts
from drynpu.deliverables.tasks._host_records import task_numbers
from drynpu.deliverables.tasks.facts import SqeType, StarsFunction
from drynpu.kernels import Copy, KernelSpec, TaskType
from drynpu.platforms import Chip
from drynpu.raw import MODEL_ID_NONE, ClockAnchors, encode_stream_task, pack_stars_header
from drynpu.simulate._inputs import DEFAULT_STREAM
from drynpu.simulate._memory import Simulation
from drynpu.simulate._rows import join_records

__all__ = ["MEMORY_HZ", "device_records", "step_records"]

I64 = npt.NDArray[np.int64]
Records = npt.NDArray[Any]

_SQE_TYPES: Mapping[TaskType, SqeType] = {
    TaskType.AI_CORE: SqeType.AI_CORE,
    TaskType.AI_VECTOR_CORE: SqeType.AIV,
    TaskType.MIX_AIC: SqeType.AI_CORE,
    TaskType.MIX_AIV: SqeType.AIV,
    TaskType.AI_CPU: SqeType.AI_CPU,
    TaskType.DSA: SqeType.DSA,
    TaskType.MEMCPY: SqeType.SDMA,
}
_STEP_START, _STEP_END = 60_000, 60_001
_APP_MODULE = 33
"""ENUM_MODULE id of APP (cann_msprof.md 4.6): what the process asked for."""
MEMORY_HZ = 50
"""Rate of the memory samples under profile_memory where nothing else asks for one (torch_npu_profiler.md 1.6)."""


def device_records(
    simulation: Simulation, chip: Chip, anchors: ClockAnchors, *, memory_hz: int | None
) -> dict[str, Records]:
    """
    Return the records of every device family but counters and step marks, keyed by family name; ticks are raw.

    ``memory_hz`` is the rate of memory samples; None: none are taken.
    """
    task_id, batch = task_numbers(simulation)
    start = simulation.schedule.kernel_start_ticks + anchors.device_cntvct
    records = {
        "stars_soc": _stars(simulation, task_id, start),
        "ts_track_flip": _flips(simulation, task_id, batch, start),
        "lpm_freq": _frequency(chip, anchors.device_cntvct),
    }
    if memory_hz is not None:
        records |= _memory_samples(simulation, anchors, memory_hz)
    return records


def _sqe_type(kernel: KernelSpec, task_type: TaskType) -> SqeType:
    if kernel.copy in (Copy.HOST_TO_DEVICE, Copy.DEVICE_TO_HOST):
        return SqeType.PCIE_DMA
    return _SQE_TYPES[task_type]


def _stars(simulation: Simulation, task_id: npt.NDArray[np.uint16], start: I64) -> Records:
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


def _flips(
    simulation: Simulation, task_id: npt.NDArray[np.uint16], batch: npt.NDArray[np.uint16], start: I64
) -> Records:
    turns = np.flatnonzero((task_id == 0) & (batch > 0))
    rows = facts.TS_TRACK_FLIP.new(len(turns))
    rows["tick"], rows["stream_id"] = start[turns], simulation.stream[turns]
    rows["flip_number"], rows["task_id"] = batch[turns], task_id[turns]
    return rows


def _frequency(chip: Chip, device_cntvct: int) -> Records:
    rows = frequency_facts.LPM_FREQ.new(1)
    rows["count"] = 1
    rows["points"][0, 0] = (device_cntvct, chip.aic_mhz)
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
    rows["tag_id"] = np.tile([_STEP_START, _STEP_END], len(table))
    rows["model_id"], rows["stream_id"] = MODEL_ID_NONE, DEFAULT_STREAM
    return rows


def _memory_samples(simulation: Simulation, anchors: ClockAnchors, rate_hz: int) -> dict[str, Records]:
    """Sample what the allocator has reserved; nothing else of the device's memory is known, so nothing is added."""
    memory = simulation.memory
    # On the grid of the device's counter, from its first tick in the recording to its last.
    begin, after = anchors.unix_to_tick([simulation.begin_ns, simulation.end_ns + 1]).tolist()
    ticks = np.arange(begin, after, max(1, anchors.device_hz // rate_hz))
    reached = np.searchsorted(simulation.warp(memory.time_ns), anchors.tick_to_unix(ticks), side="right")
    reserved = np.concatenate([[memory.reserved_before_bytes], memory.reserved_bytes])[reached]
    total = npu_memory_facts.NPU_MEM.new(len(ticks))
    total["hbm_bytes"], total["tick"] = reserved, ticks
    module = npu_memory_facts.NPU_MODULE_MEM.new(len(ticks))
    module["module_id"], module["tick"], module["reserved_bytes"] = _APP_MODULE, ticks, reserved
    return {"npu_mem": total, "npu_module_mem": module}
