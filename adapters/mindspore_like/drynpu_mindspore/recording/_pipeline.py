"""The files of the data pipeline in FRAMEWORK (mindspore_profiler.md 11)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drynpu.raw import write_document
from drynpu_mindspore.capture import DatasetPipeline

__all__ = ["write_pipeline"]

_NAMES: Mapping[str, str] = {
    "pipeline": "pipeline_profiling_{}.json",
    "cpu_utilization": "minddata_cpu_utilization_{}.json",
    "device_queue": "device_queue_profiling_{}.txt",
    "dataset_iterator": "dataset_iterator_profiling_{}.txt",
}


def write_pipeline(directory: Path, dataset: DatasetPipeline | None, rank: str) -> None:
    """Write what MindSpore's own profiler told, as it told it; nothing without one. Raises `OutputError`."""
    if dataset is not None:
        for name, text in dataset.texts().items():
            write_document(directory / _NAMES[name].format(rank), text)
