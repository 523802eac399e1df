"""Clock readings from the control files (cann_msprof.md 2.4)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from drynpu._errors import OutputError, RawFormatError
from drynpu.raw._clock import NS_PER_S
from drynpu.raw.controls import PURPOSES, find_control, read_counters, read_json


def require(directory: Path, name: str, notes: list[str]) -> Path:
    """
    Find a control file.

    Raises
    ------
    OutputError
        If there is none.
    """
    path = find_control(directory, name, notes) if directory.is_dir() else None
    if path is None:
        message = f"{directory} has no {name}: it holds {PURPOSES[name]}."
        raise OutputError(message)
    return path


def collection_start(root: Path, directory_names: Sequence[str], notes: list[str]) -> tuple[int, int]:
    """
    Read ``collectionTimeBegin`` (us) and ``clockMonotonicRaw`` (ns) from the first directory that has both.

    Any but the first named is noted.

    Raises
    ------
    OutputError
        If none has them.
    RawFormatError
        If a start_info is no JSON object.
    """
    for name in dict.fromkeys(directory_names):
        directory = root / name
        path = find_control(directory, "start_info", notes) if directory.is_dir() else None
        if path is None:
            continue
        content = read_json(path)
        begin_us = _whole(content.get("collectionTimeBegin"))
        monotonic_ns = _whole(content.get("clockMonotonicRaw"))
        if begin_us and monotonic_ns:
            if name != directory_names[0]:
                notes.append(f"{directory_names[0]}/start_info is missing or incomplete: {name}/{path.name} was taken")
            return begin_us, monotonic_ns
    message = (
        f"{root / directory_names[0]} has no start_info with collectionTimeBegin and clockMonotonicRaw: "
        f"it holds {PURPOSES['start_info']}."
    )
    raise OutputError(message)


def collection_end(directory: Path, notes: list[str]) -> int | None:
    """
    Read when collection ended, in Unix ns, from end_info; ``None`` if it is missing or does not say.

    Raises
    ------
    RawFormatError
        If it is no JSON object.
    """
    path = find_control(directory, "end_info", notes) if directory.is_dir() else None
    ended_us = _whole(read_json(path).get("collectionTimeEnd")) if path else None
    return None if ended_us is None else ended_us * 1000


def counter_base(path: Path, host_hz: int) -> int:
    """
    Return the raw monotonic time (ns) at which the counters of host_start.log were read.

    Raises
    ------
    OutputError
        If it cannot be read.
    RawFormatError
        If the time is missing.
    """
    # cntvct_diff is in host ticks; without a host frequency the vendor's parser counts a tick as a nanosecond.
    rate = host_hz or NS_PER_S
    diff = read_counters(path).get("cntvct_diff", 0)
    return reading(path, "clock_monotonic_raw") + (2 * diff * NS_PER_S + rate) // (2 * rate)


def reading(path: Path, key: str) -> int:
    """
    Return one reading of host_start.log or dev_start.log.

    Raises
    ------
    OutputError
        If the file cannot be read.
    RawFormatError
        If the reading is missing.
    """
    readings = read_counters(path)
    if key not in readings:
        message = f"{path} has no {key}: raw times cannot be turned into wall time without it."
        raise RawFormatError(message)
    return readings[key]


def _whole(value: object) -> int | None:
    text = str(value)
    return int(text) if re.fullmatch(r"[0-9]{1,19}", text) else None
