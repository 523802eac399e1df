"""``torch_npu.npu._stream_check``: the vendor's names of what looks for races between streams."""

from __future__ import annotations

from drynpu_races._accesses import Accesses as NPUArgumentHandler
from drynpu_races._dispatch import SanitizerMode as NPUSanitizerDispatchMode
from drynpu_races._streams_of_memory import CrossStreamUse as CrossStreamUsage
from drynpu_races._streams_of_memory import MissingRecordStreamError
from drynpu_races._streams_of_memory import StorageUse as NPUTensorInfo
from drynpu_races._streams_of_memory import StreamsOfMemory as NPURecordStreamHandler

__all__ = [
    "CrossStreamUsage",
    "MissingRecordStreamError",
    "NPUArgumentHandler",
    "NPURecordStreamHandler",
    "NPUSanitizerDispatchMode",
    "NPUTensorInfo",
]
