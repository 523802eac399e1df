"""Races between streams: two streams use a tensor, and nothing orders them (``TORCH_NPU_SANITIZER``)."""

from __future__ import annotations

from drynpu_races._accesses import Accesses
from drynpu_races._dispatch import SanitizerMode
from drynpu_races._sanitizer import CheckKind, Sanitizer, sanitizer
from drynpu_races._streams_of_memory import CrossStreamUse, MissingRecordStreamError, StorageUse, StreamsOfMemory

__all__ = [
    "Accesses",
    "CheckKind",
    "CrossStreamUse",
    "MissingRecordStreamError",
    "Sanitizer",
    "SanitizerMode",
    "StorageUse",
    "StreamsOfMemory",
    "sanitizer",
]
