"""``torch_npu.npu._stream_check``: the vendor's names of what looks for races between streams."""

from __future__ import annotations

from drynpu_races import Accesses as NPUArgumentHandler
from drynpu_races import CrossStreamUse as CrossStreamUsage
from drynpu_races import MissingRecordStreamError
from drynpu_races import SanitizerMode as NPUSanitizerDispatchMode
from drynpu_races import StorageUse as NPUTensorInfo
from drynpu_races import StreamsOfMemory as NPURecordStreamHandler

__all__ = [
    "CrossStreamUsage",
    "MissingRecordStreamError",
    "NPUArgumentHandler",
    "NPURecordStreamHandler",
    "NPUSanitizerDispatchMode",
    "NPUTensorInfo",
]
