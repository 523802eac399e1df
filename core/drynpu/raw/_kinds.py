"""
The numbers that say what a record is: levels, types, functions and kinds.

Source: cann_msprof.md 1.7, 7.2 to 7.4 and torch_npu_profiler.md 3.7. Type ids that the reference leaves open (the type
dictionary of a profile gives every type its name) follow CANN's public headers, those of ``aicpu.data``,
``stars_soc_profile.data``, ``socpmu.data`` and ``lpmInfoConv.data`` Ascend/msprof's parsers.
"""

from __future__ import annotations

import enum

__all__ = [
    "AicpuType",
    "FrameworkRecord",
    "GeTaskType",
    "Level",
    "LinkType",
    "LpmType",
    "ModelType",
    "NodeType",
    "OpRangeField",
    "RuntimeType",
    "SocPmuType",
    "SqeType",
    "StarsFunction",
    "TsFunction",
    "TxEvent",
    "TxInfo",
]


class Level(enum.IntEnum):
    """Level of a host record."""

    RUNTIME = 5000
    COMMUNICATION = 5500
    AICPU = 6000
    NODE = 10000
    MODEL = 15000
    ACL = 20000
    TX = 20500


class NodeType(enum.IntEnum):
    """Type ids of the node level."""

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


class ModelType(enum.IntEnum):
    """Type ids of the model level."""

    GRAPH_ID_MAP = 0


class AicpuType(enum.IntEnum):
    """Type ids of the AI CPU level; they single out the records of ``aicpu.data``."""

    NODE = 0
    DATA_PREPARATION = 1
    MODEL = 2
    QUEUE = 3


class TxInfo(enum.IntEnum):
    """What a msproftx record holds."""

    MARK = 0
    EXTENDED_MARK = 1


class TxEvent(enum.IntEnum):
    """Kind of a msproftx event."""

    MARKER = 0
    PUSH_POP = 1
    START_END = 2
    EXTENDED_MARKER = 3


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
    """Function field of the header that stars_soc, ffts_profile and stars_soc_profile records share."""

    TASK_START = 0x00
    TASK_END = 0x01
    STARS_QOS = 0x18
    SIO = 0x19
    ACC_PMU = 0x1A
    CHIP_TRANS = 0x1B
    SOC_BANDWIDTH = 0x1C
    SUB_TASK_START = 0x22
    SUB_TASK_END = 0x23
    CONTEXT_PMU = 0x28
    BLOCK_PMU = 0x29
    CONTEXT_PMU_V6 = 0x2A


class LinkType(enum.IntEnum):
    """SQE type field of a chip_trans record."""

    PCIE = 0b100010
    PA = 0b111111


class SocPmuType(enum.IntEnum):
    """What the counters of a socpmu record belong to."""

    L2_CACHE = 1
    SMMU = 2
    PAGE_FAULT = 4


class LpmType(enum.IntEnum):
    """What the points of a lpmInfoConv record are."""

    AI_CORE_MHZ = 0
    AI_CORE_MV = 1
    BUS_MV = 2


class TsFunction(enum.IntEnum):
    """Function byte of a ts_track record."""

    STEP_TRACE = 0x0A
    MEMCPY = 0x0B
    TASK_TYPE = 0x0C
    FLIP = 0x0E
    BLOCK_NUMBER = 0x0F


class FrameworkRecord(enum.IntEnum):
    """Record type of the TLV files in ``FRAMEWORK`` (torch_npu_profiler.md 3.7)."""

    OP_RANGE = 1
    OP_MARK = 2
    MEMORY_USAGE = 3
    PYTHON_HASH = 4
    PARAM_INFO = 5


class OpRangeField(enum.IntEnum):
    """Text fields of torch.op_range (torch_npu_profiler.md 3.7)."""

    NAME = 2
    INPUT_DTYPES = 3
    INPUT_SHAPES = 4
    INPUT_TENSORS = 5
    TENSOR_LISTS = 6
    SCALARS = 7
    CALL_STACK = 8
    MODULE_HIERARCHY = 9
    EXTRA_ARGS = 10
