"""A profile directory to tables."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve

from drynpu._errors import OutputError, RawFormatError
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import registered_groups, schemas
from drynpu.products._find import ProfileDirectory, locate
from drynpu.products._framework_files import read_json_file
from drynpu.products._product import FrameworkTables, Product, no_framework
from drynpu.products.registry import product_of, registered_products
from drynpu.products.toolkit._load import Toolkit, load_toolkit, no_toolkit
from drynpu.tables._profile import Profile
from drynpu.tables._stored import stored

_RESULT = re.compile(r"_\d{17}_ascend_(pt|ms)$")
"""End of the name of a result directory, where profiler_info*.json is written when all other raw data is there."""


def load_profile(
    path: Path, groups: Sequence[RecordGroup] | None = None, products: Sequence[Product] | None = None
) -> Profile:
    """
    Read one profile: a result directory, a ``PROF_*`` directory, or a parent that holds exactly one of them.

    Parts may be missing, cut or empty; what was tolerated is in ``Profile.notes``. The kinds of records and of result
    directories are those of *groups* and *products*, by default all that are registered.

    Raises
    ------
    OutputError
        If there is no profile, or more than one; the message says where and what was looked for.
    RawFormatError
        If records cannot be understood at all, e.g. a device without its clock.
    """
    groups = registered_groups() if groups is None else groups
    products = registered_products() if products is None else products
    found = locate(Path(path), products)
    notes = list(found.notes)
    toolkit = _read_toolkit(found, groups)
    notes.extend(toolkit.notes)
    info = read_json_file(_info_file(found.path), notes)
    metadata = read_json_file(found.path / "profiler_metadata.json", notes)
    if _RESULT.search(found.path.name) and not _info_file(found.path).is_file():
        notes.append("profiler_info*.json is missing: the recording was not written to its end; data may be missing")
    product = product_of(found.path, info, products)
    framework = no_framework()
    if found.framework_path is not None:
        framework = product.read(found.framework_path, product.clock(info, toolkit.clock, notes))
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
        schemas=schemas(groups) | {name: schema for each in products for name, schema in each.schemas.items()},
        product=product.name,
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
    """Return the rank in profiler_info.json, where MindSpore writes it as text; *known* where there is none."""
    mindspore = info.get("ms_profiler_info")
    rank = mindspore.get("rank_id") if isinstance(mindspore, Mapping) else info.get("rank_id")
    if isinstance(rank, str) and rank.isdecimal():
        return int(rank)
    return rank if isinstance(rank, int) else known


def _first_pid(framework: FrameworkTables) -> int:
    ops = stored(framework.tables["host_ops"])
    return int(ops.numbers["pid"][0]) if ops.height else 0


def _info_file(path: Path) -> Path:
    named = sorted(path.glob("profiler_info*.json"))
    return named[0] if named else path / "profiler_info.json"
