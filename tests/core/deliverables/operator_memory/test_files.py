"""Memory of the toolkit's operators in the database and as text."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import polars as pl

from drynpu.deliverables.operator_memory.files import db_rows
from drynpu.deliverables.operator_memory.tables import SCHEMAS


def test_what_takes_no_less_than_nothing_is_an_allocation() -> None:
    (schema,) = SCHEMAS.values()
    neutral = {column: "" if dtype == pl.String else 0 for column, dtype in schema.items()}
    rows = [{**neutral, "size_bytes": size, "name": name} for size, name in ((32, "Mm"), (-64, ""), (0, "Add"))]
    profile: Any = SimpleNamespace(pid=4321, frame=lambda name: pl.DataFrame(rows, schema=schema))
    ((_, found),) = db_rows(profile)
    assert found["size"].to_list() == [32, 64, 0]
    assert found["operatorName"].to_list() == ["Mm", "N/A", "Add"]
    kinds = found["type"].to_list()
    assert kinds[0] == kinds[2] != kinds[1]
