"""The deliverables of a result directory, whichever framework's profiler left it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from drynpu._errors import OutputError
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import GROUPS, registered_groups
from drynpu.options import ExportType
from drynpu.products._load import load_profile
from drynpu.products._process import deliver_in_process, is_forked
from drynpu.products._product import refuse_origin
from drynpu.products.registry import product_named
from drynpu.products.toolkit._msprof import export_msprof
from drynpu.tables import Profile


def result_forms(profile: Profile) -> tuple[ExportType, ...]:
    """Return the forms of deliverables that the recording was asked for, text by default."""
    return product_named(profile.product).forms(profile)


def export_result(
    profile: Profile, forms: Collection[ExportType] | None = None, groups: Sequence[RecordGroup] = GROUPS
) -> list[Path]:
    """
    Write the deliverables as the framework's profiler does, and return the files written.

    *forms* is text, databases or both; default what the recording was asked for. Raises ``OutputError`` if a file
    cannot be written, or is one that the profile was read from; an earlier output is left as it was then.
    """
    refuse_origin(profile, profile.path)
    return product_named(profile.product).export(profile, forms, groups)


def deliver(
    path: Path,
    *,
    simplify: bool,
    forms: Collection[ExportType] | None = None,
    steps: Collection[int] = (),
    on_part: Callable[[str], object] = lambda _: None,
) -> None:
    """
    Write ``mindstudio_profiler_output`` and ``ASCEND_PROFILER_OUTPUT`` of a result directory.

    In a forked process a new interpreter does it.

    Parameters
    ----------
    simplify:
        Leave nothing of the toolkit's once the framework's deliverables are there (torch_npu_profiler.md 3.6,
        mindspore_profiler.md 10). They are made of the raw records, not of its files, so nothing of it is written
        first.
    forms:
        Text, databases or both; default what the recording was asked for.
    steps:
        Of a directory of MindSpore: the steps that are wanted, counted from 1; default all.
    on_part:
        Called with ``toolkit`` when the toolkit's part is done; not at all where there is none.

    Raises
    ------
    OutputError
        If the directory holds no profile or cannot be written.
    RawFormatError
        If its records cannot be understood at all.
    """
    if is_forked():
        deliver_in_process(path, simplify=simplify, forms=forms, steps=steps, on_part=on_part)
        return
    groups = registered_groups()
    profile = load_profile(path, groups)
    if profile.results is not None:
        raise OutputError(f"{path}: holds results and no raw data, so there is nothing to rebuild them from")
    product = product_named(profile.product)
    if steps and product.select_steps is not None:
        profile = product.select_steps(profile, steps)
    forms = product.forms(profile) if forms is None else forms
    if profile.prof_path is not None:
        if ExportType.TEXT in forms and not simplify:
            export_msprof(profile, groups=groups)
        on_part("toolkit")
    export_result(profile, forms, groups)
    if simplify and profile.prof_path is not None:
        for pattern in product.simplified:
            for entry in profile.prof_path.glob(pattern):
                _remove(entry)


def deliver_toolkit(path: Path) -> None:
    """Write ``mindstudio_profiler_output`` of a PROF directory alone. Raises `OutputError` and `RawFormatError`."""
    if is_forked():
        deliver_in_process(path, simplify=False, toolkit_only=True)
        return
    groups = registered_groups()
    export_msprof(load_profile(path, groups), groups=groups)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
