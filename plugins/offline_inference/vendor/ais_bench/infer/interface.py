"""Sessions as scripts use them."""

from __future__ import annotations

import aclruntime

from drynpu_offline_inference.bench import LOGGER as logger
from drynpu_offline_inference.bench import CopyTimesBase, InferSessionBase, MultiDeviceBase

__all__ = ["InferSession", "MemorySummary", "MultiDeviceSession", "logger"]


class InferSession(InferSessionBase):
    runtime = aclruntime


class MultiDeviceSession(MultiDeviceBase):
    session_class = InferSession


class MemorySummary(CopyTimesBase):
    runtime = aclruntime
