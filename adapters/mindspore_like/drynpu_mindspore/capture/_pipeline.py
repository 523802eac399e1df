"""
The files of MindSpore's dataset profiler (mindspore_profiler.md 11).

Nothing of a data pipeline is modelled, since it runs on the host beside a device as well. A recording keeps the files
as MindSpore wrote them; ``drynpu.layouts.framework_mindspore`` describes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drynpu.raw import write_document

# The file of the device's queue is written with data sinking, else the iterator's.
_FILES: Mapping[str, str] = {
    "pipeline": "pipeline_profiling_{}.json",
    "cpu_utilization": "minddata_cpu_utilization_{}.json",
    "device_queue": "device_queue_profiling_{}.txt",
    "dataset_iterator": "dataset_iterator_profiling_{}.txt",
}


def read_pipeline(directory: Path) -> dict[str, str]:
    """
    Return the texts of the profiler's files in *directory* by name; nothing if there was no pipeline.

    Files bear the number that ``RANK_ID`` says, or 0.
    """
    paths = {name: next(directory.glob(file.format("*")), None) for name, file in _FILES.items()}
    texts = {name: path.read_text(encoding="utf-8") for name, path in paths.items() if path is not None}
    return texts if "pipeline" in texts else {}


def write_pipeline(directory: Path, texts: Mapping[str, str], rank: str) -> None:
    """Write the files of the dataset profiler into *directory* under the number of a rank. Raises `OutputError`."""
    for name, text in texts.items():
        write_document(directory / _FILES[name].format(rank), text)
