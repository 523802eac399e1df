"""Deliverables of a result directory, whichever framework's profiler left it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import GROUPS
from drynpu.options import ExportType
from drynpu.products.registry import product_named
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
    cannot be written; an earlier output is left as it was then.
    """
    return product_named(profile.product).export(profile, forms, groups)
