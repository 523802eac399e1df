"""The records that monitors hand to the script (Ascend/mspti mspti/activity_data.py). Times are Unix ns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from drynpu_mspti.constants import (
    MsptiActivityFlag,
    MsptiActivityKind,
    MsptiActivitySourceKind,
    MsptiCommunicationDataType,
)

Origin: TypeAlias = "Mapping[str, Any]"
"""A record by the vendor's names of its fields, from which a script may make these objects, too."""


class MsptiObjectId:
    """Who a marker belongs to: a thread of a process, or a stream of a device."""

    def __init__(self, origin_data: Origin) -> None:
        self.process_id: int = origin_data.get("processId", -1)
        self.thread_id: int = origin_data.get("threadId", -1)
        self.device_id: int = origin_data.get("deviceId", 0)
        self.stream_id: int = origin_data.get("streamId", 0)


class KernelData:
    """A kernel."""

    def __init__(self, origin_data: Origin) -> None:
        self.kind = MsptiActivityKind(origin_data.get("kind", 0))
        self.start: int = origin_data.get("start", 0)
        self.end: int = origin_data.get("end", 0)
        self.device_id: int = origin_data.get("deviceId", 0)
        self.stream_id: int = origin_data.get("streamId", 0)
        self.correlation_id: int = origin_data.get("correlationId", 0)
        self.type: str = origin_data.get("type", "")
        self.name: str = origin_data.get("name", "")


class MarkerData:
    """An instant, or one end of a range."""

    def __init__(self, origin_data: Origin) -> None:
        self.kind = MsptiActivityKind(origin_data.get("kind", 0))
        self.flag = MsptiActivityFlag(origin_data.get("flag", 1))
        self.source_kind = MsptiActivitySourceKind(origin_data.get("sourceKind", 0))
        self.timestamp: int = origin_data.get("timestamp", 0)
        self.id: int = origin_data.get("id", 0)
        self.object_id = MsptiObjectId(origin_data)
        self.name: str = origin_data.get("name", "")
        self.domain: str = origin_data.get("domain", "")


class RangeMarkerData:
    """A range from its start to its end."""

    def __init__(self) -> None:
        self.kind = MsptiActivityKind.MSPTI_ACTIVITY_KIND_MARKER
        self.source_kind = MsptiActivitySourceKind.MSPTI_ACTIVITY_SOURCE_KIND_HOST
        self.id = 0
        self.object_id = MsptiObjectId({})
        self.name = ""
        self.domain = ""
        self.start = 0
        self.end = 0


class HcclData:
    """A collective with its rate, GB/s."""

    def __init__(self, origin_data: Origin) -> None:
        self.kind = MsptiActivityKind(origin_data.get("kind", 0))
        self.start: int = origin_data.get("start", 0)
        self.end: int = origin_data.get("end", 0)
        self.device_id: int = origin_data.get("deviceId", 0)
        self.stream_id: int = origin_data.get("streamId", 0)
        self.bandwidth: float = origin_data.get("bandWidth", 0)
        self.name: str = origin_data.get("name", "")
        self.comm_name: str = origin_data.get("commName", "")


class CommunicationData:
    """A collective with what it moves."""

    def __init__(self, origin_data: Origin) -> None:
        self.kind = MsptiActivityKind(origin_data.get("kind", 0))
        self.data_type = MsptiCommunicationDataType(origin_data.get("dataType", 0))
        self.count: int = origin_data.get("count", 0)
        self.device_id: int = origin_data.get("deviceId", 0)
        self.stream_id: int = origin_data.get("streamId", 0)
        self.start: int = origin_data.get("start", 0)
        self.end: int = origin_data.get("end", 0)
        self.alg_type: str = origin_data.get("algType", "")
        self.name: str = origin_data.get("name", "")
        self.comm_name: str = origin_data.get("commName", "")
        self.correlation_id: int = origin_data.get("correlationId", 0)
