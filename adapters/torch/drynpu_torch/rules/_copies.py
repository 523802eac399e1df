"""
Copies on the device, conversions and numbers read back.

Kineto's record has no strides in the signature. Whether a copy changes the layout is read off the caller's wish:
``clone`` with the contiguous format is what ``reshape``, ``contiguous`` and ``matmul`` call on a tensor that is not
contiguous; it becomes a Transpose (measured for permuted views; a sliced view would show Slice).
"""

from __future__ import annotations

from drynpu.kernels import KernelPlan, Signature, TensorDesc
from drynpu_torch.rules._dtypes import ge_dtype_of_code
from drynpu_torch.rules._elementwise import cast
from drynpu_torch.rules._shapes import attribute
from drynpu_torch.rules._work import Rule, kernel, like, plan, to_host

__all__ = ["copy_rules"]

_COPY = "aclnnInplaceCopy"
_CONTIGUOUS_FORMAT = 0


def _move(source: TensorDesc, target: TensorDesc) -> KernelPlan:
    return plan(_COPY, kernel(_COPY, None, "TensorMove", [source], [target], cost=0, over=0))


def _copy(signature: Signature) -> KernelPlan | None:
    """``copy_(target, source)``; a smaller source is broadcast."""
    target, source = signature.tensor(0), signature.tensor(1)
    if target is None or source is None:
        return None
    if source.dtype != target.dtype:
        spec = kernel(_COPY, None, "Cast", [source], [target])
        return plan(_COPY, spec)
    if source.shape != target.shape:
        dims = TensorDesc((max(len(target.shape), 1),), "INT64")
        return plan(_COPY, kernel(_COPY, None, "BroadcastTo", [source, dims], [target], cost=0, read=source.size_bytes))
    return _move(source, target)


def _to_copy(signature: Signature) -> KernelPlan | None:
    """``_to_copy(x, dtype, ...)``: a conversion, or a plain copy when the type stays."""
    x = signature.tensor(0)
    if x is None:
        return None
    dtype = ge_dtype_of_code(attribute(signature, 1)) or x.dtype
    return _move(x, x) if dtype == x.dtype else plan("aclnnCast", cast("aclnnCast", x, dtype))


def _clone(signature: Signature) -> KernelPlan | None:
    x = signature.tensor(0)
    if x is None:
        return None
    rearranged = attribute(signature, 1) == _CONTIGUOUS_FORMAT and len(x.shape) > 1
    if not rearranged:
        return _move(x, like(x))
    order = TensorDesc((len(x.shape),), "INT64")
    return plan(_COPY, kernel(_COPY, None, "Transpose", [x, order], [x], cost=0, read=x.size_bytes))


def _item(signature: Signature) -> KernelPlan | None:
    """``item()``: one number crosses to the host, which waits for it; claimed, so it crosses once."""
    x = signature.tensor(0)
    return plan("aclrtMemcpyAsync", to_host(x), synchronizes=True) if x is not None else None


def copy_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    return {
        "aten::copy_": _copy,
        "aten::_to_copy": _to_copy,
        "aten::clone": _clone,
        "aten::item": _item,
        "aten::_local_scalar_dense": _item,
    }
