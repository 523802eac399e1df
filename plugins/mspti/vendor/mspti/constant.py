"""The facade of ``mspti.constant``."""

from __future__ import annotations

from drynpu_mspti.constants import (
    MsptiActivityFlag,
    MsptiActivityKind,
    MsptiActivitySourceKind,
    MsptiCommunicationDataType,
    MsptiResult,
)

__all__ = [
    "MsptiActivityFlag",
    "MsptiActivityKind",
    "MsptiActivitySourceKind",
    "MsptiCommunicationDataType",
    "MsptiResult",
]
