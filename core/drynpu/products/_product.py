"""What drynpu knows of a result directory: how its profiler's own files are recognised, read, written and exported."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl
from attrs import field, frozen

from drynpu._errors import OutputError
from drynpu.arrays import I64
from drynpu.deliverables.record_context import RecordContext
from drynpu.deliverables.record_group import RecordGroup
from drynpu.options import ExportType
from drynpu.raw import ClockAnchors
from drynpu.tables import ALLOCATIONS, GC, HOST_OPS, PYTHON_CALLS, QUEUE, Profile
from drynpu.tables.columns import empty
from drynpu.writers.folders import TOOLKIT_OUTPUT
from drynpu.writers.trace_json import Events

ToUnix = Callable[[I64], I64]
"""Converts raw host times, int64 ``[n]``, to Unix nanoseconds."""

NO_TASKS = "off"
"""Level of sample.json that stands for Level_none: memory and host files only (torch_npu_profiler.md 3.6)."""

FRAMEWORK_FOLDER = "FRAMEWORK"
"""Folder of a result directory in which the bundled products keep what the framework recorded."""

_SCHEMAS: Mapping[str, pl.Schema] = MappingProxyType(
    {"host_ops": HOST_OPS, "queue": QUEUE, "allocations": ALLOCATIONS, "python_calls": PYTHON_CALLS, "gc": GC}
)


@frozen(eq=False, kw_only=True)
class FrameworkTables:
    """Tables of what a framework recorded, by their name in ``Profile``; empty where a file is absent."""

    tables: Mapping[str, Any]
    group_tables: Mapping[str, pl.DataFrame] = field(factory=dict)
    """Further tables that have rows; `Product.schemas` names them."""
    notes: tuple[str, ...] = field(default=())


def forms_from_words(words: object) -> tuple[ExportType, ...]:
    """Return the forms of deliverables that one word or a list of words names; text where none of them is known."""
    listed = [words] if isinstance(words, str) else words if isinstance(words, list) else []
    forms = {form.value: form for form in ExportType}
    return tuple(dict.fromkeys(forms[word] for word in listed if word in forms)) or (ExportType.TEXT,)


def no_framework() -> FrameworkTables:
    """Return the tables of a profile without host capture."""
    return FrameworkTables(tables={name: empty(schema) for name, schema in _SCHEMAS.items()})


def refuse_origin(profile: Profile, directory: Path) -> None:
    """
    Refuse to write into *directory* what would stand among results, or over them, that *profile* was read from.

    Raises
    ------
    OutputError
        It would.
    """
    places = {directory.resolve(), *(child.resolve() for child in directory.glob("*") if child.is_dir())}
    if places & {file.parent.resolve() for file in profile.result_files}:
        message = f"{directory}: holds the results that the profile was read from; name a folder without them"
        raise OutputError(message)


def _never(path: Path) -> bool:
    del path
    return False


def _no_trace(profile: Profile, groups: Sequence[RecordGroup]) -> Iterable[Events | Sequence[str]]:
    del profile, groups
    return ()


@frozen(eq=False, kw_only=True)
class Product:
    """
    The result directory of one framework's profiler.

    A plugin adds one through the hook ``drynpu_products``; the bundled ones are values of the same class.
    """

    name: str
    """Name of the framework: `Target.framework` of its recordings, and ``Profile.product``."""
    recognise: Callable[[Path, Mapping[str, object]], bool]
    """``recognise(directory, profiler_info)``: whether a directory is one, with what profiler_info.json says of it."""
    holds_profile: Callable[[Path], bool] = _never
    """Whether a directory without ``FRAMEWORK`` and ``PROF_*`` is one all the same."""
    folder: str = FRAMEWORK_FOLDER
    """Where the framework's own files stand in the directory."""
    read: Callable[[Path, ToUnix], FrameworkTables]
    """``read(folder, to_unix)``: the framework's files as tables."""
    clock: Callable[[Mapping[str, Any], ClockAnchors | None, list[str]], ToUnix]
    """``clock(profiler_info, anchors, notes)``: how its host times become Unix time; adds a note where it guesses."""
    write: Callable[[Path, RecordContext, bool], None]
    """``write(folder, context, keep_computing)``: the framework's files of a recording that has just ended."""
    forms: Callable[[Profile], tuple[ExportType, ...]]
    """The forms of deliverables that the recording was asked for."""
    export: Callable[[Profile, Collection[ExportType] | None, Sequence[RecordGroup]], list[Path]]
    """``export(profile, forms, groups)``: write the deliverables, and return their paths; without forms, `forms`'s."""
    trace: Callable[[Profile, Sequence[RecordGroup]], Iterable[Events | Sequence[str]]] = _no_trace
    """``trace(profile, groups)``: the events of its timeline in blocks, for exporters."""
    select_steps: Callable[[Profile, Collection[int]], Profile] | None = None
    """Return a profile of some steps alone, counted from 1; absent where the profiler has no such option."""
    schemas: Mapping[str, pl.Schema] = field(factory=dict)
    """Further tables of `read`, with their schemas."""
    simplified: tuple[str, ...] = (TOOLKIT_OUTPUT, "mindstudio_profiler_log", "analyze")
    """Parts of the PROF directory to remove when only this product's deliverables are wanted; glob patterns."""
