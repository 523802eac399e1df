"""The ``*_ascend_ms`` directories of MindSpore's profiler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from drynpu.analysis import select_mindspore_steps
from drynpu.deliverables.record_group import RecordGroup
from drynpu.products._product import FRAMEWORK_FOLDER, Product
from drynpu.products.mindspore._export import WHOLE_GRAPH, export_mindspore, mindspore_forms
from drynpu.products.mindspore._framework_files import write_mindspore
from drynpu.products.mindspore._framework_tables import has_mindspore, load_mindspore, mindspore_clock
from drynpu.products.mindspore._minddata import pipeline_raw_table, pipeline_summary
from drynpu.products.mindspore._schemas import SCHEMAS
from drynpu.products.mindspore._trace import mindspore_blocks
from drynpu.tables import Profile
from drynpu.writers.folders import TOOLKIT_OUTPUT
from drynpu.writers.trace_json import SPACED, Events

__all__ = ["MINDSPORE_PRODUCT", "WHOLE_GRAPH", "export_mindspore", "pipeline_raw_table", "pipeline_summary"]


def _recognise(directory: Path, info: Mapping[str, object]) -> bool:
    named = directory.name.endswith("_ascend_ms") or "ms_profiler_info" in info
    return named or has_mindspore(directory / FRAMEWORK_FOLDER)


def _trace(profile: Profile, groups: Sequence[RecordGroup]) -> Iterator[Events | Sequence[str]]:
    return mindspore_blocks(profile, SPACED, groups)


MINDSPORE_PRODUCT = Product(
    name="mindspore",
    recognise=_recognise,
    read=load_mindspore,
    clock=mindspore_clock,
    write=write_mindspore,
    forms=mindspore_forms,
    export=export_mindspore,
    trace=_trace,
    select_steps=select_mindspore_steps,
    schemas=SCHEMAS,
    simplified=(
        TOOLKIT_OUTPUT,
        "mindstudio_profiler_log",
        "host/sqlite",
        "device_*/sqlite",
        "host/data/all_file.complete",
        "device_*/data/all_file.complete",
    ),
)
"""The product of MindSpore."""
