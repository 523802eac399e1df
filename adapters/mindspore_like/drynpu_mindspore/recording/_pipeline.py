"""The files of the data pipeline in FRAMEWORK (mindspore_profiler.md 11)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol, runtime_checkable

from drynpu.session import write_document

__all__ = ["PipelineFiles", "write_pipeline"]

_NAMES: Mapping[str, str] = {
    "pipeline": "pipeline_profiling_{}.json",
    "cpu_utilization": "minddata_cpu_utilization_{}.json",
    "device_queue": "device_queue_profiling_{}.txt",
    "dataset_iterator": "dataset_iterator_profiling_{}.txt",
}


@runtime_checkable
class PipelineFiles(Protocol):
    """What MindSpore's own profiler of the data pipeline told."""

    def texts(self) -> Mapping[str, str]:
        """Return the files' content: ``pipeline``, ``cpu_utilization``, ``device_queue`` or ``dataset_iterator``."""
        ...


def write_pipeline(directory: Path, dataset: object | None, rank: str) -> None:
    """Write the files of *dataset* under MindSpore's names; nothing without one. Raises `OutputError`."""
    if not isinstance(dataset, PipelineFiles):
        return
    for kind, text in dataset.texts().items():
        write_document(directory / _NAMES[kind].format(rank), text)
