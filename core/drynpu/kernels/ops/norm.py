"""
Normalisations and softmax; operation counts as in device_and_cost_model.md 2 where it gives them.

A training batch norm is BNTrainingReduce and BNTrainingUpdate, its gradient BNTrainingUpdateGrad and
BNTrainingReduceGrad; the kernel of inference is BNInfer (4.3). The graph engine names the parts after the node, with
``_Reduce`` and ``_Update``.
"""

from __future__ import annotations

from collections.abc import Sequence

from drynpu.kernels._call import OperatorCall
from drynpu.kernels._specs import tensor_like
from drynpu.kernels._types import KernelPlan, KernelSpec, TensorDesc
from drynpu.kernels.ops.windows import channels_of

# Operations per element: softmax 5, layer norm 6 and 2 for scale and shift (device_and_cost_model.md 2); ours the rest.
_SOFTMAX_OPS, _SOFTMAX_GRADIENT_OPS = 5, 4
_LAYER_NORM_OPS, _AFFINE_OPS, _GRADIENT_OPS, _RMS_NORM_OPS = 6, 2, 12, 5
_REDUCE_OPS, _UPDATE_OPS, _UPDATE_GRADIENT_OPS, _REDUCE_GRADIENT_OPS, _INFER_OPS = 3, 3, 4, 6, 3
_VOLUME_DIMS = 5


def softmax(call: OperatorCall) -> KernelPlan | None:
    """``x dim to_float``: with *to_float* the result of a 16-bit tensor is FP32."""
    x = call.tensor("x")
    if x is None:
        return None
    out = tensor_like(x, dtype="FLOAT" if call.flag("to_float") else None)
    return call.plan(call.kernel(call.binding.kernel, [x], [out], cost=_SOFTMAX_OPS))


def softmax_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy y``, in the framework's order, ``dtype`` of the result."""
    y, inputs = call.tensor("y"), call.tensors(0, 1)
    if y is None or len(inputs) < 2:
        return None
    out = tensor_like(y, dtype=call.dtype("dtype"))
    return call.plan(call.kernel(call.binding.kernel, inputs, [out], cost=_SOFTMAX_GRADIENT_OPS, over=y.elements))


def batch_norm(call: OperatorCall) -> KernelPlan | None:
    """``x scale offset mean variance training``: inference unless *training* is set."""
    training = call.known_flag("training")
    if training is None and not call.guesses:
        return None
    return _batch_norm(call, training=bool(training))


def training_batch_norm(call: OperatorCall) -> KernelPlan | None:
    """``x scale offset mean variance training``: training unless *training* says otherwise."""
    return _batch_norm(call, training=call.known_flag("training") is not False)


def batch_norm_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy x scale mean variance training``: of training unless *training* says otherwise."""
    dy, x = call.tensor("dy"), call.tensor("x")
    if dy is None or x is None or len(x.shape) < 2:
        return None
    sums = _gradient_sums(call, dy, x)
    if call.known_flag("training") is False:
        inputs, image = [call.image(dy), *call.tensors("scale"), _per_channel(call, x)], call.image(x)
        infer = call.kernel("BNInferGrad", inputs, [image], suffix="_Infer", cost=_INFER_OPS, over=x.elements)
        return call.plan(sums, infer)
    return call.plan(sums, _input_gradient(call, dy, x))


def batch_sums(call: OperatorCall) -> KernelPlan | None:
    """``x``: the first half of a training batch norm, where sums of other devices are added before the second."""
    x = call.tensor("x")
    return None if x is None or len(x.shape) < 2 else call.plan(_sums(call, x))


def batch_update(call: OperatorCall) -> KernelPlan | None:
    """``x scale offset mean variance``: the second half of a training batch norm."""
    x = call.tensor("x")
    return None if x is None or len(x.shape) < 2 else call.plan(_update(call, x))


def batch_gradient_sums(call: OperatorCall) -> KernelPlan | None:
    """``dy x``: the gradients of scale and offset, the first half of the gradient of a batch norm."""
    dy, x = call.tensor("dy"), call.tensor("x")
    return None if dy is None or x is None or len(x.shape) < 2 else call.plan(_gradient_sums(call, dy, x))


def batch_input_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy x scale``: the gradient of the input, the second half of the gradient of a batch norm."""
    dy, x = call.tensor("dy"), call.tensor("x")
    return None if dy is None or x is None or len(x.shape) < 2 else call.plan(_input_gradient(call, dy, x))


def _gradient_sums(call: OperatorCall, dy: TensorDesc, x: TensorDesc) -> KernelSpec:
    channel = _per_channel(call, x)
    return call.kernel(
        f"{_prefix(call, x)}TrainingUpdateGrad",
        [call.image(dy), call.image(x), channel, channel],
        [channel, channel],
        suffix="_Update",
        cost=_UPDATE_GRADIENT_OPS,
        over=x.elements,
    )


def _input_gradient(call: OperatorCall, dy: TensorDesc, x: TensorDesc) -> KernelSpec:
    channel, image = _per_channel(call, x), call.image(x)
    return call.kernel(
        f"{_prefix(call, x)}TrainingReduceGrad",
        [call.image(dy), image, channel, channel, *call.tensors("scale"), channel, channel],
        [image],
        suffix="_Reduce",
        cost=_REDUCE_GRADIENT_OPS,
        over=x.elements,
    )


def layer_norm(call: OperatorCall) -> KernelPlan | None:
    """``x shape scale offset``: normalised over the dims of *shape*, else of *scale*; also makes mean and deviation."""
    x, affine = call.tensor("x"), call.tensors("scale", "offset")
    shape = call.integers("shape") if call.place("shape") >= 0 else affine[0].shape
    if x is None or not shape:
        return None
    statistics = _statistics(call, x, len(shape))
    outputs = list(call.outputs) or [x, statistics, statistics]
    cost = _LAYER_NORM_OPS + (_AFFINE_OPS if affine else 0)
    return call.plan(call.kernel("LayerNormV3", [x, *affine], outputs, cost=cost, over=x.elements))


def layer_norm_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy x shape mean deviation scale``: gradients of scale and offset are FP32."""
    inputs, scale = call.tensors("dy", "x", "deviation", "mean"), call.tensors("scale")
    if len(inputs) < 4 or call.attribute("shape") is None:
        return None
    outputs = [inputs[1], *[tensor_like(t, dtype="FLOAT") for t in scale for _ in range(2)]]
    return call.plan(call.kernel("LayerNormGradV3", [*inputs, *scale], outputs, cost=_GRADIENT_OPS))


def affine_gradient(call: OperatorCall) -> KernelPlan | None:
    """
    ``x`` and four more inputs in the kernel's order: the gradient of a layer or group norm with scale and offset.

    With the note ``_in_two`` the graph engine computes it by two kernels, as on unified cores.
    """
    x, scale, inputs = call.tensor("x"), call.tensor("scale"), call.tensors()[:5]
    if x is None or scale is None or len(inputs) < 5:
        return None
    outputs = list(call.outputs) or [x, scale, scale]
    if call.flag("_in_two"):
        return _gradient_in_two(call, x, inputs, outputs)
    cost = _GRADIENT_OPS + _AFFINE_OPS
    return call.plan(call.kernel(call.binding.kernel, inputs, outputs, cost=cost, over=x.elements))


def _gradient_in_two(
    call: OperatorCall, x: TensorDesc, inputs: Sequence[TensorDesc], outputs: Sequence[TensorDesc]
) -> KernelPlan:
    """Return the gradient of a layer norm as one kernel for *x* and one for scale and offset (4.2)."""
    first, second = "LayerNormXBackpropV2", "LayerNormBetaGammaBackpropV2"
    products, dy = tensor_like(x, dtype="FLOAT"), call.tensor("dy") or inputs[0]
    return call.plan(
        call.kernel(first, inputs, [*outputs[:1], products], suffix=f"/{first}", cost=_GRADIENT_OPS, over=x.elements),
        call.kernel(second, [dy, products], outputs[1:], suffix=f"/{second}", cost=_AFFINE_OPS, over=x.elements),
    )


def group_norm(call: OperatorCall) -> KernelPlan | None:
    """``x scale offset samples channels size groups``: also makes mean and deviation of every group."""
    x, affine = call.tensor("x"), call.tensors("scale", "offset")
    outputs = list(call.outputs)
    if x is None or (not outputs and call.place("samples") < 0):
        return None
    if not outputs:
        samples, groups = call.whole("samples", 1), call.whole("groups", 1)
        if min(samples, groups) < 0:
            return None
        statistics = call.tensor_of((samples, groups), x.dtype)
        outputs = [x, statistics, statistics]
    cost = _LAYER_NORM_OPS + _AFFINE_OPS
    return call.plan(call.kernel("GroupNorm", [x, *affine], outputs, cost=cost, over=x.elements))


def group_norm_gradient(call: OperatorCall) -> KernelPlan | None:
    """``dy x mean deviation scale``."""
    inputs, x = call.tensors("dy", "mean", "deviation", "x"), call.tensor("x")
    if len(inputs) < 4 or x is None:
        return None
    channel = call.tensor_of(x.shape[1:2], x.dtype)
    outputs = [x, channel, channel]
    return call.plan(call.kernel("GroupNormGrad", [*inputs, *call.tensors("scale")], outputs, cost=_GRADIENT_OPS))


def rms_norm(call: OperatorCall) -> KernelPlan | None:
    """``x shape scale``: generated interfaces show the bare type of their kernels (device_and_cost_model.md 4.1)."""
    x, shape = call.tensor("x"), call.integers("shape")
    if x is None or not shape:
        return None
    inputs, outputs = [x, *call.tensors("scale")], [x, _statistics(call, x, len(shape))]
    return call.plan(call.under("").kernel("RmsNorm", inputs, outputs, cost=_RMS_NORM_OPS))


def normalisation(call: OperatorCall) -> KernelPlan | None:
    """``x`` and its scales: one kernel, with the element operations of the binding."""
    x = call.tensor("x")
    if x is None:
        return None
    cost = call.binding.operations
    return call.plan(call.kernel(call.binding.kernel, call.tensors(), call.outputs, cost=cost, over=x.elements))


def _batch_norm(call: OperatorCall, *, training: bool) -> KernelPlan | None:
    x = call.tensor("x")
    if x is None or len(x.shape) < 2:
        return None
    if training:
        # A 16-bit convolution before it may have made the sums (TbeConvBnreduceFusionPass).
        parts = [] if call.flag("_reduced") else [_sums(call, x)]
        return call.plan(*parts, _update(call, x))
    image = call.image(x)
    inputs = [image, *call.tensors("scale", "offset", "mean", "variance")]
    return call.plan(call.kernel("BNInfer", inputs, [image], cost=_INFER_OPS, over=x.elements))


def _sums(call: OperatorCall, x: TensorDesc) -> KernelSpec:
    channel = _per_channel(call, x)
    return call.kernel(
        f"{_prefix(call, x)}TrainingReduce",
        [call.image(x)],
        [channel] * 2,
        suffix="_Reduce",
        tail=False,
        cost=_REDUCE_OPS,
        over=x.elements,
    )


def _update(call: OperatorCall, x: TensorDesc) -> KernelSpec:
    channel, image = _per_channel(call, x), call.image(x)
    # TensorFlow passes empty tensors where there are no moving statistics.
    parameters = [t for t in call.tensors("scale", "offset", "mean", "variance") if t.elements]
    return call.kernel(
        f"{_prefix(call, x)}TrainingUpdate",
        [image, channel, channel, *parameters],
        [image, *[channel] * 4],
        suffix="_Update",
        cost=_UPDATE_OPS + sum(call.operations_of(name) for name in call.fused),
        over=x.elements,
    )


def _prefix(call: OperatorCall, x: TensorDesc) -> str:
    return "BN3D" if call.keeps_dims and len(x.shape) == _VOLUME_DIMS else "BN"


def _per_channel(call: OperatorCall, x: TensorDesc) -> TensorDesc:
    """Return sums per channel: [C], or [1, C, 1, 1] where the kernels hold them so."""
    channels = channels_of(call, x)
    if call.keeps_dims:
        return call.tensor_of((1, channels, *[1] * (len(x.shape) - 2)), "FLOAT")
    return TensorDesc((channels,), "FLOAT")


def _statistics(call: OperatorCall, x: TensorDesc, normalised: int) -> TensorDesc:
    lead = len(x.shape) - normalised
    return call.tensor_of((*x.shape[:lead], *[1] * normalised), "FLOAT")
