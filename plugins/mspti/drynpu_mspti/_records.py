"""What monitors hand over, from the tables of a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import polars as pl

from drynpu.kernels import DTYPES
from drynpu.tables import Profile
from drynpu_mspti.constants import MsptiActivityFlag, MsptiActivityKind, MsptiCommunicationDataType

Record = dict[str, object]
_DTYPES: Final = {
    name.removeprefix("MSPTI_ACTIVITY_COMMUNICATION_"): each.value
    for name, each in MsptiCommunicationDataType.__members__.items()
}
_BYTES: Final = {"FP16": "FLOAT16", "FP32": "FLOAT", "FP64": "DOUBLE", "BFP16": "DT_BF16"}
"""Types of collectives whose names GE does not share."""
_INSTANTS: Final = ("marker", "marker_ex")
_ALL_RANKS: Final = ("allgather", "reducescatter", "scatter", "alltoall")
"""Collectives whose count is the part of one rank (Ascend/mspti csrc hccl_calculator.cpp)."""


def kernels(profile: Profile) -> Iterator[Record]:
    """Yield the kernels in order of their start."""
    columns = ("start_ns", "duration_ns", "device_id", "stream_id", "connection_id", "task_type", "name")
    for start, duration, device, stream, connection, kind, name in (
        profile.kernels.sort("start_ns").select(columns).iter_rows()
    ):
        yield {
            "kind": MsptiActivityKind.MSPTI_ACTIVITY_KIND_KERNEL.value,
            "start": start,
            "end": start + duration,
            "deviceId": device,
            "streamId": stream,
            "correlationId": connection,
            "type": kind,
            "name": name,
        }


def collectives(profile: Profile) -> Iterator[Record]:
    """Yield the collectives in order of their start."""
    columns = ("start_ns", "duration_ns", "device_id", "connection_id", "dtype", "count", "algorithm", "group", "name")
    for start, duration, device, connection, dtype, count, algorithm, group, name in (
        profile.communication_ops.sort("start_ns").select(columns).iter_rows()
    ):
        yield {
            "kind": MsptiActivityKind.MSPTI_ACTIVITY_KIND_COMMUNICATION.value,
            "dataType": _DTYPES.get((dtype or "").upper(), _DTYPES["INVALID_TYPE"]),
            "count": count or 0,
            "deviceId": device,
            "streamId": 0,
            "start": start,
            "end": start + duration,
            "algType": algorithm,
            "name": name,
            "commName": group,
            "correlationId": connection,
        }


def rates(profile: Profile) -> Iterator[Record]:
    """Yield the collectives with their rates: bytes of the call in its time."""
    ordered = profile.communication_ops.sort("start_ns")
    known = ordered.select("dtype", "rank_size", "op_type", "duration_ns")
    for record, (dtype, ranks, kind, duration) in zip(collectives(profile), known.iter_rows(), strict=True):
        name = (dtype or "").upper()
        size = DTYPES.get(_BYTES.get(name, name))
        each = "".join(letter for letter in (kind or "").lower() if letter.isalpha()).removeprefix("hcom")
        parts = ranks or 1 if each.startswith(_ALL_RANKS) else 1
        moved = 0 if size is None else int(str(record["count"])) * size.size_bytes * parts
        yield {
            **record,
            "kind": MsptiActivityKind.MSPTI_ACTIVITY_KIND_HCCL.value,
            "bandWidth": moved / duration if duration else 0.0,
        }


def markers(profile: Profile) -> Iterator[Record]:
    """Yield marks, and both ends of ranges, on the host and, where they have a stream, on the device."""
    for mark in profile.frame("marks").filter(pl.col("mark_id").is_not_null()).iter_rows(named=True):
        on_device = mark["device_id"] is not None
        host = {"processId": mark["pid"], "threadId": mark["tid"], "sourceKind": 0}
        yield from _ends(mark, host, (mark["start_ns"], mark["end_ns"]), on_device=on_device)
        if on_device:
            device = {"deviceId": mark["device_id"], "streamId": mark["stream_id"], "sourceKind": 1}
            yield from _ends(mark, device, (mark["device_start_ns"], mark["device_end_ns"]), on_device=True)


def _ends(mark: Record, owner: Record, times: tuple[object, object], *, on_device: bool) -> Iterator[Record]:
    suffix = "_WITH_DEVICE" if on_device else ""
    whole = mark["event_type"] in _INSTANTS
    names = ("INSTANTANEOUS",) if whole else ("START", "END")
    for name, time in zip(names, times, strict=False):
        yield {
            "kind": MsptiActivityKind.MSPTI_ACTIVITY_KIND_MARKER.value,
            "flag": MsptiActivityFlag[f"MSPTI_ACTIVITY_FLAG_MARKER_{name}{suffix}"].value,
            "timestamp": time,
            "id": mark["mark_id"],
            "name": mark["message"],
            "domain": mark["domain"] or "default",
            **owner,
        }


RECORDS: Final[Mapping[str, Callable[[Profile], Iterator[Record]]]] = {
    "kernel": kernels,
    "communication": collectives,
    "hccl": rates,
    "mstx": markers,
}
"""The records of each monitor, by its name."""
