"""
The toolkit's database: every table of a profile in one SQLite file.

``_schema`` says which tables there are, ``_tasks``, ``_host`` and ``_samples`` make their rows from the tables of a
profile, ``_writer`` stores them in bulk and numbers their texts. ``_torch_*`` make what torch's profiler adds,
``_communication`` is a database of its own, with the rows of ``_communication_rows`` as ``_torch_analysis`` has them.
"""

from __future__ import annotations

from drynpu.export.db._communication import export_communication_db
from drynpu.export.db._export import export_msprof_db
from drynpu.export.db._schema import ANALYSIS_TABLES, FRAMEWORK_TABLES, SCHEMA_VERSION, TABLES, TORCH_TABLES, Table
from drynpu.export.db._torch_export import export_torch_db
from drynpu.export.db._writer import DatabaseWriter, new_database

__all__ = [
    "ANALYSIS_TABLES",
    "FRAMEWORK_TABLES",
    "SCHEMA_VERSION",
    "TABLES",
    "TORCH_TABLES",
    "DatabaseWriter",
    "Table",
    "export_communication_db",
    "export_msprof_db",
    "export_torch_db",
    "new_database",
]
