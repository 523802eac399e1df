"""
Copies on the device, conversions and numbers read back.

A signature has no strides, because Kineto records none. Whether a copy changes the layout follows from its argument
``memory_format``: ``reshape``, ``contiguous`` and ``matmul`` call ``clone`` with the contiguous format on a tensor that
is not contiguous. Such a copy becomes a Transpose (measured for permuted views; a sliced view would show Slice).
"""

from __future__ import annotations

from typing import Final

from attrs import evolve

from drynpu.kernels import KernelPlan, Named, TensorDesc
from drynpu.kernels.ops import cast_kernel
from drynpu_torch.rules._call import AtenCall, copy_on_device

_CONTIGUOUS_FORMAT = 0
"""Number of ``torch.contiguous_format`` (c10/core/MemoryFormat.h)."""


def copy(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a copy into ``x``: a conversion, a broadcast of a smaller source, or a plain copy."""
    x, source = call.tensors("x", "source")
    if source.dtype != x.dtype:
        return call.plan(call.kernel("Cast", [source], [x]))
    if source.shape != x.shape:
        dims = TensorDesc((max(len(x.shape), 1),), "INT64")
        return call.plan(call.kernel("BroadcastTo", [source, dims], [x], cost=0, read=source.size_bytes))
    return _move(call, source)


def convert(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a conversion, which is a plain copy where the type stays."""
    (x,) = call.tensors("x")
    dtype = call.dtype("dtype") or x.dtype
    call = call if dtype == x.dtype else call.under("aclnnCast")
    return _move(call, x) if dtype == x.dtype else call.plan(cast_kernel(call, x, dtype))


def clone(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a copy, which rearranges if ``memory_format`` is the contiguous one."""
    (x,) = call.tensors("x")
    if call.attribute("memory_format") != _CONTIGUOUS_FORMAT or len(x.shape) < 2:
        return _move(call, x)
    order = TensorDesc((len(x.shape),), "INT64")
    return call.plan(call.kernel("Transpose", [x, order], [x], cost=0, read=x.size_bytes))


def item(call: AtenCall) -> KernelPlan | None:
    """Return the plan of reading one number, for which the host waits. It claims the call, so it is copied once."""
    plan = call.under("aclrtMemcpyAsync").plan(call.copy_to_host(*call.tensors("x")))
    return evolve(plan, synchronizes=True)


def _move(call: AtenCall, x: TensorDesc) -> KernelPlan:
    return call.plan(copy_on_device(call, x))


NAMES: Final = (
    Named(copy, "x! source!", "copy_=InplaceCopy:"),
    Named(convert, "x! dtype", "_to_copy=InplaceCopy:"),
    Named(clone, "x! memory_format", "clone=InplaceCopy:"),
    Named(item, "x!", "item= _local_scalar_dense="),
)
