"""The kinds of record, database tables and lines of README.txt of the memory of operators."""

from __future__ import annotations

from drynpu.layouts import operator_memory
from drynpu.writers.db import db_table

KINDS = operator_memory.KINDS

DB_TABLES = (
    db_table(
        "NPU_OP_MEM",
        "operatorName addr type size timestampNs globalTid totalAllocate:N totalReserve:N component deviceId",
    ),
)

README = {
    "memory_record.csv": "Memory held by the toolkit's operators after every allocation and release.",
    "operator_memory.csv": "One row per allocation of an operator, with its release.",
}
