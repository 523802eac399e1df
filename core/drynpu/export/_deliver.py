"""Everything that is made of one result directory."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection
from pathlib import Path

from drynpu.export._msprof import export_msprof
from drynpu.export._torch import export_torch, requested_forms
from drynpu.options import ExportType
from drynpu.tables import load_profile

__all__ = ["deliver"]

_SIMPLIFIED = ("mindstudio_profiler_output", "mindstudio_profiler_log", "analyze")


def deliver(
    path: Path,
    *,
    simplify: bool,
    forms: Collection[ExportType] | None = None,
    on_toolkit: Callable[[], object] = lambda: None,
) -> None:
    """
    Write ``mindstudio_profiler_output`` and ``ASCEND_PROFILER_OUTPUT`` of a result directory.

    Parameters
    ----------
    simplify:
        Leave nothing of the toolkit's once the framework's deliverables are there (torch_npu_profiler.md 3.6). They are
        made of the raw records, not of its files, so nothing of it is written first.
    forms:
        Text, databases or both; default what the recording was asked for.
    on_toolkit:
        Called when the toolkit's part is done; not at all where there is none.

    Raises
    ------
    OutputError
        If the directory holds no profile or cannot be written.
    RawFormatError
        If its records cannot be understood at all.
    """
    profile = load_profile(path)
    forms = requested_forms(profile) if forms is None else forms
    if profile.prof_path is not None:
        if ExportType.TEXT in forms and not simplify:
            export_msprof(profile)
        on_toolkit()
    export_torch(profile, forms)
    if simplify and profile.prof_path is not None:
        for name in _SIMPLIFIED:
            shutil.rmtree(profile.prof_path / name, ignore_errors=True)
