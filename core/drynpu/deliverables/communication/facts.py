"""The kinds of record, database tables and lines of README.txt of collective communication."""

from __future__ import annotations

from drynpu.layouts import communication
from drynpu.writers.db import db_table

KINDS = communication.KINDS

DB_TABLES = (
    db_table(
        "COMMUNICATION_TASK_INFO",
        """name globalTaskId taskType planeId groupName notifyId rdmaType srcRank dstRank transportType size dataType
        linkType opId isMaster bandwidth:N""",
        ("CommunicationTaskIndex", ("globalTaskId",)),
    ),
    db_table(
        "COMMUNICATION_OP",
        """opName startNs endNs connectionId groupName opId* relay retry dataType algType count:N opType deviceId
        rankSize""",
    ),
)

README = {"communication_statistic.csv": "Number and time of communication operators by type."}
