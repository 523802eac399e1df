"""The files of the data pipeline in FRAMEWORK (mindspore_profiler.md 11)."""

from __future__ import annotations

from pathlib import Path

from drynpu.session import write_document
from drynpu_mindspore.capture import DOCUMENTS, DatasetPipeline

__all__ = ["write_pipeline"]


def write_pipeline(directory: Path, dataset: DatasetPipeline | None, rank: str) -> None:
    """Write what MindSpore's own profiler told, as it told it; nothing without one. Raises `OutputError`."""
    if dataset is not None:
        for name, text in dataset.documents.items():
            write_document(directory / f"{name}_{rank}{DOCUMENTS[name]}", text)
