"""Losses. The class target of the NLL kernels is INT32 on the device, hence a Cast (measured)."""

from __future__ import annotations

from typing import Final

from drynpu.kernels import KernelPlan, KernelSpec, Named, TaskType, TensorDesc, broadcast_shape, tensor_like
from drynpu.kernels.ops import cast_kernel, clear_kernel
from drynpu_torch.rules._call import AtenCall, scalar

_UNREDUCED = 0
"""The reduction that keeps every loss."""
_NLL_OPS = 2
"""Operations per target: the weight times the log-probability, and its sum."""


def nll(call: AtenCall) -> KernelPlan | None:
    """Return the plan of the loss, which reads only the log-probabilities of the target classes."""
    x, labels = call.tensors("x", "target")
    out, weight = _result(call, labels.shape, x.dtype), scalar(x.dtype)
    call = call.under(_nll_api(x))
    inputs = [x, tensor_like(labels, dtype="INT32"), _class_weight(call, x)]
    read = labels.elements * (4 + 2 * out.size_bytes // max(out.elements, 1))
    outputs, over = [out, weight], labels.elements
    clear = clear_kernel(call.under(_nll_api(x), "NLLLossAiCore"), outputs)
    spec = call.kernel("NLLLoss", inputs, outputs, task=TaskType.MIX_AIV, cost=_NLL_OPS, over=over, read=read)
    return call.plan(*_ones(call, inputs[-1]), clear, spec)


def nll_gradient(call: AtenCall) -> KernelPlan | None:
    """Return the plan of the gradient, after a conversion of the target classes."""
    dy, x, labels = call.tensors("dy", "x", "target")
    call, weight = call.under(f"{_nll_api(x)}Backward"), _class_weight(call, x)
    convert = cast_kernel(call, labels, "INT32")
    inputs = [x, dy, convert.outputs[0], weight, scalar(x.dtype)]
    read = dy.size_bytes + weight.size_bytes + 4 * labels.elements
    main = call.kernel("NLLLossGrad", inputs, [x], cost=_NLL_OPS, over=labels.elements, read=read)
    return call.plan(*_ones(call, weight), convert, main)


def loss(call: AtenCall) -> KernelPlan | None:
    """Return the plan of a loss of two tensors that are broadcast."""
    x, labels = call.tensors("x", "target")
    shape = broadcast_shape([x.shape, labels.shape])
    return None if shape is None else call.plan(call.main_kernel([x, labels], [_result(call, shape, x.dtype)]))


def gradient(call: AtenCall) -> KernelPlan | None:
    """Return the plan of the gradient of a loss."""
    dy, x, labels = call.tensors("dy", "x", "target")
    return call.plan(call.main_kernel([x, labels, dy], [x]))


def _result(call: AtenCall, shape: tuple[int, ...], dtype: str) -> TensorDesc:
    return call.tensor_of(shape if call.number("reduction", 1) == _UNREDUCED else (), dtype)


def _nll_api(x: TensorDesc) -> str:
    return f"aclnnNLLLoss{'2d' if len(x.shape) == 4 else ''}"


def _ones(call: AtenCall, weight: TensorDesc) -> list[KernelSpec]:
    """Return the kernel that makes the weights of the classes where the script gave none."""
    if call.tensor("weight") is not None:
        return []
    return [call.under("aclnnInplaceOne", "OnesLikeAiCore").kernel("OnesLike", [weight], [weight], read=0)]


def _class_weight(call: AtenCall, x: TensorDesc) -> TensorDesc:
    """Return the class weights; torch_npu passes ones when there are none."""
    classes = x.shape[1] if len(x.shape) > 1 else x.elements
    return call.tensor("weight") or TensorDesc((classes,), x.dtype)


NAMES: Final = (
    Named(nll, "x! target! weight reduction", "nll_loss_forward=: nll_loss2d_forward=:"),
    Named(nll_gradient, "dy! x! target! weight", "nll_loss_backward=: nll_loss2d_backward=:"),
    Named(
        loss,
        "x! target! reduction",
        "mse_loss=MseLoss smooth_l1_loss=SmoothL1Loss:SmoothL1LossV2 huber_loss=HuberLoss:SmoothL1LossV2 "
        "soft_margin_loss=SoftMarginLoss",
    ),
    Named(loss, "x! target! weight reduction", "binary_cross_entropy=BinaryCrossEntropy"),
    Named(
        gradient,
        "dy! x! target!",
        "mse_loss_backward=MseLossBackward:MseLossGrad "
        "smooth_l1_loss_backward=SmoothL1LossBackward:SmoothL1LossV2Grad "
        "huber_loss_backward=HuberLossBackward:SmoothL1LossV2Grad "
        "soft_margin_loss_backward=SoftMarginLossBackward:SoftMarginLossGrad "
        "binary_cross_entropy_backward=BinaryCrossEntropyBackward:BinaryCrossEntropyGrad",
    ),
)
