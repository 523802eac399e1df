"""
The numbers of pyACL's calls under the C headers' names (pyacl_prof.md 3, 4, and the vendor's table of aclError).

The module ``acl`` has no constants, as the real one has none: programs write the numbers themselves. These are here
for those who want names: ``from drynpu_acl.constants import DataType``.
"""

from __future__ import annotations

import enum

MAX_OP_NAME_LEN = 257
"""``ACL_PROF_MAX_OP_NAME_LEN``: the length that older programs pass to ``get_op_name``."""
MAX_OP_TYPE_LEN = 65
"""``ACL_PROF_MAX_OP_TYPE_LEN``: the same for ``get_op_type``."""


class DataType(enum.IntFlag):
    """``ACL_PROF_*``: bits of the fourth argument of ``create_config``."""

    ACL_API = 0x1
    TASK_TIME = 0x2
    AICORE_METRICS = 0x4
    AICPU = 0x8
    L2CACHE = 0x10
    HCCL_TRACE = 0x20
    TRAINING_TRACE = 0x40
    MSPROFTX = 0x80
    RUNTIME_API = 0x100
    GE_API_L0 = 0x200
    TASK_TIME_L0 = 0x800
    TASK_MEMORY = 0x1000
    TASK_TIME_L2 = 0x2000
    OP_ATTR = 0x4000
    TASK_TIME_L3 = 0x8000
    GE_API_L1 = 0x100_0000


class AicoreMetrics(enum.IntEnum):
    """``ACL_AICORE_*``: the second argument of ``create_config`` and ``create_subscribe_config``."""

    ARITHMETIC_UTILIZATION = 0
    PIPE_UTILIZATION = 1
    MEMORY_BANDWIDTH = 2
    L0B_AND_WIDTH = 3
    RESOURCE_CONFLICT_RATIO = 4
    MEMORY_UB = 5
    L2_CACHE = 6
    PIPE_EXECUTE_UTILIZATION = 7
    MEMORY_ACCESS = 8
    NONE = 0xFF


class ConfigType(enum.IntEnum):
    """``ACL_PROF_*``: the first argument of ``set_config``; its value is a text."""

    STORAGE_LIMIT = 1
    SYS_HARDWARE_MEM_FREQ = 3
    LLC_MODE = 4
    SYS_IO_FREQ = 5
    SYS_INTERCONNECTION_FREQ = 6
    DVPP_FREQ = 7
    HOST_SYS = 8
    HOST_SYS_USAGE = 9
    HOST_SYS_USAGE_FREQ = 10
    LOW_POWER_FREQ = 11
    SYS_MEM_SERVICEFLOW = 12
    SYS_CPU_FREQ = 13
    OPTYPE = 14
    NTS_METRICS = 15
    PATH = 16


class StepTag(enum.IntEnum):
    """``ACL_STEP_*``: the second argument of ``get_step_timestamp``."""

    START = 0
    END = 1


class SubscribeFlag(enum.IntEnum):
    """``ACL_SUBSCRIBE_*``: what a subscription record describes."""

    OP = 0
    SUBGRAPH = 1
    OP_THREAD = 2
    NONE = 0xFF


class ReturnCode(enum.IntEnum):
    """``ACL_*``: what calls return. From 107000 on they come from the runtime, from 145000 on from the graph engine."""

    SUCCESS = 0
    FAILED = -1
    """What calls of msproftx return, whatever went wrong."""
    INVALID_PARAM = 100000
    UNINITIALIZE = 100001
    REPEAT_INITIALIZE = 100002
    INVALID_FILE = 100003
    PARSE_FILE = 100006
    INVALID_PROFILING_CONFIG = 100010
    INVALID_MODEL_ID = 100011
    READ_MODEL_FAILURE = 100014
    MODEL_INPUT_NOT_MATCH = 100017
    MODEL_OUTPUT_NOT_MATCH = 100018
    REPEAT_FINALIZE = 100037
    PROF_ALREADY_RUN = 100042
    PROF_NOT_RUN = 100043
    PARAM_INVALID = 107000
    INVALID_DEVICE = 107001
    CONTEXT_NULL = 107002
    STREAM_CONTEXT = 107003
    EVENT_TIMESTAMP_INVALID = 107006
    EVENT_TIMESTAMP_REVERSAL = 107007
    STREAM_SUBSCRIBE = 107011
    THREAD_SUBSCRIBE = 107012
    STREAM_NO_CALLBACK = 107015
    INVALID_HANDLE = 107017
    MODEL_ID_INVALID = 145003
    DYNAMIC_INPUT_LENGTH_INVALID = 145012
    DYNAMIC_BATCH_SIZE_INVALID = 145013
    AIPP_BATCH_EMPTY = 145014
    PROF_REPEAT_SUBSCRIBE = 148046
    PROF_API_CONFLICT = 148047
    FEATURE_UNSUPPORTED = 200006
    PROF_MODULES_UNSUPPORTED = 200007
    MEMORY_ALLOCATION = 207001
    FAILURE = 500000
    GE_FAILURE = 500002
    PROFILING_FAILURE = 500005
    MODEL_EXECUTE = 507011
    REPORT_TIMEOUT = 507012
    STREAM_SYNC_TIMEOUT = 507046
