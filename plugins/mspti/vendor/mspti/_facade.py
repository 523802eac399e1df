"""The body of the facade; it runs only where no genuine mspti is found."""

from __future__ import annotations

from drynpu_mspti.constants import (
    MsptiActivityFlag,
    MsptiActivityKind,
    MsptiActivitySourceKind,
    MsptiCommunicationDataType,
    MsptiResult,
)
from drynpu_mspti.data import CommunicationData, HcclData, KernelData, MarkerData, MsptiObjectId, RangeMarkerData
from drynpu_mspti.monitors import CommunicationMonitor, HcclMonitor, KernelMonitor, MstxMonitor

__all__ = [
    "CommunicationData",
    "CommunicationMonitor",
    "HcclData",
    "HcclMonitor",
    "KernelData",
    "KernelMonitor",
    "MarkerData",
    "MsptiActivityFlag",
    "MsptiActivityKind",
    "MsptiActivitySourceKind",
    "MsptiCommunicationDataType",
    "MsptiObjectId",
    "MsptiResult",
    "MstxMonitor",
    "RangeMarkerData",
]
