"""
Batch normalisation, softmax, losses.

The graph engine splits a training batch norm into BNTrainingReduce and BNTrainingUpdate, named after the node with
``_Reduce`` and ``_Update`` (device_and_cost_model.md 4.3); that of inference is BNInfer.
"""

from __future__ import annotations

from drynpu.kernels import KernelPlan, NodeCall, Rule, TensorDesc, node_kernel, node_rule, plan_of
from drynpu_tf.rules._elementwise import operations_of
from drynpu_tf.rules._layout import blocked, channels_first, is_image

__all__ = ["normalisation_rules"]

_SOFTMAX_OPS = 5
_REDUCE_OPS, _UPDATE_OPS, _UPDATE_GRAD_OPS, _REDUCE_GRAD_OPS = 3, 3, 4, 6
_INFER_OPS, _CROSS_ENTROPY_OPS = 3, 8


def _images(call: NodeCall, *tensors: TensorDesc) -> list[TensorDesc]:
    """Return images in the blocked format in a compiled graph, plain outside."""
    inside = "_graph" in call.attrs
    nchw = channels_first(call)
    return [blocked(t, nchw=nchw) if inside and is_image(t.shape) else t for t in tensors]


def _training(call: NodeCall) -> bool:
    return call.attrs.get("is_training", True) is not False


def _batch_norm(call: NodeCall) -> KernelPlan | None:
    """``FusedBatchNormV3(x, scale, offset, mean, variance)``."""
    x, scale, offset = call.tensor(0), call.tensor(1), call.tensor(2)
    if x is None or scale is None or offset is None:
        return None
    (image,) = _images(call, x)
    if not _training(call):
        parameters = [t for t in (call.tensor(i) for i in range(1, 5)) if t is not None]
        return plan_of(node_kernel(call, "BNInfer", [image, *parameters], [image], cost=_INFER_OPS, over=x.elements))
    sums = [TensorDesc(scale.shape, "FLOAT")] * 2
    reduce = node_kernel(
        call, "BNTrainingReduce", [image], sums, suffix="_Reduce", tail=False, cost=_REDUCE_OPS, over=x.elements
    )
    update = node_kernel(
        call,
        "BNTrainingUpdate",
        [image, *sums, scale, offset, *_running(call)],
        [image, *sums, *sums],
        suffix="_Update",
        cost=_UPDATE_OPS + sum(operations_of(name) for name in call.texts("_fused")),
        over=x.elements,
    )
    return plan_of(update) if call.flag("_reduced") else plan_of(reduce, update)


def _running(call: NodeCall) -> list[TensorDesc]:
    """Moving statistics that go into a training call; TensorFlow passes empty tensors where there are none."""
    return [t for t in (call.tensor(3), call.tensor(4)) if t is not None and t.elements]


def _batch_norm_grad(call: NodeCall) -> KernelPlan | None:
    """``FusedBatchNormGradV3(dy, x, scale, mean, variance, reserve)``."""
    dy, x, scale = call.tensor(0), call.tensor(1), call.tensor(2)
    if dy is None or x is None or scale is None:
        return None
    grads, image = _images(call, dy, x)
    channel = TensorDesc(scale.shape, "FLOAT")
    if not _training(call):
        update = node_kernel(
            call, "BNTrainingUpdateGrad", [grads, image, channel, channel], [channel, channel],
            suffix="_Update", cost=_UPDATE_GRAD_OPS, over=x.elements,
        )  # fmt: skip
        infer = node_kernel(
            call, "BNInferGrad", [grads, scale, channel], [image], suffix="_Infer", cost=_INFER_OPS, over=x.elements
        )
        return plan_of(update, infer)
    update = node_kernel(
        call,
        "BNTrainingUpdateGrad",
        [grads, image, channel, channel],
        [channel, channel],
        suffix="_Update",
        cost=_UPDATE_GRAD_OPS,
        over=x.elements,
    )
    reduce = node_kernel(
        call,
        "BNTrainingReduceGrad",
        [grads, image, channel, channel, scale, channel, channel],
        [image],
        suffix="_Reduce",
        cost=_REDUCE_GRAD_OPS,
        over=x.elements,
    )
    return plan_of(update, reduce)


def _softmax(op_type: str) -> Rule:
    def read(call: NodeCall) -> KernelPlan | None:
        x = call.tensor(0)
        return None if x is None else plan_of(node_kernel(call, op_type, [x], [x], cost=_SOFTMAX_OPS))

    return node_rule(read)


def _cross_entropy(op_type: str) -> Rule:
    """``(logits, labels) -> (loss, gradient of the logits)``; both come from one kernel."""

    def read(call: NodeCall) -> KernelPlan | None:
        logits, labels = call.tensor(0), call.tensor(1)
        if logits is None or labels is None:
            return None
        made = [call.output(0) or TensorDesc(logits.shape[:1], logits.dtype), call.output(1) or logits]
        spec = node_kernel(call, op_type, [logits, labels], made, cost=_CROSS_ENTROPY_OPS, over=logits.elements)
        return plan_of(spec)

    return node_rule(read)


def normalisation_rules() -> dict[str, Rule]:
    """Return the rules by operator type."""
    rules: dict[str, Rule] = {
        "Softmax": _softmax("SoftmaxV2"),
        "LogSoftmax": _softmax("LogSoftmaxV2"),
        "SoftmaxCrossEntropyWithLogits": _cross_entropy("SoftmaxCrossEntropyWithLogits"),
        "SparseSoftmaxCrossEntropyWithLogits": _cross_entropy("SparseSoftmaxCrossEntropyWithLogits"),
    }
    for version in ("", "V2", "V3"):
        rules[f"FusedBatchNorm{version}"] = node_rule(_batch_norm)
        rules[f"FusedBatchNormGrad{version}"] = node_rule(_batch_norm_grad)
    return rules
