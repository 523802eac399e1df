"""The schema of the toolkit's database, and tables stored in SQLite in bulk."""

from __future__ import annotations

from drynpu.writers.db._schema import ANALYSIS_TABLES, SCHEMA_VERSION, TABLES, TORCH_TABLES, Table, db_table
from drynpu.writers.db._writer import DatabaseWriter, new_database

__all__ = [
    "ANALYSIS_TABLES",
    "SCHEMA_VERSION",
    "TABLES",
    "TORCH_TABLES",
    "DatabaseWriter",
    "Table",
    "db_table",
    "new_database",
]
