"""Facts of what computing and communication have in common: derived from tasks, without records of its own."""

from __future__ import annotations

from drynpu.writers.db import db_table
from drynpu.writers.layers import Layer

OVERLAP_LAYER = Layer("Overlap Analysis", 31, "NPU")

DB_TABLES = (db_table("OVERLAP_ANALYSIS", "id* deviceId startNs:N endNs:N type"),)
