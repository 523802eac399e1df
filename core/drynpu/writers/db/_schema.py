"""
Tables of the toolkit's database, schema 1.2.0 (cann_msprof.md 4.6; types: Ascend/msprof application/database).

Torch's profiler adds its own to them and has a second database for its analyses (torch_npu_profiler.md 4.16, 4.17). A
column of numbers that is given as text holds the number of the text in STRING_IDS.
"""

from __future__ import annotations

from collections.abc import Mapping
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

    def insert(self) -> str:
        """Return the statement that adds a row."""
        return f"INSERT INTO {self.name} VALUES ({','.join('?' * len(self.columns))})"


def _table(name: str, columns: str, index: tuple[str, tuple[str, ...]] | None = None, *, others: str = "I") -> Table:
    """Return a table; a column is ``name``, ``name:type letter`` or ``name*`` (primary key), type *others* if none."""
    key, types = "", {}
    for part in columns.split():
        column, _, letter = part.partition(":")
        if column.endswith("*"):
            key = column = column.rstrip("*")
        types[column] = _TYPES[letter or others]
    return Table(name, MappingProxyType(types), key, index)


_PORT = """
    deviceId timestampNs bandwidth rxPacketRate:N rxByteRate:N rxPackets rxBytes rxErrors rxDropped
    txPacketRate:N txByteRate:N txPackets txBytes txErrors txDropped funcId
"""
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
    _table("STRING_IDS", "id* value:T"),
    _table("SESSION_TIME_INFO", "startTimeNs endTimeNs"),
    _table("NPU_INFO", "id name:T"),
    _table("RANK_DEVICE_MAP", "rankId deviceId"),
    _table("HOST_INFO", "hostUid:T hostName:T"),
    _table("META_DATA", "name:T value:T"),
    _table(
        "TASK",
        "startNs endNs deviceId connectionId globalTaskId globalPid taskType contextId streamId taskId modelId",
        ("TaskIndex", ("startNs", "globalTaskId")),
    ),
    _table(
        "COMPUTE_TASK_INFO",
        """name globalTaskId* blockNum mixBlockNum taskType opType inputFormats inputDataTypes inputShapes
        outputFormats outputDataTypes outputShapes attrInfo opState hf32Eligible gridDim blockDim""",
    ),
    _table("COMMUNICATION_SCHEDULE_TASK_INFO", "name globalTaskId* taskType opType"),
    _table(
        "COMMUNICATION_TASK_INFO",
        """name globalTaskId taskType planeId groupName notifyId rdmaType srcRank dstRank transportType size dataType
        linkType opId isMaster bandwidth:N""",
        ("CommunicationTaskIndex", ("globalTaskId",)),
    ),
    _table(
        "COMMUNICATION_OP",
        """opName startNs endNs connectionId groupName opId* relay retry dataType algType count:N opType deviceId
        rankSize""",
    ),
    _table("CANN_API", "startNs endNs type globalTid connectionId* name"),
    _table("MEMCPY_INFO", "globalTaskId size memcpyOperation", others="N"),
    _table("TASK_PMU_INFO", "globalTaskId name value:N"),
    _table("SAMPLE_PMU_TIMELINE", "deviceId timestampNs totalCycle usage:N freq:N coreId coreType"),
    _table("SAMPLE_PMU_SUMMARY", "deviceId metric value:N coreId coreType"),
    _table("NPU_MEM", "type ddr:N hbm:N timestampNs deviceId"),
    _table("NPU_MODULE_MEM", "moduleId timestampNs totalReserved:N deviceId"),
    _table(
        "NPU_OP_MEM",
        "operatorName addr type size timestampNs globalTid totalAllocate:N totalReserve:N component deviceId",
    ),
    _table("AICORE_FREQ", "deviceId timestampNs:N freq dieId:N"),
    _table("HBM", "deviceId timestampNs bandwidth:N hbmId type"),
    _table("DDR", "deviceId timestampNs read:N write:N"),
    _table("LLC", "deviceId llcId timestampNs hitRate:R throughput mode"),
    _table("NIC", _PORT),
    _table("ROCE", _PORT),
    _table("HCCS", "deviceId timestampNs txThroughput:N rxThroughput:N"),
    _table(
        "PCIE",
        """deviceId:I timestampNs:I txPostMin txPostMax txPostAvg txNonpostMin txNonpostMax txNonpostAvg
        txCplMin txCplMax txCplAvg txNonpostLatencyMin txNonpostLatencyMax txNonpostLatencyAvg
        rxPostMin rxPostMax rxPostAvg rxNonpostMin rxNonpostMax rxNonpostAvg rxCplMin rxCplMax rxCplAvg""",
        others="N",
    ),
    _table("SIO", "deviceId name timestampNs rxReq rxRsp rxSnp rxDat txReq txRsp txSnp txDat", others="N"),
    _table("UB", "deviceId portId timestampNs rxUdmaBind txUdmaBind", others="N"),
    _table(
        "NETDEV_STATS",
        """deviceId timestampNs macTxPfcPkt macRxPfcPkt macTxByte macTxBandwidth:N macRxByte macRxBandwidth:N
        macTxBadByte macRxBadByte roceTxPkt roceRxPkt roceTxErrPkt roceRxErrPkt roceTxCnpPkt roceRxCnpPkt roceNewPktRty
        nicTxByte nicTxBandwidth:N nicRxByte nicRxBandwidth:N""",
    ),
    _table("ACC_PMU", "accId readBwLevel writeBwLevel readOstLevel writeOstLevel timestampNs:N deviceId"),
    _table("SOC_BANDWIDTH_LEVEL", "l2BufferBwLevel mataBwLevel timestampNs:N deviceId"),
    _table("QOS", "deviceId:I eventName bandwidth timestampNs dieId", others="N"),
    _table(
        "MSTX_EVENTS",
        "startNs endNs eventType rangeId category message globalTid endGlobalTid domainId connectionId",
    ),
    _table("CPU_USAGE", "timestampNs cpuId usage", others="N"),
    _table("HOST_MEM_USAGE", "timestampNs usage", others="N"),
    _table("HOST_DISK_USAGE", "timestampNs readRate writeRate usage", others="N"),
    _table("HOST_NETWORK_USAGE", "timestampNs usage speed", others="N"),
    _table("OSRT_API", "name globalTid startNs endNs", others="N"),
    _table("OVERLAP_ANALYSIS", "id* deviceId startNs:N endNs:N type"),
    *(_table(f"ENUM_{name}", "id* name:T") for name in _ENUMS),
)

_TORCH = (
    _table(
        "PYTORCH_API",
        """startNs:T endNs:T globalTid connectionId name sequenceNumber fwdThreadId inputDtypes inputShapes callchainId
        type""",
    ),
    _table("CONNECTION_IDS", "id connectionId"),
    _table("PYTORCH_CALLCHAINS", "id stack stackDepth"),
    _table("MEMORY_RECORD", "component timestamp totalAllocated totalReserved totalActive streamPtr deviceId"),
    _table(
        "OP_MEMORY",
        """name size allocationTime releaseTime activeReleaseTime duration activeDuration allocationTotalAllocated
        allocationTotalReserved allocationTotalActive releaseTotalAllocated releaseTotalReserved releaseTotalActive
        streamPtr deviceId""",
    ),
    _table("STEP_TIME", "id startNs endNs"),
    _table("GC_RECORD", "startNs endNs globalTid"),
)
_ANALYSIS = (
    _table(
        "CommAnalyzerBandwidth",
        """hccl_op_name:T group_name:T transport_type:T transit_size transit_time bandwidth large_packet_ratio
        package_size count total_duration step:T type:T""",
        others="N",
    ),
    _table(
        "CommAnalyzerMatrix",
        """hccl_op_name:T group_name:T src_rank:T dst_rank:T transport_type:T transit_size transit_time bandwidth step:T
        type:T op_name:T""",
        others="N",
    ),
    _table(
        "CommAnalyzerTime",
        """hccl_op_name:T group_name:T start_timestamp elapse_time transit_time wait_time synchronization_time idle_time
        step:T type:T""",
        others="N",
    ),
    _table(
        "StepTraceTime",
        """deviceId:I step:T computing communication_not_overlapped overlapped communication free stage bubble
        communication_not_overlapped_and_exclude_receive preparing""",
        others="N",
    ),
)


def _by_name(*tables: Table) -> Mapping[str, Table]:
    return MappingProxyType({table.name: table for table in tables})


TABLES: Mapping[str, Table] = _by_name(*_ALL)
"""Every table of the toolkit by name; a database has those that have rows."""

TORCH_TABLES: Mapping[str, Table] = _by_name(*_ALL, *_TORCH)
"""Tables of ``ascend_pytorch_profiler*.db``, which is the toolkit's database with torch's tables added."""

FRAMEWORK_TABLES: Mapping[str, Table] = _by_name(*(evolve(table, key="") for table in TORCH_TABLES.values()))
"""The same where the toolkit recorded nothing: torch makes its tables without primary keys."""

ANALYSIS_TABLES: Mapping[str, Table] = _by_name(*_ANALYSIS)
"""Tables of ``analysis.db``."""
