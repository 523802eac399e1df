"""
Tables of the toolkit's database, schema 1.2.0 (cann_msprof.md 4.6; types: Ascend/msprof application/database).

Torch's profiler adds its own to them and has a second database for its analyses (torch_npu_profiler.md 4.16, 4.17). A
column of numbers that is given as text holds the number of the text in STRING_IDS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from attrs import evolve, field, frozen

SCHEMA_VERSION = (1, 2, 0)

_TYPES = {"I": "INTEGER", "N": "NUMERIC", "R": "REAL", "T": "TEXT"}


@frozen
class Table:
    """One table: column name -> SQLite type, the primary key (``""`` if none) and an index (name, columns)."""

    name: str
    columns: Mapping[str, str] = field(hash=False)
    key: str = ""
    index: tuple[str, tuple[str, ...]] | None = None

    def create(self) -> str:
        """Return the statement that makes the table."""
        columns = (
            f"{name} {kind} PRIMARY KEY" if name == self.key else f"{name} {kind}"
            for name, kind in self.columns.items()
        )
        return f"CREATE TABLE {self.name} ({','.join(columns)})"

    def insert(self, rows: int = 1) -> str:
        """Return the statement that adds so many rows."""
        row = f"({','.join('?' * len(self.columns))})"
        return f"INSERT INTO {self.name} VALUES {','.join([row] * rows)}"


def db_table(name: str, columns: str, index: tuple[str, tuple[str, ...]] | None = None, *, others: str = "I") -> Table:
    """Return a table; a column is ``name``, ``name:type letter`` or ``name*`` (primary key), type *others* if none."""
    key, types = "", {}
    for part in columns.split():
        column, _, letter = part.partition(":")
        if column.endswith("*"):
            key = column = column.rstrip("*")
        types[column] = _TYPES[letter or others]
    return Table(name, MappingProxyType(types), key, index)


_ENUMS = (
    "API_TYPE",
    "HCCL_DATA_TYPE",
    "HCCL_LINK_TYPE",
    "HCCL_RDMA_TYPE",
    "HCCL_TRANSPORT_TYPE",
    "MEMCPY_OPERATION",
    "MODULE",
    "MSTX_EVENT_TYPE",
    "OVERLAP_ANALYSIS_TYPE",
)

_ALL = (
    db_table("STRING_IDS", "id* value:T"),
    db_table("SESSION_TIME_INFO", "startTimeNs endTimeNs"),
    db_table("NPU_INFO", "id name:T"),
    db_table("RANK_DEVICE_MAP", "rankId deviceId"),
    db_table("HOST_INFO", "hostUid:T hostName:T"),
    db_table("META_DATA", "name:T value:T"),
    *(db_table(f"ENUM_{name}", "id* name:T") for name in _ENUMS),
)

_TORCH = (
    db_table(
        "PYTORCH_API",
        """startNs:T endNs:T globalTid connectionId name sequenceNumber fwdThreadId inputDtypes inputShapes callchainId
        type""",
    ),
    db_table("CONNECTION_IDS", "id connectionId"),
    db_table("PYTORCH_CALLCHAINS", "id stack stackDepth"),
    db_table("MEMORY_RECORD", "component timestamp totalAllocated totalReserved totalActive streamPtr deviceId"),
    db_table(
        "OP_MEMORY",
        """name size allocationTime releaseTime activeReleaseTime duration activeDuration allocationTotalAllocated
        allocationTotalReserved allocationTotalActive releaseTotalAllocated releaseTotalReserved releaseTotalActive
        streamPtr deviceId""",
    ),
    db_table("STEP_TIME", "id startNs endNs"),
    db_table("GC_RECORD", "startNs endNs globalTid"),
)
_ANALYSIS = (
    db_table(
        "CommAnalyzerBandwidth",
        """hccl_op_name:T group_name:T transport_type:T transit_size transit_time bandwidth large_packet_ratio
        package_size count total_duration step:T type:T""",
        others="N",
    ),
    db_table(
        "CommAnalyzerMatrix",
        """hccl_op_name:T group_name:T src_rank:T dst_rank:T transport_type:T transit_size transit_time bandwidth step:T
        type:T op_name:T""",
        others="N",
    ),
    db_table(
        "CommAnalyzerTime",
        """hccl_op_name:T group_name:T start_timestamp elapse_time transit_time wait_time synchronization_time idle_time
        step:T type:T""",
        others="N",
    ),
    db_table(
        "StepTraceTime",
        """deviceId:I step:T computing communication_not_overlapped overlapped communication free stage bubble
        communication_not_overlapped_and_exclude_receive preparing""",
        others="N",
    ),
)


def tables_by_name(tables: Iterable[Table]) -> Mapping[str, Table]:
    """Return tables by name."""
    return MappingProxyType({table.name: table for table in tables})


TABLES: tuple[Table, ...] = _ALL
"""Tables of the toolkit that are of no record group."""

TORCH_TABLES: tuple[Table, ...] = _TORCH
"""What ``ascend_pytorch_profiler*.db`` has beside the tables of the toolkit."""


def without_keys(tables: Mapping[str, Table]) -> Mapping[str, Table]:
    """Return tables as torch makes them where the toolkit recorded nothing: without primary keys."""
    return tables_by_name(evolve(table, key="") for table in tables.values())


ANALYSIS_TABLES: Mapping[str, Table] = tables_by_name(_ANALYSIS)
"""Tables of ``analysis.db``."""
