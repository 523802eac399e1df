"""The schema of the toolkit's database, and tables stored in SQLite in bulk."""

from __future__ import annotations

from drynpu.writers.db._schema import ANALYSIS_TABLES, FRAMEWORK_TABLES, SCHEMA_VERSION, TABLES, TORCH_TABLES, Table
from drynpu.writers.db._writer import DatabaseWriter, new_database

__all__ = [
    "ANALYSIS_TABLES",
    "FRAMEWORK_TABLES",
    "SCHEMA_VERSION",
    "TABLES",
    "TORCH_TABLES",
    "DatabaseWriter",
    "Table",
    "new_database",
]
