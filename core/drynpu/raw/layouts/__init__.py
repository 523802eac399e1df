"""
The record layouts of a profile, one declaration each, used by the writer and the reader alike.

Every dtype is packed and little-endian; bytes that the reference calls reserved have no field and stay zero.
Offsets are those of cann_msprof.md 7.3 and 7.4 for ``PROF_XXX`` and of torch_npu_profiler.md 3.7 for ``FRAMEWORK``;
layouts that cann_msprof.md leaves open name their source.
"""

from __future__ import annotations

from drynpu.raw.layouts._aicpu import (
    AICPU_DATA_PREPARATION,
    AICPU_MODEL,
    AICPU_NODE,
    AICPU_QUEUE,
)
from drynpu.raw.layouts._device_tasks import (
    AI_CORE_SAMPLE,
    FFTS_PROFILE,
    L2_CACHE,
    SOC_PMU,
    STARS_SOC,
    TS_TRACK_BLOCK_NUMBER,
    TS_TRACK_FLIP,
    TS_TRACK_MEMCPY,
    TS_TRACK_STEP,
    TS_TRACK_TASK_TYPE,
)
from drynpu.raw.layouts._framework import (
    GC_RECORD,
    HASH_KEY,
    MEMORY_USAGE,
    OP_MARK,
    OP_RANGE,
    PYTHON_TRACER_FUNC,
)
from drynpu.raw.layouts._host import (
    API_EVENT,
    CONTEXT_ID_INFO,
    CONTEXT_IDS_PER_RECORD,
    FUSION_OP_INFO,
    FUSION_OPS_PER_RECORD,
    GRAPH_ID_MAP,
    HCCL_OP_INFO,
    MEMCPY_INFO,
    NODE_ATTR_INFO,
    NODE_BASIC_INFO,
    TASK_TRACK,
    TENSOR,
    TENSOR_INFO,
    TENSORS_PER_RECORD,
)
from drynpu.raw.layouts._host_events import (
    HCCL_INFO,
    MSPROFTX,
    STATIC_OP_MEM,
    TASK_MEMORY_INFO,
    TX_MESSAGE_BYTES,
)
from drynpu.raw.layouts._samples import (
    DDR,
    FREQ_POINT,
    FREQ_POINTS,
    HBM,
    LLC,
    LPM_FREQ,
    LPM_INFO,
    LPM_POINT,
    NPU_MEM,
    NPU_MODULE_MEM,
    PCIE,
    QOS,
    QOS_STREAMS,
)
from drynpu.raw.layouts._soc import (
    ACC_PMU,
    CHIP_TRANS,
    SIO,
    SOC_BANDWIDTH,
)

__all__ = [
    "ACC_PMU",
    "AICPU_DATA_PREPARATION",
    "AICPU_MODEL",
    "AICPU_NODE",
    "AICPU_QUEUE",
    "AI_CORE_SAMPLE",
    "API_EVENT",
    "CHIP_TRANS",
    "CONTEXT_IDS_PER_RECORD",
    "CONTEXT_ID_INFO",
    "DDR",
    "FFTS_PROFILE",
    "FREQ_POINT",
    "FREQ_POINTS",
    "FUSION_OPS_PER_RECORD",
    "FUSION_OP_INFO",
    "GC_RECORD",
    "GRAPH_ID_MAP",
    "HASH_KEY",
    "HBM",
    "HCCL_INFO",
    "HCCL_OP_INFO",
    "L2_CACHE",
    "LLC",
    "LPM_FREQ",
    "LPM_INFO",
    "LPM_POINT",
    "MEMCPY_INFO",
    "MEMORY_USAGE",
    "MSPROFTX",
    "NODE_ATTR_INFO",
    "NODE_BASIC_INFO",
    "NPU_MEM",
    "NPU_MODULE_MEM",
    "OP_MARK",
    "OP_RANGE",
    "PCIE",
    "PYTHON_TRACER_FUNC",
    "QOS",
    "QOS_STREAMS",
    "SIO",
    "SOC_BANDWIDTH",
    "SOC_PMU",
    "STARS_SOC",
    "STATIC_OP_MEM",
    "TASK_MEMORY_INFO",
    "TASK_TRACK",
    "TENSOR",
    "TENSORS_PER_RECORD",
    "TENSOR_INFO",
    "TS_TRACK_BLOCK_NUMBER",
    "TS_TRACK_FLIP",
    "TS_TRACK_MEMCPY",
    "TS_TRACK_STEP",
    "TS_TRACK_TASK_TYPE",
    "TX_MESSAGE_BYTES",
]
