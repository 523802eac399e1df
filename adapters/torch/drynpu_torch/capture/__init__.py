"""Capture of PyTorch operators by Kineto, whose events are read by their getters into arrays."""

from __future__ import annotations

from drynpu_torch.capture._capture import Capture, CapturedTorch
from drynpu_torch.capture._flops import DEFAULT_FORMULAS, FlopFormula
from drynpu_torch.capture._garbage import without_collections
from drynpu_torch.capture._host_calls import HostCallRecorder
from drynpu_torch.capture._kineto import Chunk, KinetoTracer
from drynpu_torch.capture._threads import RecordedThreads

__all__ = [
    "DEFAULT_FORMULAS",
    "Capture",
    "CapturedTorch",
    "Chunk",
    "FlopFormula",
    "HostCallRecorder",
    "KinetoTracer",
    "RecordedThreads",
    "without_collections",
]
