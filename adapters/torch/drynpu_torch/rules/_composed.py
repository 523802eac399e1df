"""Element-wise operators of three operands, clamping and the gradients of activations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from drynpu.kernels import KernelPlan, Key, Named, TensorDesc, broadcast_shape
from drynpu.kernels.ops import fill_kernel
from drynpu_torch.rules._call import AtenCall, copy_on_device, is_wrapped_number, scalar
from drynpu_torch.rules._dtypes import promote


def ternary(call: AtenCall) -> KernelPlan | None:
    """Return the plan for three tensors, or two and a number; the kernel lists a scalar last."""
    operands, form = call.tensors("x", "y", "z"), call.form
    if len(operands) < 2:
        return None
    dtype = _common_dtype(operands)
    out = operands[0] if call.in_place else _common(operands, dtype)
    if out is None:
        return None
    inputs = [*_numbers_as_scalars(operands, dtype), scalar(dtype)]
    return form.plan(form.main_kernel(inputs, [out], over=out.elements))


def where(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a selection; a call with the condition alone calls nonzero, which has its own rule."""
    (condition,), choices = call.tensors("condition"), call.tensors("x", "y")
    if not choices:
        return None
    dtype = _common_dtype(choices)
    out = _common([condition, *choices], dtype)
    if out is None:
        return None
    inputs = [condition, *_numbers_as_scalars(choices, dtype)]
    return call.plan(call.main_kernel([*inputs, *[scalar(dtype)] * (3 - len(inputs))], [out]))


def masked_fill(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a fill by mask. The only interface works in place, so the other form copies first."""
    x, mask = call.tensors("x", "mask")
    call = call if call.tensor("value") is None else call.under("aclnnInplaceMaskedFillTensor")
    out = x if call.in_place else _common([x, mask], x.dtype)
    if out is None:
        return None
    fill = call.kernel("MaskedFill", [out, mask, scalar(x.dtype)], [out], over=out.elements)
    copy = copy_on_device(call.under("aclnnInplaceCopy"), out)
    return call.plan(fill) if call.in_place else call.plan(copy, fill)


def clamp(call: AtenCall) -> KernelPlan | None:
    """Return the plan of clamping between bounds, each a number or a tensor."""
    (x,), form = call.tensors("x"), call.form
    low, high = _bound(call, "low", x), _bound(call, "high", x)
    bounds = [t for t in (low, high) if t is not None]
    out = x if call.in_place else _common([x, *bounds], x.dtype)
    if out is None:
        return None
    both = len(bounds) > 1
    op_type = "ClipByValueV2" if both else "Maximum" if low is not None else "Minimum"
    inputs = [x, *_numbers_as_scalars(bounds, x.dtype)]
    return form.plan(form.kernel(op_type, inputs, [out], cost=2 if both else 1, over=out.elements))


def gradient(call: AtenCall) -> KernelPlan | None:
    """Return the plan of an activation's gradient, from the incoming gradient and the saved tensor."""
    operands = call.tensors()[:2]
    out = _common(operands, promote([t.dtype for t in operands])) if len(operands) == 2 else None
    return None if out is None else call.plan(call.main_kernel(operands, [out], over=out.elements))


def glu(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a gated linear unit: one half of the axis gates the other."""
    (x,), axis = call.tensors("x"), call.attribute("axis")
    if not isinstance(axis, int) or not x.shape:
        return None
    shape = tuple(dim // 2 if i == axis % len(x.shape) else dim for i, dim in enumerate(x.shape))
    return call.plan(call.main_kernel([x], [call.tensor_of(shape, x.dtype)]))


def membership(call: AtenCall) -> KernelPlan | None:
    """
    Return the plan of looking each element of ``x`` up among few values: compare with all of them, then reduce.

    torch_npu does so up to ten times the 0.145th power of the number of elements, and sorts more values
    (op_plugin/ops/opapi/IsInKernelNpuOpApi.cpp), which the operators that PyTorch calls then stand for.
    """
    (x,), values, invert = call.tensors("x"), call.tensor("values"), call.flag("invert")
    out = call.tensor_of(x.shape, "BOOL")
    compare = "NotEqual" if invert else "Equal"
    if values is None or is_wrapped_number(values):
        return call.plan(call.kernel(compare, [x, scalar(x.dtype)], [out]))
    if not x.elements or values.elements >= 10 * x.elements**0.145:
        return None
    table = call.tensor_of((*x.shape, values.elements), "BOOL")
    word = "Ne" if invert else "Eq"
    return call.plan(
        fill_kernel(call.spelled("aclnnInplaceFillScalar:Fill()"), [scalar("BOOL")], out),
        call.under(f"aclnn{word}Tensor").kernel(compare, [x, values], [table]),
        call.under("aclnnAll" if invert else "aclnnAny").kernel(
            "ReduceAll" if invert else "ReduceAny", [table], [out], over=table.elements
        ),
        call.under("aclnnInplaceCopy").kernel("TensorMove", [out], [out], cost=0),
    )


def resize(call: AtenCall) -> KernelPlan | None:
    """Return the plan of repeating the nearest elements of an image; its last axes get the given sizes."""
    (x,), size = call.tensors("x"), call.dims("size")
    if size is None or len(size) >= len(x.shape):
        return None
    out = call.tensor_of((*x.shape[: -len(size)], *size), x.dtype)
    return call.plan(call.main_kernel([x, TensorDesc((len(size),), "INT32")], [out]))


def resize_gradient(call: AtenCall) -> KernelPlan | None:
    """Return the plan of adding up the gradients of repeated elements; the result has the given sizes."""
    (dy,), size = call.tensors("dy"), call.dims("size")
    if size is None or len(size) != len(dy.shape):
        return None
    sizes = TensorDesc((len(size) - 2,), "INT32")
    return call.plan(call.main_kernel([dy, sizes], [call.tensor_of(tuple(size), dy.dtype)]))


def _bound(call: AtenCall, key: Key, x: TensorDesc) -> TensorDesc | None:
    return call.tensor(key) or (None if call.attribute(key) is None else scalar(x.dtype))


def _common_dtype(operands: Sequence[TensorDesc]) -> str:
    return promote([t.dtype for t in operands if not is_wrapped_number(t)] or [operands[0].dtype])


def _common(operands: Sequence[TensorDesc], dtype: str) -> TensorDesc | None:
    shape = broadcast_shape([t.shape for t in operands])
    return TensorDesc(shape, dtype) if shape is not None else None


def _numbers_as_scalars(operands: Sequence[TensorDesc], dtype: str) -> list[TensorDesc]:
    return [scalar(dtype) if is_wrapped_number(t) else t for t in operands]


NAMES: Final = (
    Named(ternary, "x y z", "addcmul(_)=Addcmul addcdiv(_)=Addcdiv lerp(_)=Lerp"),
    Named(where, "condition! x y", "where=SWhere:SelectV2"),
    Named(masked_fill, "x! mask! value", "masked_fill(_)=InplaceMaskedFillScalar:MaskedFill"),
    Named(clamp, "x! low high", "clamp(_)=Clamp: clip(_)=Clamp:"),
    Named(clamp, "x! low", "clamp_min(_)=ClampMin:"),
    Named(clamp, "x! high", "clamp_max(_)=ClampMax:"),
    Named(
        gradient,
        "",
        "threshold_backward=ThresholdBackward:ReluGrad/ReluGrad gelu_backward=GeluBackward:GeluGrad*24 "
        "silu_backward=SiluBackward:SwishGrad sigmoid_backward=SigmoidBackward:SigmoidGrad "
        "tanh_backward=TanhBackward:TanhGrad mish_backward=MishBackward:MishGrad*16 "
        "elu_backward=EluBackward:EluGradV2 leaky_relu_backward=LeakyReluBackward:LeakyReluGrad "
        "hardtanh_backward=HardtanhBackward:HardtanhGrad hardswish_backward=HardswishBackward:HardSwishGrad "
        "hardsigmoid_backward=HardsigmoidBackward:HardSigmoidGrad softplus_backward=SoftplusBackward:SoftplusV2Grad "
        "log_sigmoid_backward=LogSigmoidBackward:LogSigmoidGrad _prelu_kernel_backward=PreluBackward:PReluGrad*4",
    ),
    Named(glu, "x! axis", "glu=Glu:GLU"),
    Named(membership, "x! values unique invert", "isin=IsInTensorScalar:Equal"),
    Named(
        resize,
        "x! size",
        "upsample_nearest1d=UpsampleNearest1d:ResizeNearestNeighborV2 "
        "upsample_nearest2d=UpsampleNearest2d:ResizeNearestNeighborV2",
    ),
    Named(
        resize_gradient,
        "dy! output_size size",
        "upsample_nearest1d_backward=UpsampleNearest1dBackward:ResizeNearestNeighborV2Grad "
        "upsample_nearest2d_backward=UpsampleNearest2dBackward:ResizeNearestNeighborV2Grad",
    ),
)
