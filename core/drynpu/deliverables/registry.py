"""The record groups of this release and of installed plugins: what is handed to write, load and export."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from drynpu._errors import PluginError
from drynpu.deliverables.record_group import RecordGroup
from drynpu.plugins import from_plugins
from drynpu.raw import RecordKinds

_PARTS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "facts": {"kinds": "KINDS", "db_tables": "DB_TABLES", "readme": "README"},
        "records": {"build": "build"},
        "tables": {"schemas": "SCHEMAS", "load": "load"},
        "files": {
            "read_tables": "READ_TABLES",
            "csv_files": "csv_files",
            "torch_csv_files": "torch_csv_files",
            "json_files": "json_files",
            "torch_json_files": "torch_json_files",
            "layers": "layers",
            "trace_files": "trace_files",
            "db_rows": "db_rows",
        },
        "db": {"db_rows": "db_rows"},
    }
)
"""Module of a group's folder -> member of `RecordGroup` -> its name in the module; a group may lack any of them."""

# Layers, and the texts of database rows, stand in files in the order of these groups; others come after them, by name.
LAYER_ORDER = (
    *("npu_memory", "overlap", "host", "marks", "graph"),
    *("frequency", "links", "bandwidth", "monitors", "core_samples"),
)
DB_ORDER = (
    *("calls", "npu_memory", "operator_memory", "frequency", "marks", "overlap"),
    *("tasks", "counters", "communication"),
    *("bandwidth", "links", "monitors", "core_samples", "host"),
)


def _bundled_groups() -> Iterator[RecordGroup]:
    for folder in sorted(path.parent for path in Path(__file__).parent.glob("*/__init__.py")):
        members: dict[str, Any] = {}
        for part, names in _PARTS.items():
            if (folder / f"{part}.py").is_file():
                module = import_module(f"{__package__}.{folder.name}.{part}")
                members |= {key: getattr(module, name) for key, name in names.items() if hasattr(module, name)}
        if members:
            yield RecordGroup(name=folder.name, **members)


GROUPS: tuple[RecordGroup, ...] = tuple(_bundled_groups())
"""The groups of this release, by name."""


def registered_groups() -> tuple[RecordGroup, ...]:
    """
    Return the groups of this release and those that installed plugins add (``drynpu_record_groups``).

    A plugin that cannot be used is named in a line and left out.
    """
    return from_plugins(lambda plugins: join_groups(plugins.record_groups()))


def join_groups(added: Sequence[tuple[str, object]]) -> tuple[RecordGroup, ...]:
    """
    Return the groups of this release and *added* ones, each with the plugin that it comes from.

    Raises
    ------
    PluginError
        A plugin gives something that is no `RecordGroup`, or a group or table by a name that is taken.
    """
    groups = list(GROUPS)
    for place, group in added:
        if not isinstance(group, RecordGroup):
            raise PluginError(f"{place}: {group!r} is no RecordGroup (drynpu.deliverables.record_group)")
        names = {other.name for other in groups}
        tables = {name for other in groups for name in other.schemas} & set(group.schemas)
        if group.name in names or tables:
            used = group.name if group.name in names else ", ".join(sorted(tables))
            raise PluginError(f"{place}: there is a record group or table called {used} already; choose another name")
        groups.append(group)
    return tuple(groups)


def in_order(groups: Sequence[RecordGroup], names: Sequence[str]) -> list[RecordGroup]:
    """Return groups with those in *names* first, in that order."""
    places = {name: place for place, name in enumerate(names)}
    return sorted(groups, key=lambda group: places.get(group.name, len(places)))


def record_kinds(groups: Sequence[RecordGroup]) -> RecordKinds:
    """Return what the groups' raw files hold, for a reader or a writer of them."""
    return RecordKinds.from_kinds(kind for group in groups for kind in group.kinds)


def schemas(groups: Sequence[RecordGroup]) -> dict[str, pl.Schema]:
    """Return the schemas of the groups' tables by name."""
    return {name: schema for group in groups for name, schema in group.schemas.items()}


RECORD_KINDS: RecordKinds = record_kinds(GROUPS)
"""What the raw files of this release hold."""
