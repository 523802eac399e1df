"""Facts of tasks: descriptions of operators, launches, and when tasks ran on the device."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from drynpu.raw import (
    DATA_BYTES,
    STARS_MAGIC,
    HostLevel,
    RecordKind,
    additional_info,
    compact_info,
    device_kind,
    has_stars_magic,
    layout,
    ts_track_record,
)
from drynpu.writers.db import db_table

TENSORS_PER_RECORD = 5
"""Tensors that fit in one tensor_info record; an operator with more of them has several records."""

CONTEXT_IDS_PER_RECORD = 55
"""Context ids that fit in one context_id_info record."""


class NodeType(enum.IntEnum):
    """
    Type ids of the node level.

    Those that cann_msprof.md 7.2 leaves open (the type dictionary of a profile gives every type its name) follow CANN's
    public headers.
    """

    BASIC_INFO = 0
    TENSOR_INFO = 1
    FUSION_OP_INFO = 2
    CONTEXT_ID_INFO = 4
    LAUNCH = 5
    TASK_MEMORY_INFO = 6
    ATTR_INFO = 9
    HCCL_OP_INFO = 10
    STATIC_OP_MEM = 11


class RuntimeType(enum.IntEnum):
    """Type ids of the runtime level: task types lie below 800, API names begin at 1000."""

    MEMCPY_INFO = 801
    TASK_TRACK = 802
    FIRST_API = 1000


class AclTag(enum.IntEnum):
    """
    Family of a call into ACL, the high half of its type: ``Mode`` of the timeline (cann_msprof.md 7.2).

    Numbers are those of Ascend/msprof ``analysis/profiling_bean/prof_enum/data_tag.py``, whose reader refuses all calls
    of a run if one has a family outside this list.
    """

    ACL_OP = 1
    ACL_MODEL = 2
    ACL_RTS = 3
    ACL_OTHERS = 4
    ACL_NN = 5
    ACL_ASCENDC = 6
    HOST_HCCL = 7
    ACL_DVPP = 9
    ACL_GRAPH = 10
    ACL_ATB = 11


ACL_TAG_SHIFT = 16
"""Bits of the number below an `AclTag`."""

# Which calls belong to which family; every other call into ACL is one of ACL_OTHERS.
ACL_PREFIXES: Mapping[str, AclTag] = MappingProxyType(
    {
        "aclnn": AclTag.ACL_NN,
        "aclrt": AclTag.ACL_RTS,
        "aclmdl": AclTag.ACL_MODEL,
        "acldvpp": AclTag.ACL_DVPP,
        "aclop": AclTag.ACL_OP,
        "aclgrph": AclTag.ACL_GRAPH,
        "hcom": AclTag.HOST_HCCL,
        "Hccl": AclTag.HOST_HCCL,
    }
)


class GeTaskType(enum.IntEnum):
    """Task type of an operator in node_basic_info (AIV is shown as ``AI_VECTOR_CORE``)."""

    AI_CORE = 0
    AI_CPU = 1
    AIV = 2
    WRITE_BACK = 3
    MIX_AIC = 4
    MIX_AIV = 5
    FFTS_PLUS = 6
    DSA = 7
    DVPP = 8
    HCCL = 9
    FUSION = 10
    INVALID = 11


class SqeType(enum.IntEnum):
    """What kind of queue entry a device task is."""

    AI_CORE = 0
    AI_CPU = 1
    AIV = 2
    PLACE_HOLDER = 3
    EVENT_RECORD = 4
    EVENT_WAIT = 5
    NOTIFY_RECORD = 6
    NOTIFY_WAIT = 7
    WRITE_VALUE = 8
    SDMA = 11
    VPC = 12
    JPEGE = 13
    JPEGD = 14
    DSA = 15
    ROCCE = 16
    PCIE_DMA = 17
    HOST_CPU = 18
    CDQM = 19
    C_CORE = 20


class StarsFunction(enum.IntEnum):
    """Function of the header of stars_soc records (cann_msprof.md 7.4)."""

    TASK_START = 0x00
    TASK_END = 0x01
    SUB_TASK_START = 0x22
    SUB_TASK_END = 0x23


NODE_BASIC_INFO = compact_info(
    "node_basic_info",
    HostLevel.NODE,
    NodeType.BASIC_INFO,
    28,
    ("op_name", "<u8", 24),  # text id
    ("task_type", "<u4", 32),  # GeTaskType
    ("op_type", "<u8", 36),  # text id
    ("block_dim", "<u4", 44),  # low 16 bits blocks, high 16 bits mix blocks
    ("op_flag", "<u4", 48),  # bit 0 HF32
)
"""What an operator is, reported inside its node API call."""

NODE_ATTR_INFO = compact_info(
    "node_attr_info",
    HostLevel.NODE,
    NodeType.ATTR_INFO,
    20,
    ("op_name", "<u8", 24),  # text id
    ("attr_type", "<u4", 32),  # 0 operator attributes
    ("hash_id", "<u8", 36),  # text id of the attributes
)
"""Attributes of an operator as one text (packed; hicann/runtime MsprofAttrInfo, Ascend/msprof NODE_ATTR_INFO_FMT)."""

TENSOR = layout(
    44,
    ("direction", "<u4", 0),  # 0 input, 1 output
    ("format", "<u4", 4),
    ("data_type", "<u4", 8),
    ("shape", ("<u4", (8,)), 12),  # unused dimensions are 0
)

TENSOR_INFO = additional_info(
    "tensor_info",
    HostLevel.NODE,
    NodeType.TENSOR_INFO,
    DATA_BYTES,
    ("op_name", "<u8", 24),  # text id
    ("tensor_num", "<u4", 32),
    ("tensors", (TENSOR, (TENSORS_PER_RECORD,)), 36),
)
"""Up to five tensors of an operator, reported inside its node API call."""

CONTEXT_ID_INFO = additional_info(
    "context_id_info",
    HostLevel.NODE,
    NodeType.CONTEXT_ID_INFO,
    DATA_BYTES,
    ("op_name", "<u8", 24),  # text id
    ("count", "<u4", 32),
    ("ids", ("<u4", (CONTEXT_IDS_PER_RECORD,)), 36),  # the first ``count`` are meant
)
"""The FFTS+ contexts (sub-task ids) that belong to an operator (cann_msprof.md 7.3)."""

TASK_TRACK = compact_info(
    "task_track",
    HostLevel.RUNTIME,
    RuntimeType.TASK_TRACK,
    28,
    ("device_id", "<u2", 24),  # low 12 bits; the high four are 0 for an NPU
    ("stream_id", "<u2", 26),
    ("task_id", "<u2", 28),  # with batch_id one u32: the unique task id of the newer layout
    ("batch_id", "<u2", 30),
    ("task_type", "<u8", 32),  # type id of the runtime level
    ("kernel_name", "<u8", 40),  # text id
    ("num_blocks", "<u2", 48),
    ("args_size", "<u2", 50),
)
"""One task handed to a stream, reported inside the runtime API call that launched it."""

MEMCPY_INFO = compact_info(
    "memcpy_info",
    HostLevel.RUNTIME,
    RuntimeType.MEMCPY_INFO,
    16,
    ("size_bytes", "<u8", 24),
    ("copy_kind", "<u2", 32),
    ("device_id", "<u2", 34),
    ("stream_id", "<u4", 36),
)
"""One memory copy."""

STARS_SOC = device_kind(
    "stars_soc",
    "stars_soc.data",
    layout(
        64,
        ("header", "<u2", 0),  # pack_stars_header
        ("magic", "<u2", 2),
        ("stream_id", "<u2", 4),
        ("task_id", "<u2", 6),
        ("tick", "<u8", 8),
        ("sub_task_type", "u1", 16),  # 16..23 are for FFTS+ sub-tasks
        ("sub_task_id", "<u2", 18),
        ("ffts", "<u2", 20),  # 13 bits reserved, then 3 bits type
        ("thread_id", "<u2", 22),
    ),
    has_stars_magic,
    {"magic": STARS_MAGIC},
)
"""Start or end of a task or of an FFTS+ sub-task (`StarsFunction`)."""

TS_TRACK_MEMCPY = ts_track_record(
    "ts_track_memcpy",
    0x0B,
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("state", "u1", 20),  # 0 received, 1 start, 2 end
)
"""One state of a memory copy by the task scheduler (Ascend/msprof profiling_bean ts_memcpy)."""

TS_TRACK_TASK_TYPE = ts_track_record(
    "ts_track_task_type",
    0x0C,
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("task_type", "<u2", 20),
    ("state", "u1", 22),
)
"""The type of a task, reported by the task scheduler (cann_msprof.md 7.4)."""

TS_TRACK_FLIP = ts_track_record(
    "ts_track_flip",
    0x0E,
    ("stream_id", "<u2", 16),
    ("flip_number", "<u2", 18),
    ("task_id", "<u2", 22),
)
"""
A stream's 16-bit task ids begin again at ``task_id``; 65535 says that the stream was destroyed.
Tasks at or after ``tick`` on that stream belong to the next batch.
"""

TS_TRACK_BLOCK_NUMBER = ts_track_record(
    "ts_track_block_number",
    0x0F,
    ("stream_id", "<u2", 16),
    ("task_id", "<u2", 18),
    ("num_blocks", "<u4", 20),
)
"""How many blocks a task ran with (cann_msprof.md 7.4)."""

KINDS: tuple[RecordKind, ...] = (
    *(NODE_BASIC_INFO, NODE_ATTR_INFO, TENSOR_INFO, CONTEXT_ID_INFO, TASK_TRACK, MEMCPY_INFO),
    *(STARS_SOC, TS_TRACK_MEMCPY, TS_TRACK_TASK_TYPE, TS_TRACK_FLIP, TS_TRACK_BLOCK_NUMBER),
)

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
