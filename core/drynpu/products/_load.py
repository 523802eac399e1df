"""A profile directory to tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from attrs import evolve

from drynpu._errors import OutputError, RawFormatError
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import registered_groups, schemas
from drynpu.products._find import ProfileDirectory, locate
from drynpu.products.mindspore._framework_tables import has_mindspore
from drynpu.products.mindspore._schemas import SCHEMAS as MINDSPORE_SCHEMAS
from drynpu.products.toolkit._load import Toolkit, load_toolkit, no_toolkit
from drynpu.products.torch._framework_tables import FrameworkTables, load_framework, no_framework
from drynpu.raw import ClockAnchors
from drynpu.tables._columns import I64
from drynpu.tables._profile import Profile
from drynpu.tables._stored import stored

_RESULT = re.compile(r"_\d{17}_ascend_(pt|ms)$")
"""End of the name of a result directory, where profiler_info*.json is written when all other raw data is there."""
_GIGA, _MINDSPORE_HZ = 1_000_000_000, 100_000_000
"""The second is what MindSpore takes its counts for where nothing tells, and without PROF they begin in 1970."""
_COUNTER_KEYS = (("start_cnt", 0), ("start_monotonic", 0), ("freq", 100))
"""Clock readings of profiler_info.json, with what the vendor takes where they are missing."""


def load_profile(path: Path, groups: Sequence[RecordGroup] | None = None) -> Profile:
    """
    Read one profile: a ``*_ascend_pt``, ``*_ascend_ms`` or ``PROF_*`` directory, or a parent that holds exactly one.

    Parts may be missing, cut or empty; what was tolerated is in ``Profile.notes``. Records are those of *groups*, by
    default all that are registered.

    Raises
    ------
    OutputError
        If there is no profile, or more than one; the message says where and what was looked for.
    RawFormatError
        If records cannot be understood at all, e.g. a device without its clock.
    """
    groups = registered_groups() if groups is None else groups
    found = locate(Path(path))
    notes = list(found.notes)
    toolkit = _read_toolkit(found, groups)
    notes.extend(toolkit.notes)
    info = _read_json(_info_file(found.path), notes)
    metadata = _read_json(found.path / "profiler_metadata.json", notes)
    if _RESULT.search(found.path.name) and not _info_file(found.path).is_file():
        notes.append("profiler_info*.json is missing: the recording was not written to its end; data may be missing")
    if found.framework_path is None:
        framework = no_framework()
    else:
        framework = load_framework(
            found.framework_path, _framework_clock(found.framework_path, info, toolkit.clock, notes)
        )
    notes.extend(framework.notes)
    facts = dict(toolkit.facts)
    facts["pid"] = facts["pid"] or _first_pid(framework)
    facts["rank_id"] = _rank(info, facts["rank_id"])
    return Profile(
        path=found.path,
        prof_path=found.prof_path,
        framework_path=found.framework_path,
        **facts,
        **{
            **toolkit.tables,
            **framework.tables,
            "group_tables": toolkit.tables.get("group_tables", {}) | framework.group_tables,
        },
        schemas={**schemas(groups), **MINDSPORE_SCHEMAS},
        notes=tuple(notes),
        profiler_info=info,
        metadata=metadata,
    )


def _read_toolkit(found: ProfileDirectory, groups: Sequence[RecordGroup]) -> Toolkit:
    if found.prof_path is None:
        return no_toolkit()
    try:
        return load_toolkit(found.prof_path, groups)
    except (OutputError, RawFormatError) as error:
        # A run killed at its start: what the framework wrote is worth reading on its own.
        if found.framework_path is None:
            raise
        return evolve(no_toolkit(), notes=(f"{found.prof_path.name} could not be read and was left out: {error}",))


def _rank(info: Mapping[str, Any], known: int) -> int:
    """Return the rank that profiler_info.json tells, MindSpore's as text; else what is *known*."""
    own = info.get("ms_profiler_info")
    rank = own.get("rank_id") if isinstance(own, Mapping) else info.get("rank_id")
    if isinstance(rank, str) and rank.isdecimal():
        return int(rank)
    return rank if isinstance(rank, int) else known


def _first_pid(framework: FrameworkTables) -> int:
    ops = stored(framework.tables["host_ops"])
    return int(ops.numbers["pid"][0]) if ops.height else 0


def _info_file(path: Path) -> Path:
    named = sorted(path.glob("profiler_info*.json"))
    return named[0] if named else path / "profiler_info.json"


def _read_json(path: Path, notes: list[str]) -> dict[str, object]:
    if not path.is_file():
        return {}
    try:
        document = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        notes.append(f"{path.name} could not be read and was left out: {error}")
        return {}
    return document if isinstance(document, dict) else {}


def _framework_clock(
    directory: Path, info: Mapping[str, Any], clock: ClockAnchors | None, notes: list[str]
) -> Callable[[I64], I64]:
    """
    Return the conversion of FRAMEWORK times to Unix ns (torch_npu_profiler.md 3.7, mindspore_profiler.md 10).

    With ``syscnt_enable`` they are counter ticks, else monotonic nanoseconds; what the PROF directory does not
    tell about the clocks is taken from profiler_info.json.
    """
    if has_mindspore(directory):
        if clock is None:
            return lambda raw: raw * (_GIGA // _MINDSPORE_HZ)
        return clock.host_to_unix if clock.host_hz else evolve(clock, host_hz=_MINDSPORE_HZ).host_to_unix
    start, end = info.get("start_info") or {}, info.get("end_info") or {}
    ticks = bool(start.get("syscnt_enable"))
    if clock is not None and ticks == bool(clock.host_hz):
        return clock.host_to_unix
    if clock is not None:
        offset = clock.offset_ns
    elif "collectionTimeEnd" in end and "MonotonicTimeEnd" in end:
        offset = int(end["collectionTimeEnd"]) - int(end["MonotonicTimeEnd"])
    else:
        notes.append("nothing tells how host times relate to Unix time; they are shown as recorded")
        offset = 0
    if not ticks:
        return lambda raw: raw + offset
    begin, base, mhz = (int(start.get(key, fallback)) for key, fallback in _COUNTER_KEYS)
    return lambda raw: (raw - begin) * 1000 // max(mhz, 1) + (base + offset)
