"""
The toolkit's database: every table of a profile in one SQLite file.

``_schema`` says which tables there are, ``_tasks``, ``_host`` and ``_samples`` make their rows from the tables of a
profile, ``_writer`` stores them in bulk and numbers their texts. ``_communication`` is a database of its own.
"""

from __future__ import annotations

from drynpu.export.db._communication import export_communication_db
from drynpu.export.db._export import export_msprof_db
from drynpu.export.db._schema import SCHEMA_VERSION, TABLES, Table
from drynpu.export.db._writer import DatabaseWriter, new_database

__all__ = [
    "SCHEMA_VERSION",
    "TABLES",
    "DatabaseWriter",
    "Table",
    "export_communication_db",
    "export_msprof_db",
    "new_database",
]
