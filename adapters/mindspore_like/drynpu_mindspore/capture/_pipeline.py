"""
The data pipeline as MindSpore's dataset profiler saw it (mindspore_profiler.md 11, mindinsight_dashboard.md 6, 8).

Nothing of it is modelled: a data pipeline runs on the host beside a device as well. The files are those that MindSpore
writes; a recording keeps them as they are, so that they can be read again later.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

from drynpu import CaptureError
from drynpu.arrays import I64

_FILES: Mapping[str, str] = {
    "pipeline": "pipeline_profiling_{}.json",
    "cpu_utilization": "minddata_cpu_utilization_{}.json",
    "device_queue": "device_queue_profiling_{}.txt",
    "dataset_iterator": "dataset_iterator_profiling_{}.txt",
}
"""Files of the profiler. That of the device's queue is written with data sinking, else the iterator's."""

_TRACE_COLUMNS = 5


@frozen(eq=False, kw_only=True)
class DatasetPipeline:
    """
    One data pipeline; a row (``[n]``) per operator in the order of their ids.

    Samples are taken every ``sampling_interval_ms``. Where an operator has no output queue, ``queue_length`` is -1 and
    ``queue_sizes`` is empty; where nothing is known of its CPU time, ``user_percent`` and ``system_percent`` are.
    """

    op_id: I64
    op_types: tuple[str, ...]
    """As MindSpore writes them: ``BatchOp``."""
    workers: I64
    parent: I64
    """Id of the operator that takes what this one makes; -1 for the root."""
    children: tuple[tuple[int, ...], ...]
    queue_length: I64
    queue_sizes: tuple[I64, ...]
    sampling_interval_ms: int
    cpu_count: int
    """Processors of the machine; 0 if not known."""
    user_percent: tuple[I64, ...]
    """Of all processors together, per operator and sample; likewise ``system_percent``."""
    system_percent: tuple[I64, ...]
    machine: Mapping[str, I64] = field(repr=False)
    """
    The whole machine per sample: user, sys, io, idle_utilization (percent), runnable_process, context_switch_count.
    """
    process: Mapping[str, I64] = field(repr=False)
    """This process per sample: user_utilization, sys_utilization (percent)."""
    trace: I64 = field(repr=False)
    """
    ``[m, 5]``: type, subtype or capacity, step, value, time stamp (ms). Type 0 is a time in ms (subtype 0 fetching a
    batch, 1 pushing it, 2 both), type 1 the size of the queue at that step.
    """
    sinks: bool
    """Whether batches go into a queue of the device (data sinking), so that the trace is the queue's."""
    documents: Mapping[str, str] = field(repr=False)
    """The profiler's files as they are: pipeline, cpu_utilization, and device_queue or dataset_iterator."""

    def __len__(self) -> int:
        return len(self.op_id)

    def texts(self) -> Mapping[str, str]:
        """Return the profiler's files, to be kept in a run directory."""
        return self.documents


def read_pipeline(directory: Path, rank: int | None = None) -> DatasetPipeline | None:
    """
    Read what the dataset profiler left in *directory*; ``None`` if there was no pipeline.

    Files bear the number that ``RANK_ID`` says, or 0; without a *rank* those of any.

    Raises
    ------
    CaptureError
        A file is there that is not what the profiler writes.
    """
    number = "*" if rank is None else rank
    paths = {name: next(directory.glob(file.format(number)), None) for name, file in _FILES.items()}
    return parse_pipeline({name: path.read_text(encoding="utf-8") for name, path in paths.items() if path is not None})


def parse_pipeline(documents: Mapping[str, str]) -> DatasetPipeline | None:
    """
    Return the pipeline that the profiler's files describe, ``None`` without the one of them that lists the operators.

    Parameters
    ----------
    documents:
        As in :class:`DatasetPipeline`.

    Raises
    ------
    CaptureError
        A document is not what the profiler writes.
    """
    if "pipeline" not in documents:
        return None
    pipeline = _json(documents, "pipeline")
    usage = _json(documents, "cpu_utilization")
    try:
        operators = {int(op["op_id"]): op for op in pipeline["op_info"]}
        return _table(dict(sorted(operators.items())), int(pipeline["sampling_interval"]), usage, documents)
    except (KeyError, TypeError, ValueError) as error:
        raise CaptureError(f"pipeline: not what MindSpore's dataset profiler writes ({error!r})") from error


def _json(documents: Mapping[str, str], name: str) -> dict[str, Any]:
    try:
        found = json.loads(documents.get(name) or "{}")
    except ValueError as error:
        raise CaptureError(f"{name}: no JSON document ({error})") from error
    if not isinstance(found, dict):
        raise CaptureError(f"{name}: a {type(found).__name__}, where an object is expected")
    return found


def _table(
    operators: Mapping[int, dict[str, Any]], interval_ms: int, usage: dict[str, Any], documents: Mapping[str, str]
) -> DatasetPipeline:
    children = tuple(tuple(int(child) for child in op.get("children") or ()) for op in operators.values())
    parents = {child: own for own, below in zip(operators, children, strict=True) for child in below}
    queues = [(op.get("metrics") or {}).get("output_queue") or {} for op in operators.values()]
    of_op = {int(op["op_id"]): op.get("metrics") or {} for op in usage.get("op_info") or ()}
    sinks = "device_queue" in documents
    return DatasetPipeline(
        op_id=_column(operators),
        op_types=tuple(str(op["op_type"]) for op in operators.values()),
        workers=_column([int(op["num_workers"]) for op in operators.values()]),
        parent=_column([parents.get(own, -1) for own in operators]),
        children=children,
        queue_length=_column([int(queue.get("length", -1)) for queue in queues]),
        queue_sizes=tuple(_column(queue.get("size") or ()) for queue in queues),
        sampling_interval_ms=interval_ms,
        cpu_count=int(usage.get("cpu_processor_num") or 0),
        user_percent=tuple(_column(of_op.get(own, {}).get("user_utilization") or ()) for own in operators),
        system_percent=tuple(_column(of_op.get(own, {}).get("sys_utilization") or ()) for own in operators),
        machine={name: _column(values) for name, values in (usage.get("device_info") or {}).items()},
        process={name: _column(values) for name, values in (usage.get("process_info") or {}).items()},
        trace=_trace(documents.get("device_queue" if sinks else "dataset_iterator", "")),
        sinks=sinks,
        documents=dict(documents),
    )


def _column(values: Any) -> I64:
    return np.array(list(values), np.int64)


def _trace(text: str) -> I64:
    """Return the lines that are whole."""
    rows = [line.split()[:_TRACE_COLUMNS] for line in text.splitlines()]
    return np.array([row for row in rows if len(row) == _TRACE_COLUMNS], np.int64).reshape(-1, _TRACE_COLUMNS)
