"""The kinds of record and database tables of tasks."""

from __future__ import annotations

from drynpu.layouts import tasks
from drynpu.writers.db import db_table

KINDS = tasks.KINDS

DB_TABLES = (
    db_table(
        "TASK",
        "startNs endNs deviceId connectionId globalTaskId globalPid taskType contextId streamId taskId modelId",
        ("TaskIndex", ("startNs", "globalTaskId")),
    ),
    db_table(
        "COMPUTE_TASK_INFO",
        """name globalTaskId* blockNum mixBlockNum taskType opType inputFormats inputDataTypes inputShapes
        outputFormats outputDataTypes outputShapes attrInfo opState hf32Eligible gridDim blockDim""",
    ),
    db_table("COMMUNICATION_SCHEDULE_TASK_INFO", "name globalTaskId* taskType opType"),
    db_table("MEMCPY_INFO", "globalTaskId size memcpyOperation", others="N"),
)
