"""
Copies on the device, conversions and numbers read back.

Kineto's record has no strides in the signature. Whether a copy changes the layout follows from the memory format that
is asked for: ``clone`` with the contiguous format is what ``reshape``, ``contiguous`` and ``matmul`` call on a tensor
that is not contiguous; it becomes a Transpose (measured for permuted views; a sliced view would show Slice).
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from drynpu.kernels import KernelPlan, TensorDesc
from drynpu.kernels.ops import cast_kernel
from drynpu_torch.rules._call import AtenCall

TABLE: Final = """
copy (x! source!) | copy_=InplaceCopy:
convert (x! dtype) | _to_copy=InplaceCopy:
clone (x! memory_format) | clone=InplaceCopy:
item (x!) | item= _local_scalar_dense=
"""
_CONTIGUOUS_FORMAT = 0


def copy(call: AtenCall) -> KernelPlan | None:
    """``x source``: a smaller source is broadcast."""
    target, source = call.tensors("x", "source")
    if source.dtype != target.dtype:
        return call.plan(call.kernel("Cast", [source], [target]))
    if source.shape != target.shape:
        dims = TensorDesc((max(len(target.shape), 1),), "INT64")
        return call.plan(call.kernel("BroadcastTo", [source, dims], [target], cost=0, read=source.size_bytes))
    return _move(call, source)


def convert(call: AtenCall) -> KernelPlan | None:
    """``x dtype``: a plain copy when the type stays."""
    (x,) = call.tensors("x")
    dtype = call.dtype("dtype") or x.dtype
    call = call if dtype == x.dtype else call.under("aclnnCast")
    return _move(call, x) if dtype == x.dtype else call.plan(cast_kernel(call, x, dtype))


def clone(call: AtenCall) -> KernelPlan | None:
    """``x memory_format``: contiguous means rearranged."""
    (x,) = call.tensors("x")
    if call.attribute("memory_format") != _CONTIGUOUS_FORMAT or len(x.shape) < 2:
        return _move(call, x)
    order = TensorDesc((len(x.shape),), "INT64")
    return call.plan(call.kernel("Transpose", [x, order], [x], cost=0, read=x.size_bytes))


def item(call: AtenCall) -> KernelPlan | None:
    """``x``: one number crosses to the host, which waits for it; claimed, so it crosses once."""
    plan = call.under("aclrtMemcpyAsync").plan(call.copy_to_host(*call.tensors("x")))
    return evolve(plan, synchronizes=True)


def _move(call: AtenCall, x: TensorDesc) -> KernelPlan:
    return call.plan(call.kernel("TensorMove", [x], [x], cost=0, over=0))
