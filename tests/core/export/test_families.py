"""Groups that are asked only where they have data: they say of every table that they read it."""

from __future__ import annotations

import inspect
import re
from types import ModuleType

import pytest

from drynpu.deliverables import files as families
from drynpu.deliverables.tables import SCHEMAS

GROUPS = [group for group in vars(families).values() if isinstance(group, ModuleType) and hasattr(group, "TABLES")]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__.rpartition(".")[2])
def test_a_group_lists_the_tables_it_reads(group: ModuleType) -> None:
    named = set(re.findall(r'"(\w+)"', inspect.getsource(group).partition('"""What its files')[2]))
    assert named & set(SCHEMAS) == set(group.TABLES)
    assert len(GROUPS) == 7
