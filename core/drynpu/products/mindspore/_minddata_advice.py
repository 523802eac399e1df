"""What to do about a data pipeline: rules on CPU use and queues (mindspore_profiler.md 12.4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attrs import frozen

# Thresholds in percent, which are MindSpore's own (mindspore_profiler.md 12.4).
_CPU_HIGH, _CPU_LOW = 75.0, 20.0
_LEAF_QUEUE_LOW = 50
_DEVICE_QUEUE_EMPTY = 60
_QUEUE_DIFFERENCE = 50
_IN_QUEUE_LOW = 10
_NOT_JUDGED = frozenset({"Barrier", "Concat", "EpochCtrl", "Rename", "Repeat", "Shuffle", "Skip", "Take", "Zip"})
"""Operators that work on one thread whatever ``num_parallel_workers`` says."""
_DEVICE_QUEUE, _BATCH = "DeviceQueue", "Batch"
# The summary has -1 where nothing is known, and no operator has this number.
_NONE = -1


@frozen(kw_only=True)
class Pipeline:
    """Lists of minddata_pipeline_summary, an entry per operator; -1 where something is not known."""

    op_ids: Sequence[int]
    names: Sequence[str]
    shown: Sequence[str]
    workers: Sequence[int]
    average: Sequence[float]
    full_pct: Sequence[float]
    empty_pct: Sequence[float]
    children: Sequence[Sequence[int]]
    cpu_pct: Sequence[float]
    """Per worker."""

    @classmethod
    def from_summary(cls, summary: Mapping[str, Sequence[Any]]) -> Pipeline:
        """Take the lists from the summary."""
        return cls(
            op_ids=summary["op_ids"],
            names=summary["op_names"],
            shown=summary["pipeline_ops"],
            workers=summary["num_workers"],
            average=summary["queue_average_size"],
            full_pct=summary["queue_utilization_pct"],
            empty_pct=summary["queue_empty_freq_pct"],
            children=summary["children_ids"],
            cpu_pct=summary["avg_cpu_pct_per_worker"],
        )

    def feeder(self, op: int) -> int:
        """Return the first operator below *op* that has a queue, following first children; -1 if there is none."""
        while op != _NONE and self.children[op]:
            op = self.children[op][0]
            if self.average[op] != _NONE:
                return op
        return _NONE


def advice(pipeline: Pipeline) -> dict[str, list[str]]:
    """Return what stands out, and the operator that holds the others up; a key exists only if it has something."""
    judged = [op for op in pipeline.op_ids if pipeline.names[op] not in _NOT_JUDGED]
    remarks: dict[str, list[str]] = {}
    try:
        for key, rule in (("cpu_analysis_details", _cpu_details), ("queue_analysis_details", _queue_details)):
            details = [text for op in judged if (text := rule(pipeline, op))]
            if details:
                remarks[key] = details
        bottleneck = _bottleneck(pipeline, judged)
    except IndexError:  # numbers with gaps: lists by number do not hold then
        return {}
    if bottleneck is not None:
        remarks["bottleneck_warning"], remarks["bottleneck_suggestion"] = [bottleneck[0]], [bottleneck[1]]
    return remarks


def _high_cpu(pipeline: Pipeline, op: int) -> str:
    return (
        f"{pipeline.shown[op]} is using {pipeline.cpu_pct[op]}% CPU per worker. "
        f"Setting num_parallel_workers>{pipeline.workers[op]} might bring extra performance."
    )


def _cpu_details(pipeline: Pipeline, op: int) -> str:
    cpu = pipeline.cpu_pct[op]
    if cpu > _CPU_HIGH and pipeline.names[op]:
        return _high_cpu(pipeline, op)
    if cpu < _CPU_LOW and pipeline.workers[op] > 1:
        return (
            f"{pipeline.shown[op]} is using {cpu}% CPU per worker. Using num_parallel_workers={pipeline.workers[op]} "
            "might not bring as much benefit due to low CPU usage per worker."
        )
    return ""


def _queue_details(pipeline: Pipeline, op: int) -> str:
    if pipeline.names[op] == _BATCH:
        return ""
    feeder, full = pipeline.feeder(op), pipeline.full_pct[op]
    rule: Callable[[Pipeline, int, int], str] | None = None
    if feeder == _NONE and full != _NONE:
        rule = _leaf
    elif pipeline.names[op] == _DEVICE_QUEUE and feeder != _NONE:
        rule = _device_queue
    elif feeder != _NONE and full != _NONE:
        rule = _inner
    return "" if rule is None else rule(pipeline, op, feeder)


def _leaf(pipeline: Pipeline, op: int, _: int) -> str:
    if pipeline.full_pct[op] > _LEAF_QUEUE_LOW:
        return ""
    return (
        f"Leaf op {pipeline.shown[op]} is using {pipeline.full_pct[op]}% of its output queue. "
        f"Setting num_parallel_workers>{pipeline.workers[op]} might speed up I/O."
    )


def _device_queue(pipeline: Pipeline, op: int, feeder: int) -> str:
    empty = pipeline.empty_pct[feeder]
    if empty <= _DEVICE_QUEUE_EMPTY:
        return ""
    return (
        f"{pipeline.shown[op]}'s input queue is empty {empty}% of the time. This might indicate dataset bottlenecks. "
        f"Hence host cannot keep up with the device {empty}% of the time. Device waits whenever input queue is empty."
    )


def _inner(pipeline: Pipeline, op: int, feeder: int) -> str:
    before, after = pipeline.full_pct[feeder], pipeline.full_pct[op]
    if before == _NONE or before - after <= _QUEUE_DIFFERENCE:
        return ""
    return (
        f"{pipeline.shown[op]}'s input queue usage={before}% is greater than output queue usage={after}%. "
        f"This indicates child op {pipeline.shown[feeder]} might be producing faster than its parent "
        f"{pipeline.shown[op]} can consume. If this op has low CPU utilization, try increasing prefetch_size or "
        "increasing num_workers."
    )


def _bottleneck(pipeline: Pipeline, judged: Sequence[int]) -> tuple[str, str] | None:
    """Return the operator nearest to the root that holds the others up, and what to do; ``None`` if none does."""
    for op in judged:
        if pipeline.names[op] == _DEVICE_QUEUE:
            continue
        cpu, feeder = pipeline.cpu_pct[op], pipeline.feeder(op)
        if cpu > _CPU_HIGH:
            return pipeline.shown[op], _high_cpu(pipeline, op)
        if cpu >= _CPU_LOW or feeder == _NONE:
            continue
        before = pipeline.full_pct[feeder]
        if before < _IN_QUEUE_LOW or pipeline.full_pct[op] - before > _QUEUE_DIFFERENCE:
            text = (
                f"{pipeline.shown[op]} has low CPU utilization per worker of {cpu}% and abnormal queue usage. "
                "Try increasing prefetch_size."
            )
            return pipeline.shown[op], text
    return None
