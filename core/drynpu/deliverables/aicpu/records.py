"""AI CPU: how its kernels spent their time, and the data queue it serves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from drynpu.arrays import I64, U64, Records
from drynpu.deliverables._host_launches import number_tasks
from drynpu.deliverables._requested import requested_deliverables
from drynpu.deliverables.aicpu import facts
from drynpu.deliverables.aicpu.facts import UNKNOWN_SIZE
from drynpu.deliverables.record_context import GroupRecords, RecordContext
from drynpu.device.samplers.aicpu import split_aicpu
from drynpu.kernels import TaskType
from drynpu.options import Level
from drynpu.simulate import DatasetEvent

_GET_NEXT_DEQUEUE_WAIT = next(tag for tag, name in facts.QUEUE_NODES.items() if name == "GetNext_dequeue_wait")
_ANSWER_TICKS = 1
"""Assumed: the least that lies between the last step of the AI CPU and the end of its task."""


def build(context: RecordContext) -> GroupRecords:
    """
    Return aicpu.data: AI CPU kernels with their parts, queue events, and waits for the queue.

    The parts of a kernel are modelled (``device.samplers.aicpu``); the task as a whole comes from the schedule. Queue
    events are measured host times on the recording's timeline; the 910 alone records them (cann_msprof.md 3).
    """
    if not context.request.switches.aicpu or context.request.level is Level.NONE:
        return GroupRecords()
    device = {"aicpu_node": _kernels(context), "aicpu_queue": _queue_waits(context)}
    if "dp" in requested_deliverables(context, facts.OPTION):
        device["aicpu_data_preparation"] = _queue_events(context)
    return GroupRecords(device=device)


def _kernels(context: RecordContext) -> Records:
    simulation = context.simulation
    lowered = simulation.lowered
    is_aicpu = np.array([kind is TaskType.AI_CPU for kind in simulation.task_types] or [False])
    launches = np.flatnonzero(is_aicpu[lowered.launch_kernel])
    rows = facts.AICPU_NODE.new(len(launches))
    if not len(launches):
        return rows
    kernel = lowered.launch_kernel[launches]
    split = split_aicpu(lowered.kernels)
    submit = simulation.schedule.kernel_start_ticks[launches]
    # The scheduler logs the end of the task after the AI CPU has stopped, and the parser finds the task by that.
    ticks = simulation.kernel_ticks[launches]
    end = submit + ticks - _ANSWER_TICKS
    dispatched = submit + np.rint(ticks * split.dispatch[kernel]).astype(np.int64)
    run = submit + np.rint(ticks * (split.dispatch + split.scheduling)[kernel]).astype(np.int64)
    copying = end - np.rint(ticks * split.copy[kernel]).astype(np.int64)
    computing = copying - np.rint(ticks * split.compute[kernel]).astype(np.int64)
    stream, task_id, _ = number_tasks(simulation).executed
    rows["stream_id"], rows["task_id"] = stream[launches], task_id[launches]
    rows["timestamp"] = run + context.anchors.device_cntvct
    for name, tick in (
        ("run_start", run),
        ("compute_start", computing),
        ("memcpy_start", copying),
        ("memcpy_end", end),
        ("run_end", end),
    ):
        rows[f"{name}_us"] = _monotonic_us(context, tick)
    for name, tick in (
        ("run_start", run),
        ("run_end", end),
        ("submit", submit),
        ("schedule", dispatched),
        ("before_run", run),
        ("after_run", end),
    ):
        rows[f"{name}_tick"] = tick + context.anchors.device_cntvct
    rows["device_id"] = context.destination.device_id
    rows["dispatch_us"] = np.rint((dispatched - submit) * simulation.tick_ns / 1000)
    rows["total_us"] = np.rint(ticks * simulation.tick_ns / 1000)
    return rows


def _monotonic_us(context: RecordContext, tick: I64) -> I64:
    """Return ticks after the base of the recording as whole microseconds of the monotonic clock."""
    unix_ns = context.simulation.base_ns + np.rint(tick * context.simulation.tick_ns).astype(np.int64)
    return np.asarray((unix_ns + context.to_raw_ns) // 1000, np.int64)


def _queue_events(context: RecordContext) -> Records:
    events = context.recording.dataset
    rows = facts.AICPU_DATA_PREPARATION.new(len(events))
    time = context.simulation.time_map(np.array([event.time_ns for event in events], np.int64))
    rows["timestamp"] = time + context.to_raw_ns
    rows["index"] = np.arange(len(events))
    rows["size"] = _sizes(events)
    # Longer texts are cut: the record has no more room.
    rows["action"] = [event.action.encode() for event in events]
    rows["source"] = [event.source.encode() for event in events]
    return rows


def _sizes(events: Sequence[DatasetEvent]) -> U64:
    return np.array([UNKNOWN_SIZE if event.buffered is None else event.buffered for event in events], np.uint64)


def _queue_waits(context: RecordContext) -> Records:
    waits = [event for event in context.recording.dataset if event.duration_ns > 0]
    rows = facts.AICPU_QUEUE.new(len(waits))
    begin = context.simulation.time_map(np.array([event.time_ns for event in waits], np.int64)) + context.to_raw_ns
    end = begin + np.array([event.duration_ns for event in waits], np.int64)
    rows["node_tag"] = _GET_NEXT_DEQUEUE_WAIT
    rows["queue_size"] = _sizes(waits)
    rows["start_us"], rows["end_us"] = begin // 1000, end // 1000
    rows["timestamp"] = context.anchors.unix_to_tick(begin - context.to_raw_ns)
    return rows
