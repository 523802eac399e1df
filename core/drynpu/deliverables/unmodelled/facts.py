"""Facts of what no simulation exists for: tables of the toolkit's database that stay empty."""

from __future__ import annotations

from drynpu.writers.db import db_table

DB_TABLES = (
    db_table("UB", "deviceId portId timestampNs rxUdmaBind txUdmaBind", others="N"),
    db_table(
        "NETDEV_STATS",
        """deviceId timestampNs macTxPfcPkt macRxPfcPkt macTxByte macTxBandwidth:N macRxByte macRxBandwidth:N
        macTxBadByte macRxBadByte roceTxPkt roceRxPkt roceTxErrPkt roceRxErrPkt roceTxCnpPkt roceRxCnpPkt roceNewPktRty
        nicTxByte nicTxBandwidth:N nicRxByte nicRxBandwidth:N""",
    ),
    db_table("OSRT_API", "name globalTid startNs endNs", others="N"),
)
