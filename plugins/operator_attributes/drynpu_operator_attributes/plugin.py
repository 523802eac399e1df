"""The hooks of the plugin ``operator_attributes``; the import is cheap."""

from __future__ import annotations

from collections.abc import Iterable

from drynpu.plugins import hookimpl


@hookimpl
def drynpu_record_groups() -> Iterable[object]:
    """Add the records of ``op_attr`` and the files of ``record_op_args``."""
    from drynpu.deliverables.record_group import RecordGroup
    from drynpu_operator_attributes._records import build

    return (RecordGroup(name="operator_attributes", build=build),)
