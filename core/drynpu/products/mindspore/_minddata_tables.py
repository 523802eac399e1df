"""The files of MindSpore's data pipeline to tables (mindspore_profiler.md 11, mindinsight_dashboard.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from drynpu.products._framework_files import read_json_file
from drynpu.products.mindspore._schemas import SCHEMAS

_FIELDS = 5


def load_minddata(directory: Path, notes: list[str]) -> dict[str, pl.DataFrame]:
    """Return the tables ``pipeline_*`` of a ``FRAMEWORK`` directory, as far as its files are there."""
    tables: dict[str, pl.DataFrame] = {}
    pipeline = _document(directory, "pipeline_profiling_*.json", notes)
    if pipeline:
        utilization = _document(directory, "minddata_cpu_utilization_*.json", notes)
        tables["pipeline_ops"] = _operators(pipeline, _cpu(utilization))
        tables["pipeline_cpu"] = _processors(utilization)
    for pattern, is_queue in (("device_queue_profiling_*.txt", True), ("dataset_iterator_profiling_*.txt", False)):
        path = min(directory.glob(pattern), default=None)
        if path is not None:
            tables["pipeline_times"] = _times(path, notes, is_queue=is_queue)
            break
    return tables


def _document(directory: Path, pattern: str, notes: list[str]) -> Mapping[str, Any]:
    path = min(directory.glob(pattern), default=None)
    return {} if path is None else read_json_file(path, notes)


def _operators(pipeline: Mapping[str, object], cpu: Mapping[int, list[float]]) -> pl.DataFrame:
    rows = []
    for op in _entries(pipeline):
        metrics = op.get("metrics")
        queue = metrics.get("output_queue") if isinstance(metrics, Mapping) else None
        queue = queue if isinstance(queue, Mapping) else {}
        rows.append(
            {
                "op_id": op["op_id"],
                "op_type": str(op.get("op_type", "")),
                "num_workers": op.get("num_workers"),
                "children": op.get("children"),
                "queue_sizes": queue.get("size"),
                "queue_length": queue.get("length"),
                "sample_interval": pipeline.get("sampling_interval"),
                "cpu_pct": cpu.get(op["op_id"]),
            }
        )
    return pl.DataFrame(rows, schema=SCHEMAS["pipeline_ops"]).sort("op_id")


def _entries(document: Mapping[str, object]) -> Sequence[Mapping[str, Any]]:
    listed = document.get("op_info")
    return [op for op in listed if isinstance(op, Mapping) and "op_id" in op] if isinstance(listed, list) else []


def _cpu(document: Mapping[str, object]) -> dict[int, list[float]]:
    """Return the percentage of each sample by operator; -1 stands for what is of no operator."""
    by_operator: dict[int, list[float]] = {}
    for op in _entries(document):
        metrics = op.get("metrics")
        if op["op_id"] == -1 or not isinstance(metrics, Mapping):
            continue
        pairs = zip(metrics.get("sys_utilization", ()), metrics.get("user_utilization", ()), strict=False)
        by_operator[op["op_id"]] = [float(system + user) for system, user in pairs]
    return by_operator


def _processors(document: Mapping[str, object]) -> pl.DataFrame:
    """Return what the machine and the process used, by measure."""
    cores, interval = document.get("cpu_processor_num"), document.get("sampling_interval")
    rows = [
        {"owner": owner, "measure": measure, "values": values, "cores": cores, "sample_interval": interval}
        for owner, key in (("machine", "device_info"), ("process", "process_info"))
        if isinstance(measures := document.get(key), Mapping)
        for measure, values in measures.items()
        if isinstance(values, list) and all(isinstance(value, (int, float)) for value in values)
    ]
    return pl.DataFrame(rows, schema=SCHEMAS["pipeline_cpu"])


def _times(path: Path, notes: list[str], *, is_queue: bool) -> pl.DataFrame:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    split = [line.split()[:_FIELDS] for line in lines if line.strip()]
    rows = [[int(word) for word in words] for words in split if len(words) == _FIELDS and all(map(_whole, words))]
    if len(rows) < len(split):
        notes.append(f"{path.name}: {len(split) - len(rows)} lines are not five numbers and were left out")
    schema = SCHEMAS["pipeline_times"]
    columns = {name: [row[place] for row in rows] for place, name in enumerate(list(schema)[:_FIELDS])}
    return pl.DataFrame({**columns, "is_device_queue": [is_queue] * len(rows)}, schema=schema)


def _whole(word: str) -> bool:
    return word.lstrip("-").isdecimal()
