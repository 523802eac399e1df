"""
What the vendor's analysis makes of a data pipeline: the columns of ``minddata_pipeline_raw`` and ``_summary``.

Thresholds, texts and roundings are those of MindSpore 2.7.2 (mindspore_profiler.md 12.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from attrs import field, frozen

from drynpu_mindspore.capture._pipeline import DatasetPipeline

__all__ = ["RAW_COLUMNS", "raw_rows", "summarise_pipeline"]

RAW_COLUMNS = (
    "op_id",
    "op_type",
    "num_workers",
    "output_queue_size",
    "output_queue_average_size",
    "output_queue_length",
    "output_queue_usage_rate",
    "sample_interval",
    "parent_id",
    "children_id",
)

_CPU_HIGH, _CPU_LOW = 75.0, 20.0
"""Percent of a processor per worker."""
_LEAF_QUEUE, _SINK_EMPTY, _QUEUE_DROP, _QUEUE_LOW = 50, 60, 50, 10
_NONE = -1
_INLINE = frozenset({"Barrier", "Concat", "EpochCtrl", "Rename", "Repeat", "Shuffle", "Skip", "Take", "Zip"})
"""Operators without workers of their own; never judged."""
_SINK = "DeviceQueue"
_SKIPPED_STEPS = 1
"""The first batch waits for everything to be set up."""


def raw_rows(pipeline: DatasetPipeline) -> list[list[object]]:
    """
    Return the rows of ``minddata_pipeline_raw``: breadth first from operator 0, ``None`` for what does not exist.

    An operator without an output queue is passed over, its children stand in its place; only the root always has a row.
    """
    place = {int(own): row for row, own in enumerate(pipeline.op_id)}
    rows: list[list[object]] = []
    waiting: list[tuple[int, int | None]] = [(0, None)] if 0 in place else []
    while waiting:
        own, parent = waiting.pop(0)
        below = list(_with_queues(pipeline, place, own))
        rows.append(_raw_row(pipeline, place[own], parent, below))
        waiting += [(child, own) for child in below]
    return rows


def _with_queues(pipeline: DatasetPipeline, place: Mapping[int, int], own: int) -> Iterator[int]:
    waiting = list(pipeline.children[place[own]])
    while waiting:
        child = waiting.pop(0)
        if child not in place:
            continue
        if pipeline.queue_length[place[child]] == _NONE:
            waiting += pipeline.children[place[child]]
        else:
            yield child


def _raw_row(pipeline: DatasetPipeline, row: int, parent: int | None, below: list[int]) -> list[object]:
    sizes, length = pipeline.queue_sizes[row].tolist(), int(pipeline.queue_length[row])
    average = sum(sizes) / len(sizes) if sizes else None
    return [
        int(pipeline.op_id[row]),
        pipeline.op_types[row],
        int(pipeline.workers[row]),
        sizes or None,
        average,
        None if length == _NONE else length,
        None if average is None or length <= 0 else average / length,
        pipeline.sampling_interval_ms,
        parent,
        below or None,
    ]


def summarise_pipeline(pipeline: DatasetPipeline) -> dict[str, list[Any]]:
    """Return the keys of ``minddata_pipeline_summary`` with their values, in order; what is unknown is -1."""
    queues = [
        _queue(sizes.tolist(), int(length))
        for sizes, length in zip(pipeline.queue_sizes, pipeline.queue_length, strict=True)
    ]
    names = [text[:-2] for text in pipeline.op_types]
    ids = pipeline.op_id.tolist()
    summary: dict[str, list[Any]] = {
        "op_ids": ids,
        "op_names": names,
        "pipeline_ops": [f"{name}(id={own})" for name, own in zip(names, ids, strict=True)],
        "num_workers": pipeline.workers.tolist(),
        "queue_average_size": [queue[0] for queue in queues],
        "queue_utilization_pct": [queue[1] for queue in queues],
        "queue_empty_freq_pct": [queue[2] for queue in queues],
        "children_ids": [list(below) for below in pipeline.children],
        "parent_id": pipeline.parent.tolist(),
    }
    cpu = _cpu_percent(pipeline)
    if cpu:
        summary["avg_cpu_pct"] = cpu
    summary |= _batch_times(pipeline)
    if cpu:
        per_worker = [
            round(percent / workers if workers and percent >= 0 else _NONE, 2)
            for percent, workers in zip(cpu, summary["num_workers"], strict=True)
        ]
        summary["avg_cpu_pct_per_worker"] = per_worker
        # Ids count the operators from 0; a judgement by position would be wrong otherwise.
        if ids == list(range(len(ids))):
            summary |= _Judge.of(summary).findings()
    return summary


def _queue(sizes: list[int], length: int) -> tuple[float, float, float]:
    """Return average size, percent of the queue in use, percent of the samples in which it was empty."""
    if not sizes:
        return _NONE, _NONE, _NONE
    average = round(sum(sizes) / len(sizes), 2)
    used = round(100 * average / length, 2) if length else _NONE
    return average, used, round(100 * sizes.count(0) / len(sizes), 2)


def _cpu_percent(pipeline: DatasetPipeline) -> list[float]:
    """Return the mean of user and system time of every operator; nothing where the profiler left no CPU times."""
    if "minddata_cpu_utilization" not in pipeline.documents:
        return []
    pairs = zip(pipeline.user_percent, pipeline.system_percent, strict=True)
    sums = [user[: len(system)] + system[: len(user)] for user, system in pairs]
    return [round(float(np.mean(both)), 2) if len(both) else 0 for both in sums]


def _batch_times(pipeline: DatasetPipeline) -> dict[str, list[Any]]:
    """
    Return the average times in ms that a batch took, -1 for none.

    Without data sinking the time between two batches counts as a time of a batch as well, as in the vendor's analysis.
    """
    trace = pipeline.trace
    later = trace[:, 2] > _SKIPPED_STEPS
    times = [trace[later & (trace[:, 0] == 0) & (trace[:, 1] == kind), 3] for kind in range(3)]
    if not pipeline.sinks:
        sizes = np.flatnonzero(later & (trace[:, 0] == 1))
        stamps = trace[sizes, 4]
        before = trace[np.flatnonzero(~later), 4]
        first = before[-1:] if len(before) else np.zeros(1, np.int64)
        times[2] = np.concatenate([times[2], np.diff(stamps, prepend=first)]) if len(stamps) else times[2]
    means = [round(float(np.mean(values)), 3) if len(values) else _NONE for values in times]
    keys = ("per_pipeline_time", "per_push_queue_time", "per_batch_time")
    return {key: [mean] for key, mean in zip(keys, means, strict=True)}


@frozen
class _Judge:
    """Finds the operator that holds the pipeline up; lists are indexed by operator id."""

    names: list[str]
    shown: list[str]
    workers: list[int]
    average: list[float]
    used: list[float]
    empty: list[float]
    children: list[list[int]]
    cpu: list[float] = field()

    @classmethod
    def of(cls, summary: Mapping[str, list[Any]]) -> _Judge:
        return cls(
            names=summary["op_names"],
            shown=summary["pipeline_ops"],
            workers=summary["num_workers"],
            average=summary["queue_average_size"],
            used=summary["queue_utilization_pct"],
            empty=summary["queue_empty_freq_pct"],
            children=summary["children_ids"],
            cpu=summary["avg_cpu_pct_per_worker"],
        )

    def findings(self) -> dict[str, list[Any]]:
        judged = [own for own, name in enumerate(self.names) if name not in _INLINE]
        found: dict[str, list[Any]] = {
            "cpu_analysis_details": [text for own in judged if (text := self._of_cpu(own))],
            "queue_analysis_details": [text for own in judged if (text := self._of_queues(own))],
        }
        # The last word has the operator that is nearest to the root.
        culprits = [(own, text) for own in reversed(judged) if (text := self._hold_up(own))]
        if culprits:
            own, text = culprits[-1]
            found |= {"bottleneck_warning": [self.shown[own]], "bottleneck_suggestion": [text]}
        return {key: texts for key, texts in found.items() if texts}

    def _source(self, own: int) -> int:
        """Return the nearest operator below that has a queue, -1 for none."""
        while self.children[own]:
            own = self.children[own][0]
            if self.average[own] != _NONE:
                return own
        return _NONE

    def _of_cpu(self, own: int) -> str:
        if self.cpu[own] > _CPU_HIGH:
            return self._more_workers(own)
        if self.cpu[own] < _CPU_LOW and self.workers[own] > 1:
            return (
                f"{self.shown[own]} is using {self.cpu[own]}% CPU per worker. Using "
                f"num_parallel_workers={self.workers[own]} might not bring as much benefit "
                f"due to low CPU usage per worker."
            )
        return ""

    def _of_queues(self, own: int) -> str:
        source, out = self._source(own), self.used[own]
        if self.names[own] == "Batch":
            return ""
        if source == _NONE:
            if out == _NONE or out > _LEAF_QUEUE:
                return ""
            return (
                f"Leaf op {self.shown[own]} is using {out}% of its output queue. "
                f"Setting num_parallel_workers>{self.workers[own]} might speed up I/O."
            )
        if self.names[own] == _SINK:
            return self._starved(own, self.empty[source]) if self.empty[source] > _SINK_EMPTY else ""
        drops = _NONE not in (out, self.used[source]) and self.used[source] - out > _QUEUE_DROP
        return self._slower_than(own, source) if drops else ""

    def _hold_up(self, own: int) -> str:
        if self.names[own] == _SINK:
            return ""
        if self.cpu[own] > _CPU_HIGH:
            return self._more_workers(own)
        source = self._source(own)
        if self.cpu[own] >= _CPU_LOW or source == _NONE:
            return ""
        given = self.used[source]
        if given >= _QUEUE_LOW and self.used[own] - given <= _QUEUE_DROP:
            return ""
        return (
            f"{self.shown[own]} has low CPU utilization per worker of {self.cpu[own]}% and abnormal queue usage. "
            f"Try increasing prefetch_size."
        )

    def _more_workers(self, own: int) -> str:
        return (
            f"{self.shown[own]} is using {self.cpu[own]}% CPU per worker. "
            f"Setting num_parallel_workers>{self.workers[own]} might bring extra performance."
        )

    def _starved(self, own: int, percent: float) -> str:
        return (
            f"{self.shown[own]}'s input queue is empty {percent}% of the time. "
            f"This might indicate dataset bottlenecks. Hence host cannot keep up with the device {percent}% of the time. "
            f"Device waits whenever input queue is empty."
        )

    def _slower_than(self, own: int, source: int) -> str:
        return (
            f"{self.shown[own]}'s input queue usage={self.used[source]}% is greater than output queue "
            f"usage={self.used[own]}%. This indicates child op {self.shown[source]} might be producing faster than its "
            f"parent {self.shown[own]} can consume. If this op has low CPU utilization, "
            f"try increasing prefetch_size or increasing num_workers."
        )
