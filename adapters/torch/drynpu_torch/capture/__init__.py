"""Capture of PyTorch operators into arrays: by the native device's recorder, or by Kineto, whose getters are read."""

from __future__ import annotations

from drynpu_torch.capture._capture import Capture, CapturedTorch, Place
from drynpu_torch.capture._chunk import Chunk
from drynpu_torch.capture._columns import ColumnTracer, new_tracer
from drynpu_torch.capture._flops import DEFAULT_FORMULAS, FlopFormula
from drynpu_torch.capture._host_calls import HostCallRecorder
from drynpu_torch.capture._kineto import KinetoTracer
from drynpu_torch.capture._stacks import without_stacks
from drynpu_torch.capture._threads import RecordedThreads
from drynpu_torch.capture._tracer import Tracer

__all__ = [
    "DEFAULT_FORMULAS",
    "Capture",
    "CapturedTorch",
    "Chunk",
    "ColumnTracer",
    "FlopFormula",
    "HostCallRecorder",
    "KinetoTracer",
    "Place",
    "RecordedThreads",
    "Tracer",
    "new_tracer",
    "without_stacks",
]
