"""
Convolutions and their gradients, and biases of images.

The kernels work on blocked formats. In a compiled graph these pass from operator to operator; a convolution on its own
has TransData kernels around it (device_and_cost_model.md 4.1). HF32 is on for FP32: it is on by default, and the
measured kernels show YES.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from attrs import frozen

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import output_tiles, tensor_like
from drynpu.kernels._types import KernelPlan, KernelSpec, TaskType, TensorDesc
from drynpu.kernels.ops.creation import clear_kernel
from drynpu.kernels.ops.layouts import blocked_image, fractal_weight, is_image, plain_image
from drynpu.kernels.ops.windows import channels_of, image_of_space, space_of, windowed_space

_LEAST_DIMS, _MOST_DIMS = 3, 5


@frozen(kw_only=True)
class Convolution:
    """One convolution in the forward direction: *x* and *weight* give *y*."""

    call: OperatorCall
    x: TensorDesc
    weight: TensorDesc
    y: TensorDesc
    depthwise: bool = False
    transposed: bool = False

    @property
    def kernel_type(self) -> str:
        """GE's type of an ordinary convolution of these dims: ``Conv2D``, ``Conv3D``."""
        return "Conv3D" if len(self.x.shape) == _MOST_DIMS else "Conv2D"

    @property
    def flops(self) -> int:
        """Operations of one direction, 2 x multiply-adds; the three directions cost the same."""
        # Each position of the side that the window walks over meets every weight of its group once.
        walked = self.x if self.transposed else self.y
        return 2 * (walked.elements // max(channels_of(self.call, walked), 1)) * self.weight.elements

    @property
    def fractal(self) -> TensorDesc:
        """The weight as the kernel takes it."""
        if self.call.compiled and not is_image(self.weight.shape):
            return self.weight
        return fractal_weight(self.weight, order=self.call.weight_format, depthwise=self.depthwise)

    @property
    def gradient(self) -> TensorDesc:
        """The gradient of the weight as the kernel makes it: several cores sum it up, in FP32."""
        weight = tensor_like(self.weight, dtype="FLOAT")
        return fractal_weight(weight, order=self.call.weight_format, depthwise=self.depthwise)

    @property
    def plain_weight(self) -> TensorDesc:
        """The weight as the framework holds it."""
        order = self.call.weight_format
        if len(self.weight.shape) == _MOST_DIMS:
            order = "DHWCN" if order == "HWCN" else "NCDHW"
        return tensor_like(self.weight, layout=order)

    def inside(self, image: TensorDesc) -> TensorDesc:
        """Return an image as the kernel takes it."""
        if self.call.compiled:
            return self.call.image(image)
        return blocked_image(image, channels_first=self.call.channels_first)

    def outside(self, image: TensorDesc) -> TensorDesc:
        """Return an image as the framework holds it."""
        return plain_image(image, channels_first=self.call.channels_first)

    def enter(self, number: int, image: TensorDesc) -> KernelSpec:
        """Return the kernel that brings an image into the blocked format."""
        return self.call.format_change(number, self.outside(image), self.inside(image))

    def enter_weight(self, number: int) -> KernelSpec:
        """Return the kernel that brings the weight into its blocked format."""
        return self.call.format_change(number, self.plain_weight, self.fractal)

    def leave(self, number: int, image: TensorDesc) -> KernelSpec:
        """Return the kernel that brings an image back."""
        return self.call.format_change(number, self.inside(image), self.outside(image))

    def kernel(self, kernel_type: str, inputs: Sequence[TensorDesc], image: TensorDesc) -> KernelSpec:
        """Return the kernel that makes *image*."""
        space, channels = space_of(self.call, image), channels_of(self.call, image)
        return self.call.cube_kernel(
            kernel_type,
            inputs,
            [self.inside(image)],
            flops=self.flops,
            tiles=image.shape[0] * output_tiles(math.prod(space), channels),
            vector_ops=self.call.fused_operations(image),
            hf32=self.x.dtype == "FLOAT",
        )

    def gradient_kernels(self, kernel_type: str, inputs: Sequence[TensorDesc]) -> list[KernelSpec]:
        """Return the kernels that make the gradient of the weight; its memory is cleared first."""
        shape = self.weight.shape
        outputs_last = self.call.weight_format == "HWCN"
        rows, columns = (shape[-1], shape[:-1]) if outputs_last else (shape[0], shape[1:])
        main = self.call.cube_kernel(
            kernel_type,
            inputs,
            [self.gradient],
            flops=self.flops,
            tiles=output_tiles(rows, math.prod(columns)) * self.y.shape[0],
            hf32=self.x.dtype == "FLOAT",
        )
        if main.task_type is TaskType.AI_CPU:
            return [main]
        return [clear_kernel(self.call, [self.gradient], suffix="_MemSet"), main]


def convolution_of(
    call: OperatorCall, x: TensorDesc | None, weight: TensorDesc | None, y: TensorDesc | None
) -> Convolution | None:
    """Return the convolution of *x* and *weight* that gives *y*; ``None`` where that is not known or not possible."""
    if x is None or weight is None or y is None or not _LEAST_DIMS <= len(x.shape) <= _MOST_DIMS:
        return None
    if not len(x.shape) == len(weight.shape) == len(y.shape):
        return None
    if not (call.channels_first or len(x.shape) > _LEAST_DIMS):
        return None
    groups = call.whole("groups", 1)
    # The path that compiles operator by operator has no kernel of its own for depthwise weights.
    compiled_depthwise = call.compiled and groups > 1 and groups == channels_of(call, x)
    return Convolution(
        call=call,
        x=_with_height(call, x),
        weight=_with_height(call, weight),
        y=_with_height(call, y),
        depthwise=compiled_depthwise or call.binding.kernel.startswith("Depthwise"),
        transposed=call.flag("transposed") or "Transpose" in call.binding.kernel,
    )


def convolution(call: OperatorCall) -> KernelPlan | None:
    """``x weight bias stride padding dilation transposed output_padding groups``."""
    x, weight = call.tensor("x"), call.tensor("weight")
    conv = convolution_of(call, x, weight, call.output() or _result(call, x, weight))
    if conv is None:
        return None
    biases = [tensor_like(bias, layout="NCHW") for bias in call.tensors("bias")]
    main = conv.kernel(_forward_type(conv), [conv.inside(conv.x), conv.fractal, *biases, *call.further(2)], conv.y)
    if call.compiled:
        return call.plan(main)
    return call.plan(conv.enter(0, conv.x), conv.enter_weight(1), main, conv.leave(2, conv.y))


def input_gradient(call: OperatorCall) -> KernelPlan | None:
    """``sizes weight dy -> dx``; a transposed convolution is the same operator."""
    conv = convolution_of(call, call.output(), call.tensor("weight"), call.tensor("dy"))
    if conv is None:
        return None
    main = conv.kernel(call.binding.kernel, [conv.fractal, conv.inside(conv.y), *call.further(3)], conv.x)
    if call.compiled:
        return call.plan(main)
    return call.plan(conv.enter(0, conv.y), conv.enter_weight(1), main, conv.leave(2, conv.x))


def weight_gradient(call: OperatorCall) -> KernelPlan | None:
    """``x sizes dy -> dw``."""
    conv = convolution_of(call, call.tensor("x"), call.output(), call.tensor("dy"))
    if conv is None:
        return None
    kernels = conv.gradient_kernels(call.binding.kernel, [conv.inside(conv.x), conv.inside(conv.y)])
    if call.compiled or len(kernels) == 1:
        return call.plan(*kernels)
    back = call.format_change(2, conv.gradient, conv.plain_weight)
    return call.plan(conv.enter(0, conv.x), conv.enter(1, conv.y), *kernels, back)


def gradients(call: OperatorCall) -> KernelPlan | None:
    """``dy x weight transposed groups -> dx dw dbias``: the input's by one kernel, the weight's by another one."""
    x, dy = call.tensor("x"), call.tensor("dy")
    image, result = (dy, x) if call.flag("transposed") else (x, dy)
    conv = convolution_of(call, image, call.tensor("weight"), result)
    if conv is None:
        return None
    kind = conv.kernel_type
    first = conv.kernel(f"{kind}BackpropInput", [conv.fractal, conv.inside(conv.y)], conv.x)
    second = conv.gradient_kernels(f"{kind}BackpropFilter", [conv.inside(conv.x), conv.inside(conv.y)])
    bias = call.output(2)
    summed = [call.kernel("BiasAddGrad", [call.image(dy)], [bias], over=dy.elements)] if bias and dy else []
    return call.plan(first, *second, *summed)


def bias_addition(call: OperatorCall) -> KernelPlan | None:
    """``x bias``: an addition, unless the operator before it takes the bias."""
    inputs = call.tensors("x", "bias")
    if len(inputs) < 2:
        return None
    return call.plan(call.kernel(call.binding.kernel, inputs, inputs[:1], over=inputs[0].elements))


def bias_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy``: its sum per channel."""
    dy = call.tensor("dy")
    if dy is None or len(dy.shape) < (2 if call.channels_first else 1):
        return None
    out = call.output() or TensorDesc((channels_of(call, dy),), dy.dtype)
    return call.plan(call.kernel("BiasAddGrad", [call.image(dy)], [out], over=dy.elements))


def _with_height(call: OperatorCall, tensor: TensorDesc) -> TensorDesc:
    """Return [N, C, W] as [N, C, 1, W]: convolutions of one dimension are computed as convolutions of two."""
    if len(tensor.shape) == _LEAST_DIMS:
        return call.tensor_of((*tensor.shape[:2], 1, tensor.shape[2]), tensor.dtype)
    return call.tensor_of(tensor.shape, tensor.dtype)


def _result(call: OperatorCall, x: TensorDesc | None, weight: TensorDesc | None) -> TensorDesc | None:
    """Return what a convolution makes where the framework did not say."""
    if x is None or weight is None or not len(weight.shape) == len(x.shape) >= _LEAST_DIMS:
        return None
    outputs_last = call.weight_format == "HWCN"
    window = weight.shape[:-2] if outputs_last else weight.shape[2:]
    space = windowed_space(call, x, window)
    if space is None:
        return None
    if outputs_last:
        depthwise = call.binding.kernel.startswith("Depthwise")
        channels = math.prod(weight.shape[-2:]) if depthwise else weight.shape[-1]
    else:
        channels = weight.shape[1] * call.whole("groups", 1) if call.flag("transposed") else weight.shape[0]
    return image_of_space(call, x, space, channels)


def _forward_type(conv: Convolution) -> str:
    if conv.transposed:
        # In a compiled graph the sizes of the result are fixed: GE's types of that kind end in D.
        return f"{conv.kernel_type}Transpose{'D' if conv.call.compiled else ''}"
    return "DepthwiseConv2D" if conv.depthwise and is_image(conv.x.shape) else conv.kernel_type
