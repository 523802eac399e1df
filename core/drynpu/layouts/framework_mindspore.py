"""Facts of MindSpore's host events: the records of its ``FRAMEWORK`` files (mindspore_profiler.md 11)."""

from __future__ import annotations

import enum

import numpy as np

from drynpu.raw import layout

MS_ABSENT = 2**64 - 1
"""No flow (``flow_id``); a release (``size_bytes``)."""

MS_MODULES = (
    "Default",
    "GraphExecutorPy",
    "RuntimeFramework",
    "PynativeFramework",
    "Kernel",
    "Python",
    "Capture",
    "Other",
)
"""Which part of the framework an event is of."""

MS_STAGES = (
    "Default",
    "Python",
    "Capture",
    "RunGraph",
    "RunGrad",
    "RunOp",
    "Asnumpy",
    "CompileGradGraph",
    "WaitPipeline",
    "SyncStream",
)
"""What the framework as a whole was doing."""

_EVENT_WORDS = """
    Default KernelInfer KernelResize KernelInferAndResize KernelLaunch KernelLaunckCallback KernelUpdate
    KernelPrepareData GraphLaunch InputProcess OutputProcess WaitTaskFinish PreLaunch PostLaunch SendOutput MemoryAlloc
    MemoryFree CopyData StreamSync ProcessMultiStream WaitKernelsInferFinish WaitKernelsResizeFinish
    WaitKernelsLaunchFinish KernelInferInner KernelInferDataSync KernelResizeInner KernelLaunchInner
    BackendGraphRunInner RunOp PyNativeFrontendTask PyNativeBackendTask PyNativeDeviceTask PyNativeLaunchTask
    PyNativeBpropTask Wait PyNativeGilAcquire PyNativeCast PyNativeInfer PyNativeOpCompile PyNativeGradExpander
    PyNativeGradUpdateSens PyNativeGradClearTopCell PyNativeGradClearAutoGradCell PyBoostInferOutput
    PyBoostInferByOpDef PyBoostCreateOutputTensor PyBoostDeviceTask PyBoostMallocInput PyBoostMallocOutput
    PyBoostLaunchAclnn PyBoostLaunchAtb PyNativeNewGraph PyNativeEndGraph PythonObserved CaptureRunGraph CaptureProcess
    CaptureCompile CaptureGuard AclnnHitCacheStage1 AclnnHitCacheStage2 AclnnMissCacheStage1 AclnnMissCacheStage2
    AclnnUpdateAddress AclnnRunOp RunExpanderFunc EmitOp Execute ReleaseResource NativeFunc
"""

MS_EVENTS = tuple(_EVENT_WORDS.split())
"""What happened, ``KernelLaunckCallback`` included, which is the vendor's own spelling."""


class MsOpRangeField(enum.IntEnum):
    """Text fields of mindspore.op_range."""

    NAME = 13
    FULL_NAME = 14
    MODULE = 15
    EVENT = 16
    CUSTOM_INFO = 17


class MsMemoryField(enum.IntEnum):
    """Text field of mindspore.memory_usage."""

    OWNER = 13


class MsShapesField(enum.IntEnum):
    """Text fields of mindspore.record_shapes."""

    NAME = 0
    INPUT_SHAPES = 1
    INPUT_TYPES = 2


MS_OP_RANGE = layout(
    54,
    ("tid", "<u8", 0),
    ("flow_id", "<u8", 8),  # 2^64-1 none
    ("step", "<u8", 16),
    ("start", "<u8", 24),  # host counter; 0: the record is to be dropped
    ("end", "<u8", 32),
    ("pid", "<i4", 40),
    ("module", "<u2", 44),  # index of MsModule
    ("event", "<u2", 46),  # index of MsEvent
    ("stage", "<u2", 48),  # index of MsStage
    ("level", "i1", 50),
    ("is_graph_data", "?", 51),
    ("is_stage", "?", 52),
    ("is_stack", "?", 53),
)
"""Fixed part of a mindspore.op_range record: one event of the framework (``<5Qi3Hb3?``)."""

MS_MEMORY_USAGE = layout(
    100,
    ("device_id", "<i4", 0),
    ("tid", "<u8", 4),
    ("pid", "<u8", 12),
    ("time_ns", "<u8", 20),  # Unix time, other than in op_range
    ("address", "<u8", 28),
    ("size_bytes", "<u8", 36),  # 2^64-1: released
    ("used_bytes", "<u8", 44),
    ("peak_bytes", "<u8", 52),
    ("reserved_bytes", "<u8", 60),  # "alloc_size"
    ("used_by_event_bytes", "<u8", 68),
    ("eager_free_bytes", "<u8", 76),
    ("stream_ptr", "<u8", 84),
    ("stream_id", "<u4", 92),
    ("from_persistent", "u1", 96),
    ("is_persistent", "u1", 97),
    ("run_mode", "u1", 98),
    ("alloc_type", "u1", 99),
)
"""Fixed part of a mindspore.memory_usage record: one event of the device allocator (``<i11QI4B``)."""

MS_RECORD_SHAPES: np.dtype[np.void] = np.dtype([])
"""Fixed part of a mindspore.record_shapes record: nothing, it is text alone."""
