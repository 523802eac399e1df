"""The words of MindSpore's ``FRAMEWORK`` records, by the index that stands for them (mindspore_profiler.md 11)."""

from __future__ import annotations

import enum

__all__ = [
    "MS_ABSENT",
    "MS_EVENTS",
    "MS_MODULES",
    "MS_STAGES",
    "MsMemoryField",
    "MsOpRangeField",
    "MsShapesField",
]

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
