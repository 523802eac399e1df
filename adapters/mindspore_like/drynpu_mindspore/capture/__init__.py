"""The capture of a MindSpore process: its launches with their shapes, host events, memory and data pipeline."""

from __future__ import annotations

from drynpu_mindspore.capture._capture import Capture
from drynpu_mindspore.capture._captured import CapturedMindSpore, CapturedPart, CaptureOptions, Capturing
from drynpu_mindspore.capture._describe import input_texts, is_backward, primitive_of
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._memory import GraphMemory, MemoryModel, MemoryProgress
from drynpu_mindspore.capture._pipeline import write_pipeline

__all__ = [
    "Capture",
    "CaptureOptions",
    "CapturedMindSpore",
    "CapturedPart",
    "Capturing",
    "GraphMemory",
    "GraphStore",
    "MemoryModel",
    "MemoryProgress",
    "input_texts",
    "is_backward",
    "primitive_of",
    "write_pipeline",
]
