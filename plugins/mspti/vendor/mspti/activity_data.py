"""The facade of ``mspti.activity_data``."""

from __future__ import annotations

from drynpu_mspti.data import CommunicationData, HcclData, KernelData, MarkerData, MsptiObjectId, RangeMarkerData

__all__ = ["CommunicationData", "HcclData", "KernelData", "MarkerData", "MsptiObjectId", "RangeMarkerData"]
