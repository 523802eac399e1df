"""The small control files beside the records: contents, names and how to read them (cann_msprof.md 2.4)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import orjson

from drynpu._errors import RawFormatError
from drynpu.raw._clock import ClockAnchors
from drynpu.raw._info import HOST_DEVICES, DeviceInfo, HostInfo, info_json
from drynpu.raw.files import read_bytes

PURPOSES = {
    "info.json": "chip, process and clock rates",
    "sample.json": "the collection settings",
    "start_info": "when collection began, which turns raw times into wall time",
    "end_info": "when collection ended",
    "host_start.log": "the host counter at the start, which turns host ticks into time",
    "dev_start.log": "the device counter at the start, which turns device ticks into time",
}
"""What each control file is for, for messages."""

# The C++ loader wants these keys to exist in every directory, whatever they hold.
_SAMPLE_KEYS = ("llc_profiling", "ai_core_profiling_mode")
_TIME_KEYS = (
    "collectionDateBegin",
    "collectionDateEnd",
    "collectionTimeBegin",
    "collectionTimeEnd",
    "clockMonotonicRaw",
)


def control_files(
    host: HostInfo,
    device: DeviceInfo | None,
    sample: Mapping[str, object],
    anchors: ClockAnchors,
    ended_unix_ns: int | None,
) -> Iterator[tuple[str, bytes]]:
    """Give name and content of every control file of the host directory (``device`` None) or of a device's."""
    suffix = "" if device is None else f".{device.id}"
    yield f"info.json{suffix}", orjson.dumps(info_json(host, device))
    devices = HOST_DEVICES if device is None else str(device.id)
    settings = dict.fromkeys(_SAMPLE_KEYS, "") | dict(sample) | {"devices": devices}
    yield "sample.json", orjson.dumps(settings)
    yield f"start_info{suffix}", moment("Begin", anchors.collection_begin_us, anchors.monotonic_raw_ns)
    if ended_unix_ns is not None:
        yield f"end_info{suffix}", moment("End", ended_unix_ns // 1000, ended_unix_ns - anchors.offset_ns)
    base_ns = anchors.host_counter_ns if device is None else anchors.device_counter_ns
    section = "Host" if device is None else f"Device{device.id}"
    # Beside a device the host counter belongs to the instant of the device counter.
    at_ns = base_ns + anchors.offset_ns
    cntvct = anchors.host_cntvct if device is None or not anchors.host_hz else int(anchors.unix_to_host(at_ns))
    lines = _counters(at_ns, base_ns, cntvct)
    yield f"host_start.log{suffix}", f"[{section}]\n{lines}cntvct_diff: 0\n".encode()
    if device is not None:
        yield f"dev_start.log{suffix}", _counters(at_ns, base_ns, anchors.device_cntvct).encode()


def find_control(directory: Path, name: str, notes: list[str]) -> Path | None:
    """
    Find a control file by its name without device id; ``None`` if there is none.

    The name with the directory's own id is preferred; any other choice is noted.
    """
    device_id = directory.name.removeprefix("device_") if directory.name.startswith("device_") else ""
    expected = directory / (f"{name}.{device_id}" if device_id and name != "sample.json" else name)
    if expected.is_file():
        return expected
    pattern = re.compile(re.escape(name) + r"(\.\d+)?")
    candidates = sorted(entry for entry in directory.iterdir() if pattern.fullmatch(entry.name) and entry.is_file())
    if not candidates:
        return None
    note = f"{directory.name}/{candidates[0].name}: taken where {expected.name} was expected"
    if note not in notes:
        notes.append(note)
    return candidates[0]


def read_json(path: Path) -> dict[str, Any]:
    """
    Read a control file that is a JSON object.

    Raises
    ------
    OutputError
        If it cannot be read.
    RawFormatError
        If it is no JSON object.
    """
    purpose = PURPOSES.get(re.sub(r"\.\d+$", "", path.name), "a control file")
    try:
        document = orjson.loads(read_bytes(path, purpose))
    except orjson.JSONDecodeError as error:
        message = f"{path} ({purpose}) is not JSON: {error}."
        raise RawFormatError(message) from error
    if not isinstance(document, dict):
        message = f"{path} ({purpose}) holds a JSON {type(document).__name__}: an object is expected."
        raise RawFormatError(message)
    return document


def read_counters(path: Path) -> dict[str, int]:
    """
    Read the clock readings of host_start.log or dev_start.log, first section only; lines that are none are passed over.

    Raises
    ------
    OutputError
        If it cannot be read.
    """
    purpose = PURPOSES.get(re.sub(r"\.\d+$", "", path.name), "clock readings")
    readings: dict[str, int] = {}
    for line in read_bytes(path, purpose).decode("utf-8", "replace").splitlines():
        if line.startswith("[") and readings:
            break
        match = re.fullmatch(r"\s*(\w+)\s*[:=]\s*(-?[0-9]{1,20})\s*", line)
        if match:
            readings[match[1]] = int(match[2])
    return readings


def moment(which: str, unix_us: int, monotonic_ns: int) -> bytes:
    """Return start_info (*which* is ``Begin``) or end_info (``End``)."""
    content = dict.fromkeys(_TIME_KEYS, "")
    local = datetime.fromtimestamp(unix_us // 1_000_000, timezone.utc).astimezone()
    content[f"collectionDate{which}"] = f"{local:%Y-%m-%d %H:%M:%S}.{unix_us % 1_000_000:06d}"
    content[f"collectionTime{which}"] = str(unix_us)
    content["clockMonotonicRaw"] = str(monotonic_ns)
    return orjson.dumps(content)


def _counters(realtime_ns: int, monotonic_ns: int, cntvct: int) -> str:
    return f"clock_realtime: {realtime_ns}\nclock_monotonic_raw: {monotonic_ns}\ncntvct: {cntvct}\n"


def check_rates(host: HostInfo, devices: Sequence[DeviceInfo], anchors: ClockAnchors) -> None:
    """
    Compare the clock rates of the control files with the rates of the anchors.

    Raises
    ------
    RawFormatError
        If they contradict each other.
    """
    if host.host_hz != anchors.host_hz:
        message = f"CPU[0].Frequency says {host.host_hz} Hz, the clock anchors say {anchors.host_hz} Hz."
        raise RawFormatError(message)
    for device in devices:
        if device.hwts_hz != anchors.device_hz:
            message = (
                f"hwts_frequency {device.hwts_frequency!r} of device {device.id} is {device.hwts_hz} Hz, "
                f"the clock anchors say {anchors.device_hz} Hz."
            )
            raise RawFormatError(message)
