"""A profile directory to tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from attrs import evolve

from drynpu._errors import OutputError, RawFormatError
from drynpu._progress import at_stage
from drynpu.deliverables.record_group import RecordGroup
from drynpu.deliverables.registry import registered_groups, schemas
from drynpu.layouts.result_files import METADATA_FILE
from drynpu.products._find import ProfileDirectory, locate
from drynpu.products._framework_files import read_json_file
from drynpu.products._product import FrameworkTables, Product, no_framework
from drynpu.products._profiler_info import info_file, read_rank
from drynpu.products.registry import product_of, registered_products
from drynpu.products.results import load_results
from drynpu.products.toolkit._load import Toolkit, load_toolkit, no_toolkit
from drynpu.tables import Profile
from drynpu.tables.stored import stored

_RESULT = re.compile(r"_\d{17}_ascend_(pt|ms)$")
"""End of the name of a result directory, where profiler_info*.json is written when all other raw data is there."""


def load_profile(
    path: Path, groups: Sequence[RecordGroup] | None = None, products: Sequence[Product] | None = None
) -> Profile:
    """
    Read one profile: a result directory, a ``PROF_*`` directory, or a parent that holds exactly one of them.

    Parts may be missing, cut or empty; what was tolerated is in ``Profile.notes``. The kinds of records and of result
    directories belong to *groups* and *products*, by default all registered ones.

    Raises
    ------
    OutputError
        If there is no profile, or more than one; the message says where and what was looked for.
    RawFormatError
        If records cannot be understood at all, e.g. a device without its clock.
    """
    groups = registered_groups() if groups is None else groups
    products = registered_products() if products is None else products
    directory = locate(Path(path), products)
    known = schemas(groups) | {name: schema for each in products for name, schema in each.schemas.items()}
    if directory.results is not None:
        info = read_json_file(info_file(directory.results.root), [])
        return load_results(directory.results, product_of(directory.results.root, info, products).name, known)
    notes = list(directory.notes)
    toolkit = _read_toolkit(directory, groups)
    notes.extend(toolkit.notes)
    info = read_json_file(info_file(directory.path), notes)
    metadata = read_json_file(directory.path / METADATA_FILE, notes)
    if _RESULT.search(directory.path.name) and not info_file(directory.path).is_file():
        notes.append("profiler_info*.json is missing: the recording was not written to its end; data may be missing")
    product = product_of(directory.path, info, products)
    framework = no_framework()
    if directory.framework_path is not None:
        at_stage("Reading what the framework recorded")
        framework = product.read(directory.framework_path, product.clock(info, toolkit.clock, notes))
    notes.extend(framework.notes)
    facts = dict(toolkit.facts)
    facts["pid"] = facts["pid"] or _first_pid(framework)
    facts["rank_id"] = read_rank(info, facts["rank_id"])
    return Profile(
        path=directory.path,
        prof_path=directory.prof_path,
        framework_path=directory.framework_path,
        **facts,
        **{
            **toolkit.tables,
            **framework.tables,
            "group_tables": toolkit.tables.get("group_tables", {}) | framework.group_tables,
        },
        schemas=known,
        product=product.name,
        notes=tuple(notes),
        profiler_info=info,
        metadata=metadata,
    )


def _read_toolkit(directory: ProfileDirectory, groups: Sequence[RecordGroup]) -> Toolkit:
    if directory.prof_path is None:
        return no_toolkit()
    try:
        return load_toolkit(directory.prof_path, groups)
    except (OutputError, RawFormatError) as error:
        # A run killed at its start: what the framework wrote is worth reading on its own.
        if directory.framework_path is None:
            raise
        return evolve(no_toolkit(), notes=(f"{directory.prof_path.name} could not be read and was left out: {error}",))


def _first_pid(framework: FrameworkTables) -> int:
    ops = stored(framework.tables["host_ops"])
    return int(ops.numbers["pid"][0]) if ops.height else 0
