"""The kinds of record, database tables and lines of README.txt of the memory of operators."""

from __future__ import annotations

from drynpu.layouts import operator_memory
from drynpu.layouts.result_files import MEMORY_RECORD_FILE, OPERATOR_MEMORY_FILE
from drynpu.writers.db import db_table

KINDS = operator_memory.KINDS

DB_TABLES = (
    db_table(
        "NPU_OP_MEM",
        "operatorName addr type size timestampNs globalTid totalAllocate:N totalReserve:N component deviceId",
    ),
)

README = {
    MEMORY_RECORD_FILE: "Memory held by the toolkit's operators after every allocation and release.",
    OPERATOR_MEMORY_FILE: "One row per allocation of an operator, with its release.",
}
