"""The gradients of a convolution, which torch computes in one call."""

from __future__ import annotations

import math
from typing import Final

from drynpu.kernels import KernelPlan, KernelSpec, Named, OperatorCall, TaskType, TensorDesc
from drynpu.kernels.ops import Convolution, convolution_of
from drynpu_torch.rules._call import copy_on_device


def backward(call: OperatorCall) -> KernelPlan | None:
    """Return the plan of the gradients that ``output_mask`` selects; each converts the formats of its own operands."""
    conv = convolution_of(call, call.tensor("x"), call.tensor("weight"), call.tensor("dy"))
    mask = call.attribute("output_mask")
    if conv is None or not isinstance(mask, tuple) or len(mask) != 3:
        return None
    of_input, of_weight, of_bias = mask
    kernels = _input_gradient(conv) if of_input else []
    kernels += _weight_gradient(conv) if of_weight else []
    kernels += _bias_gradient(conv) if of_bias else []
    # The gradient of the weight comes in the format of the convolution, so that autograd cannot keep it and copies it.
    kernels += [copy_on_device(call.under("aclnnInplaceCopy"), conv.weight)] if of_weight else []
    return call.plan(*kernels)


def _sizes(tensor: TensorDesc) -> TensorDesc:
    """Return the operand that holds the shape of the result."""
    return TensorDesc((len(tensor.shape),), "INT32", "NCHW")


def _input_gradient(conv: Convolution) -> list[KernelSpec]:
    # The input gradient of a transposed convolution is an ordinary one.
    op_type = conv.kernel_type if conv.transposed else f"{conv.kernel_type}BackpropInput"
    main = conv.kernel(op_type, [_sizes(conv.x), conv.fractal, conv.inside(conv.y)], conv.x)
    return [conv.enter_weight(0), conv.enter(1, conv.y), main, conv.leave(2, conv.x)]


def _weight_gradient(conv: Convolution) -> list[KernelSpec]:
    inputs = [conv.inside(conv.x), _sizes(conv.weight), conv.inside(conv.y)]
    kernels = conv.gradient_kernels(f"{conv.kernel_type}BackpropFilter", inputs)
    back = conv.call.format_change(5, conv.gradient, conv.plain_weight)
    return [conv.enter(3, conv.x), conv.enter(4, conv.y), *kernels, back]


def _bias_gradient(conv: Convolution) -> list[KernelSpec]:
    n, c, *space = conv.y.shape
    flat = TensorDesc((n, c, math.prod(space)), conv.y.dtype)
    inputs, out = [flat, TensorDesc((2,), "INT64")], TensorDesc((c,), conv.y.dtype)
    return [conv.call.under("aclnnReduceSum").kernel("ReduceSum", inputs, [out], task=TaskType.MIX_AIV)]


NAMES: Final = (
    Named(
        backward,
        "dy x weight bias_sizes stride padding dilation transposed output_padding groups output_mask",
        "convolution_backward=",
    ),
)
