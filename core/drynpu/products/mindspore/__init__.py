"""The ``*_ascend_ms`` directories of MindSpore's profiler."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from drynpu.analysis import select_mindspore_steps
from drynpu.products._product import FRAMEWORK_FOLDER, Product
from drynpu.products.mindspore._export import WHOLE_GRAPH, export_mindspore, mindspore_forms
from drynpu.products.mindspore._framework_files import write_mindspore
from drynpu.products.mindspore._framework_tables import has_mindspore, load_mindspore, mindspore_clock
from drynpu.products.mindspore._minddata import pipeline_summary
from drynpu.products.mindspore._schemas import SCHEMAS

__all__ = ["MINDSPORE_PRODUCT", "WHOLE_GRAPH", "export_mindspore", "pipeline_summary"]


def _recognise(directory: Path, info: Mapping[str, object]) -> bool:
    named = directory.name.endswith("_ascend_ms") or "ms_profiler_info" in info
    return named or has_mindspore(directory / FRAMEWORK_FOLDER)


MINDSPORE_PRODUCT = Product(
    name="mindspore",
    recognise=_recognise,
    read=load_mindspore,
    clock=mindspore_clock,
    write=write_mindspore,
    forms=mindspore_forms,
    export=export_mindspore,
    select_steps=select_mindspore_steps,
    schemas=SCHEMAS,
    simplified=(
        "mindstudio_profiler_output",
        "mindstudio_profiler_log",
        "host/sqlite",
        "device_*/sqlite",
        "host/data/all_file.complete",
        "device_*/data/all_file.complete",
    ),
)
"""The product of MindSpore."""
