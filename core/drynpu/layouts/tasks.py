"""Facts of tasks: descriptions of operators, launches, and when tasks ran on the device."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from types import MappingProxyType

from drynpu.layouts.schedulers import KINDS as SCHEDULER_KINDS
from drynpu.raw import (
    DATA_BYTES,
    HostLevel,
    RecordKind,
    additional_info,
    compact_info,
    layout,
)

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
    CAPTURE_STREAM_INFO = 803
    FIRST_API = 1000


MAINTENANCE, FLIP_TASK = "MAINTENANCE", "FLIP_TASK"
"""Types of launches that are no work: upkeep of a stream, and the turn of its task ids."""

RUNTIME_TASK_TYPES: Mapping[str, int] = MappingProxyType(
    {"KERNEL_AICORE": 0, "KERNEL_AICPU": 1, "KERNEL_AIVEC": 66, MAINTENANCE: 6, FLIP_TASK: 98}
)
"""
Numbers of task types that parsers know, whatever the dictionary says: the native path drops launches of type 6 and
takes records of type 98 for the turn of a stream's task ids (cann_msprof.md 7.2).
"""

MODEL_EXECUTE = "ModelExecute"
MODEL_API_TYPES: Mapping[str, int] = MappingProxyType(
    {name: number for number, name in enumerate((MODEL_EXECUTE, "ModelLoad", "InputCopy", "OutputCopy"), start=1)}
)
"""Types of the model level (cann_msprof.md 7.2)."""


class AclTag(enum.IntEnum):
    """
    Family of a call into ACL, the high half of its type: ``Mode`` of the timeline (cann_msprof.md 7.2).

    Numbers come from Ascend/msprof ``analysis/profiling_bean/prof_enum/data_tag.py``, whose reader refuses all calls
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
        "aclmdlRI": AclTag.ACL_RTS,  # of the runtime, too (hicann/runtime src/acl/common/prof_reporter.h)
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


NODE_BASIC_INFO = compact_info(
    "node_basic_info",
    HostLevel.NODE,
    NodeType.BASIC_INFO,
    28,
    ("op_name", "<u8", 24),  # text id
    ("task_type", "<u4", 32),  # GeTaskType
    ("op_type", "<u8", 36),  # text id
    ("block_dim", "<u4", 44),  # low 16 bits blocks, high 16 bits how many times as many mix blocks
    ("op_flag", "<u4", 48),  # bit 0 HF32
)
"""What an operator is, reported inside its node API call."""

MIX_RATIO_SHIFT = 16
"""Of ``block_dim`` (Ascend/msprof analysis/msparser/compact_info/node_basic_info_bean.py)."""

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
    18,
    ("size_bytes", "<u8", 24),
    ("largest_bytes", "<u8", 32),  # of one task
    ("copy_kind", "<u2", 40),
)
"""One memory copy (``MsprofMemcpyInfo`` of Ascend/msprof analysis/csrc/infrastructure/utils/prof_common.h)."""

KINDS: tuple[RecordKind, ...] = (
    *(NODE_BASIC_INFO, NODE_ATTR_INFO, TENSOR_INFO, CONTEXT_ID_INFO, TASK_TRACK, MEMCPY_INFO),
    *SCHEDULER_KINDS,
)


SCHEDULING_SUFFIX = "AicpuKernel"
"""Ends the name of a kernel that computes nothing but lets the AI CPU schedule a collective."""

ASYNCHRONOUS_COPY = "MEMCPY_ASYNC"
"""The host's name for a task that copies while the host goes on (Ascend/msprof, runtime task types)."""
