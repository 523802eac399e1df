"""
The values that pass between operators and kernels.

An operator *signature* (name, tensors, scalar attributes) is mapped once to a *plan* (the kernels that one
call launches), and each kernel of the plan is costed once per chip. Instances are gathered by index.
"""

from __future__ import annotations

import enum
import functools
import math

from attrs import field, frozen


@frozen
class DType:
    """A tensor data type under its GE name (``op_summary`` spelling), GE id and size in bytes."""

    name: str
    ge_id: int
    size_bytes: int


# GE ids: cann_msprof.md 7.3 gives FLOAT..DT_BF16; the rest follow GE's public DataType enumeration.
DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("FLOAT", 0, 4),
        DType("FLOAT16", 1, 2),
        DType("INT8", 2, 1),
        DType("INT32", 3, 4),
        DType("UINT8", 4, 1),
        DType("INT16", 6, 2),
        DType("UINT16", 7, 2),
        DType("UINT32", 8, 4),
        DType("INT64", 9, 8),
        DType("UINT64", 10, 8),
        DType("DOUBLE", 11, 8),
        DType("BOOL", 12, 1),
        DType("COMPLEX64", 16, 8),
        DType("COMPLEX128", 17, 16),
        DType("DT_BF16", 27, 2),
        DType("UNDEFINED", 28, 1),
    )
}

# cann_msprof.md 7.3; NCL (measured for three dimensions) and the formats of volumes have their numbers in the public
# aclFormat enumeration, DHWCN in GE's.
FORMATS: dict[str, int] = {
    "NCHW": 0,
    "NHWC": 1,
    "ND": 2,
    "NC1HWC0": 3,
    "FRACTAL_Z": 4,
    "HWCN": 16,
    "NDHWC": 27,
    "FRACTAL_NZ": 29,
    "NCDHW": 30,
    "DHWCN": 31,
    "NDC1HWC0": 32,
    "FRACTAL_Z_3D": 33,
    "NCL": 47,
}


@frozen(cache_hash=True)
class TensorDesc:
    """Shape (dims; ``()`` is a scalar tensor), GE data type name and GE format name of one tensor."""

    shape: tuple[int, ...]
    dtype: str
    format: str = "ND"

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def size_bytes(self) -> int:
        return self.elements * DTYPES[self.dtype].size_bytes


class Placement(enum.Enum):
    """Where a call of an operator works, as far as the adapter could tell."""

    DEVICE = "device"
    HOST = "host"
    """Runs on the host beside the NPU as well: launches nothing (data loading, CPU step counters)."""
    TO_DEVICE = "to_device"
    """Copies host memory to the device."""
    TO_HOST = "to_host"
    """Copies device memory to the host and waits for it."""
    GRAPH = "graph"
    """Works on the device, which launches it by itself as a part of a graph that the host launched."""
    CAPTURED = "captured"
    """Becomes a part of a graph: launches nothing yet, while its result has its place in the device's memory."""


@frozen
class Signature:
    """
    One distinct operator call.

    ``inputs`` has one entry per argument: a tensor, a tuple of tensors (tensor list) or ``None`` (anything else).
    ``attributes`` has one entry per argument as well: the scalar or list value, ``None`` for tensors and unknown.
    """

    name: str
    inputs: tuple[TensorDesc | tuple[TensorDesc, ...] | None, ...]
    attributes: tuple[object, ...] = field(default=())
    placement: Placement = Placement.DEVICE

    @functools.cached_property
    def key(self) -> tuple[object, ...]:
        """What tells calls apart: attributes by their spelling, as 1, 1.0 and True are equal to Python alone."""
        return self.name, self.inputs, repr(self.attributes), self.placement

    def tensor(self, position: int) -> TensorDesc | None:
        """Return the tensor at *position*, ``None`` when the argument is absent or is not a single tensor."""
        value = self.inputs[position] if position < len(self.inputs) else None
        return value if isinstance(value, TensorDesc) else None

    def tensors(self) -> tuple[TensorDesc, ...]:
        """Return all tensors in argument order, tensor lists flattened."""
        flat: list[TensorDesc] = []
        for value in self.inputs:
            if isinstance(value, TensorDesc):
                flat.append(value)
            elif value is not None:
                flat.extend(value)
        return tuple(flat)


class TaskType(enum.Enum):
    """Task type of a kernel: value = the text in ``op_summary``/``kernel_details``."""

    AI_CORE = "AI_CORE"
    AI_VECTOR_CORE = "AI_VECTOR_CORE"
    MIX_AIC = "MIX_AIC"
    MIX_AIV = "MIX_AIV"
    AI_CPU = "AI_CPU"
    DSA = "DSA"
    MEMCPY = "MEMCPY_ASYNC"
    """A copy by the DMA engines: a device task, not a row of op_summary."""


CORE_TASKS = (TaskType.AI_CORE, TaskType.AI_VECTOR_CORE, TaskType.MIX_AIC, TaskType.MIX_AIV)
"""Kernels that run on cores, which have counters of their own."""


class Copy(enum.Enum):
    """Direction of a memory copy: value = the ``copyKind`` of memcpy_info (cann_msprof.md 4.6)."""

    HOST_TO_DEVICE = 1
    DEVICE_TO_HOST = 2
    DEVICE_TO_DEVICE = 3


@frozen(kw_only=True)
class KernelSpec:
    """
    The work of one kernel, before any chip is known.

    ``cube_flops`` counts multiply and add (2MNK); ``vector_ops`` counts element operations (one add of two
    vectors of n elements = n); bytes are what has to cross the core boundary once.
    """

    name: str
    """Kernel name as shown in ``Op Name``, e.g. ``aclnnAddmm_MatMulV2_MatMulV2``."""
    op_type: str
    task_type: TaskType
    inputs: tuple[TensorDesc, ...] = ()
    outputs: tuple[TensorDesc, ...] = ()
    cube_flops: int = 0
    vector_ops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    cube_tiles: int = 0
    """Number of independent output tiles of a cube kernel; bounds its block number."""
    hf32: bool = False
    static: bool = False
    """True for a kernel of a graph, which was compiled for its shapes: it reads no tiling and loops less."""
    read_miss: float | None = None
    """Share of what is read that L2 does not hold, where the stream tells it; None: what its shapes suggest."""
    copy: Copy | None = None
    mapped: bool = True
    """False for the generic vector kernel that stands for an operator without a rule."""
    known: bool = True
    """False where the capture does not say what the kernel works on, so that nothing says how long it takes."""


@frozen(kw_only=True)
class KernelPlan:
    """What one call of an operator does on the device."""

    api: str = ""
    """ACL API that launches the kernels, e.g. ``aclnnAddmm``."""
    kernels: tuple[KernelSpec, ...] = ()
    claims: bool = True
    """True: the operators called inside this one are its CPU implementation and launch nothing of their own."""
    synchronizes: bool = False
    """True: the host waits until the stream has drained (``item``, copy to host)."""
    mapped: bool = True
    allocates: bool = False
    """True: makes a tensor without filling it (``empty``), so who calls it computes something itself."""
    in_graph: bool = False
    """True: the graph engine launches the kernels as a part of a graph; there is no call of an API for them alone."""
