"""The kinds of record and database tables of calls of the toolkit on the host."""

from __future__ import annotations

from drynpu.layouts import calls
from drynpu.writers.db import db_table

KINDS = calls.KINDS

DB_TABLES = (db_table("CANN_API", "startNs endNs type globalTid connectionId* name"),)
