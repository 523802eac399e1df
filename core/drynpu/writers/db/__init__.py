"""The schema of the toolkit's database, and tables stored in SQLite in bulk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.writers.db._schema import (
        ANALYSIS_TABLES,
        SCHEMA_VERSION,
        TABLES,
        TORCH_TABLES,
        Table,
        db_table,
        tables_by_name,
        without_keys,
    )
    from drynpu.writers.db._writer import STRINGS, DatabaseWriter, new_database
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "ANALYSIS_TABLES",
    "SCHEMA_VERSION",
    "STRINGS",
    "TABLES",
    "TORCH_TABLES",
    "DatabaseWriter",
    "Table",
    "db_table",
    "new_database",
    "tables_by_name",
    "without_keys",
]
