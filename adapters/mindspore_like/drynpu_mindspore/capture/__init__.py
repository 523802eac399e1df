"""What MindSpore did: launches with their shapes, and the data pipeline."""

from __future__ import annotations

from drynpu_mindspore.capture._capture import Capture, Captured
from drynpu_mindspore.capture._describe import is_backward, primitive_of
from drynpu_mindspore.capture._pipeline import DOCUMENTS, DatasetPipeline, parse_pipeline, read_pipeline
from drynpu_mindspore.capture._pipeline_advice import RAW_COLUMNS, raw_rows, summarise_pipeline

__all__ = [
    "DOCUMENTS",
    "RAW_COLUMNS",
    "Capture",
    "Captured",
    "DatasetPipeline",
    "is_backward",
    "parse_pipeline",
    "primitive_of",
    "raw_rows",
    "read_pipeline",
    "summarise_pipeline",
]
