"""The kinds of record, database tables and lines of README.txt of marks."""

from __future__ import annotations

from drynpu.layouts import marks
from drynpu.writers.db import db_table

KINDS = marks.KINDS

DB_TABLES = (
    db_table(
        "MSTX_EVENTS",
        "startNs endNs eventType rangeId category message globalTid endGlobalTid domainId connectionId",
    ),
)

README = {
    "msprof_tx.csv": "One row per mark or range of the user, with its times on the device.",
    "msprof_tx.json": "Marks and ranges of the user, on the host and on the streams they were put on.",
}
