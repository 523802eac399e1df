"""Groups that are called only where they have data: they name every table that they read."""

from __future__ import annotations

import inspect
import re
from importlib import import_module

import pytest

from drynpu.deliverables.registry import GROUPS, schemas

NAMED = [group for group in GROUPS if group.read_tables]


@pytest.mark.parametrize("name", [group.name for group in NAMED])
def test_a_group_lists_the_tables_it_reads(name: str) -> None:
    files = import_module(f"drynpu.deliverables.{name}.files")
    used = set(re.findall(r'"(\w+)"', inspect.getsource(files).partition("READ_TABLES = ")[2].partition(")\n")[2]))
    assert used & set(schemas(GROUPS)) == set(files.READ_TABLES)
    assert len(NAMED) == 11
