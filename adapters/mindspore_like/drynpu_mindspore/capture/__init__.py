"""What MindSpore did: launches with their shapes, and the data pipeline."""

from __future__ import annotations

from drynpu_mindspore.capture._capture import Capture, CapturedMindSpore
from drynpu_mindspore.capture._describe import input_texts, is_backward, primitive_of
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._memory import GraphMemory, MemoryModel
from drynpu_mindspore.capture._options import CaptureOptions
from drynpu_mindspore.capture._pipeline import DatasetPipeline, parse_pipeline, read_pipeline

__all__ = [
    "Capture",
    "CaptureOptions",
    "CapturedMindSpore",
    "DatasetPipeline",
    "GraphMemory",
    "GraphStore",
    "MemoryModel",
    "input_texts",
    "is_backward",
    "parse_pipeline",
    "primitive_of",
    "read_pipeline",
]
