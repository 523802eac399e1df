"""The capture of a MindSpore process: its launches with their shapes, host events, memory and data pipeline."""

from __future__ import annotations

from drynpu_mindspore.capture._capture import Capture
from drynpu_mindspore.capture._captured import CapturedMindSpore, CaptureOptions, Capturing
from drynpu_mindspore.capture._describe import input_texts, is_backward, primitive_of
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._memory import GraphMemory, MemoryModel
from drynpu_mindspore.capture._pipeline import write_pipeline

__all__ = [
    "Capture",
    "CaptureOptions",
    "CapturedMindSpore",
    "Capturing",
    "GraphMemory",
    "GraphStore",
    "MemoryModel",
    "input_texts",
    "is_backward",
    "primitive_of",
    "write_pipeline",
]
