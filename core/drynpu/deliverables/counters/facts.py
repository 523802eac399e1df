"""The kinds of record and database tables of the counters of tasks."""

from __future__ import annotations

from drynpu.layouts import counters
from drynpu.writers.db import db_table

KINDS = counters.KINDS

DB_TABLES = (db_table("TASK_PMU_INFO", "globalTaskId name value:N"),)
