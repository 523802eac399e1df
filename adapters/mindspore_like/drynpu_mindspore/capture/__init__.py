"""The capture of a MindSpore process: its launches with their shapes, host events, memory and data pipeline."""

from __future__ import annotations

from drynpu_mindspore.capture._capture import Capture
from drynpu_mindspore.capture._captured import CapturedMindSpore, CapturedPart, CaptureOptions, Capturing
from drynpu_mindspore.capture._describe import input_texts, is_backward, node_signature, primitive_of
from drynpu_mindspore.capture._graph_calls import GraphCalls
from drynpu_mindspore.capture._graphs import GraphStore
from drynpu_mindspore.capture._ir import GraphNode
from drynpu_mindspore.capture._lives import JOIN, PICK, lives_of
from drynpu_mindspore.capture._memory import GraphMemory, MemoryModel, MemoryProgress
from drynpu_mindspore.capture._pipeline import write_pipeline
from drynpu_mindspore.capture._runs import GraphRuns, find_runs
from drynpu_mindspore.capture._wiring import KernelGraph, read_kernel_graphs

__all__ = [
    "JOIN",
    "PICK",
    "Capture",
    "CaptureOptions",
    "CapturedMindSpore",
    "CapturedPart",
    "Capturing",
    "GraphCalls",
    "GraphMemory",
    "GraphNode",
    "GraphRuns",
    "GraphStore",
    "KernelGraph",
    "MemoryModel",
    "MemoryProgress",
    "find_runs",
    "input_texts",
    "is_backward",
    "lives_of",
    "node_signature",
    "primitive_of",
    "read_kernel_graphs",
    "write_pipeline",
]
