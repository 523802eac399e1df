"""Softmax and the normalisations; operation counts as in device_and_cost_model.md 2 where it gives them."""

from __future__ import annotations

from drynpu.kernels import KernelPlan, Signature, TensorDesc
from drynpu_torch.rules._dtypes import ge_dtype_of_code
from drynpu_torch.rules._shapes import attribute, flag, integers, whole
from drynpu_torch.rules._work import Rule, kernel, like, plan, tensor

__all__ = ["normalisation_rules"]

_SOFTMAX_OPS, _LAYER_NORM_OPS, _AFFINE_OPS = 5, 6, 2
_GRADIENT_OPS = 12
_RANK_WITH_3D_KERNEL = 5


def _softmax_rule(api: str, function: str, op_type: str) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        x = signature.tensor(0)
        if x is None:
            return None
        # log_softmax of 16 bit with half_to_float
        out = like(x, dtype="FLOAT" if flag(signature, 2) else x.dtype)
        return plan(api, kernel(api, function, op_type, [x], [out], cost=_SOFTMAX_OPS))

    return rule


def _softmax_backward_rule(api: str, op_type: str) -> Rule:
    def rule(signature: Signature) -> KernelPlan | None:
        dy, y = signature.tensor(0), signature.tensor(1)
        if dy is None or y is None:
            return None
        out = like(y, dtype=ge_dtype_of_code(attribute(signature, 3)) or y.dtype)
        return plan(api, kernel(api, op_type, op_type, [dy, y], [out], cost=4))

    return rule


def _layer_norm(signature: Signature) -> KernelPlan | None:
    """``native_layer_norm(x, normalized_shape, weight, bias, eps)``."""
    x, shape = signature.tensor(0), integers(signature, 1)
    affine = [t for t in (signature.tensor(2), signature.tensor(3)) if t is not None]
    if x is None or shape is None:
        return None
    statistics = _statistics(x, len(shape))
    cost = _LAYER_NORM_OPS + (_AFFINE_OPS if affine else 0)
    spec = kernel("aclnnLayerNorm", "LayerNormV3", "LayerNormV3", [x, *affine], [x, statistics, statistics], cost=cost)
    return plan("aclnnLayerNorm", spec)


def _statistics(x: TensorDesc, normalized: int) -> TensorDesc:
    lead = len(x.shape) - normalized
    return tensor((*x.shape[:lead], *[1] * normalized), "FLOAT")


def _layer_norm_backward(signature: Signature) -> KernelPlan | None:
    """``native_layer_norm_backward(dy, x, normalized_shape, mean, rstd, weight, bias, output_mask)``."""
    dy, x, mean, rstd, weight = (signature.tensor(i) for i in (0, 1, 3, 4, 5))
    shape = integers(signature, 2)
    if dy is None or x is None or mean is None or rstd is None or shape is None:
        return None
    parameters = [like(weight, dtype="FLOAT")] * 2 if weight is not None else []
    inputs = [dy, x, rstd, mean] + ([weight] if weight is not None else [])
    api = "aclnnLayerNormBackward"
    spec = kernel(api, "LayerNormGradV3", "LayerNormGradV3", inputs, [x, *parameters], cost=_GRADIENT_OPS)
    return plan(api, spec)


def _per_channel(x: TensorDesc) -> TensorDesc:
    """Statistics as the 4-D kernels hold them."""
    return tensor((1, x.shape[1], *[1] * (len(x.shape) - 2)), "FLOAT")


def _batch_norm(signature: Signature) -> KernelPlan | None:
    """``native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps)``."""
    x = signature.tensor(0)
    if x is None or len(x.shape) < 2:
        return None
    parameters = [t for t in (signature.tensor(i) for i in range(1, 5)) if t is not None]
    if not flag(signature, 5):
        spec = kernel("aclnnBatchNorm", "BNInfer", "BNInfer", [x, *parameters], [x], cost=3)
        return plan("aclnnBatchNorm", spec)
    return _batch_norm_training(x, parameters)


def _batch_norm_training(x: TensorDesc, parameters: list[TensorDesc]) -> KernelPlan:
    prefix = "BN3D" if len(x.shape) == _RANK_WITH_3D_KERNEL else "BN"
    api, channel = "aclnnBatchNorm", _per_channel(x)
    reduce, update = f"{prefix}TrainingReduce", f"{prefix}TrainingUpdate"
    return plan(
        api,
        kernel(api, reduce, reduce, [x], [channel, channel], cost=3, over=x.elements),
        kernel(api, update, update, [x, channel, channel, *parameters], [x, *[channel] * 4], cost=3, over=x.elements),
    )


def _with_update(signature: Signature) -> KernelPlan | None:
    """``_batch_norm_with_update``: always training, always with running statistics."""
    x = signature.tensor(0)
    if x is None or len(x.shape) < 2:
        return None
    return _batch_norm_training(x, [t for t in (signature.tensor(i) for i in range(1, 5)) if t is not None])


def _batch_norm_backward(signature: Signature) -> KernelPlan | None:
    """``native_batch_norm_backward(dy, x, weight, running_mean, running_var, save_mean, save_invstd, train, ...)``."""
    dy, x, weight = signature.tensor(0), signature.tensor(1), signature.tensor(2)
    if dy is None or x is None or len(x.shape) < 2:
        return None
    prefix = "BN3D" if len(x.shape) == _RANK_WITH_3D_KERNEL else "BN"
    api, channel = "aclnnBatchNormBackward", _per_channel(x)
    update, reduce = f"{prefix}TrainingUpdateGrad", f"{prefix}TrainingReduceGrad"
    scale = [weight] if weight is not None else []
    return plan(
        api,
        kernel(api, update, update, [dy, x, channel, channel], [channel, channel], cost=4, over=x.elements),
        kernel(api, reduce, reduce, [dy, x, channel, channel, *scale, channel, channel], [x], cost=6, over=x.elements),
    )


def _group_norm(signature: Signature) -> KernelPlan | None:
    """``native_group_norm(x, weight, bias, N, C, HxW, group, eps)``."""
    x = signature.tensor(0)
    samples, groups = whole(signature, 3, 1), whole(signature, 6, 1)
    if x is None or min(samples, groups) < 0:
        return None
    affine = [t for t in (signature.tensor(1), signature.tensor(2)) if t is not None]
    statistics = tensor((samples, groups), x.dtype)
    spec = kernel("aclnnGroupNorm", "GroupNorm", "GroupNorm", [x, *affine], [x, statistics, statistics], cost=8)
    return plan("aclnnGroupNorm", spec)


def _group_norm_backward(signature: Signature) -> KernelPlan | None:
    """``native_group_norm_backward(dy, x, mean, rstd, weight, N, C, HxW, group, output_mask)``."""
    dy, x, mean, rstd, weight = (signature.tensor(i) for i in range(5))
    if dy is None or x is None or mean is None or rstd is None:
        return None
    channels = x.shape[1:2]
    inputs = [dy, mean, rstd, x] + ([weight] if weight is not None else [])
    outputs = [x, tensor(channels, x.dtype), tensor(channels, x.dtype)]
    spec = kernel("aclnnGroupNormBackward", "GroupNormGrad", "GroupNormGrad", inputs, outputs, cost=_GRADIENT_OPS)
    return plan("aclnnGroupNormBackward", spec)


def _rms_norm(signature: Signature) -> KernelPlan | None:
    """``_fused_rms_norm(x, normalized_shape, weight, eps)``; the kernel shows its bare type (4.1)."""
    x, shape, weight = signature.tensor(0), integers(signature, 1), signature.tensor(2)
    if x is None or shape is None:
        return None
    inputs = [x] + ([weight] if weight is not None else [])
    return plan("aclnnRmsNorm", kernel("", "", "RmsNorm", inputs, [x, _statistics(x, len(shape))], cost=5))


def normalisation_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    return {
        "aten::_softmax": _softmax_rule("aclnnSoftmax", "SoftmaxAiCore", "SoftmaxV2"),
        "aten::_log_softmax": _softmax_rule("aclnnLogSoftmax", "LogSoftmaxAiCore", "LogSoftmaxV2"),
        "aten::_softmax_backward_data": _softmax_backward_rule("aclnnSoftmaxBackward", "SoftmaxGrad"),
        "aten::_log_softmax_backward_data": _softmax_backward_rule("aclnnLogSoftmaxBackward", "LogSoftmaxGrad"),
        "aten::native_layer_norm": _layer_norm,
        "aten::native_layer_norm_backward": _layer_norm_backward,
        "aten::native_batch_norm": _batch_norm,
        "aten::_native_batch_norm_legit": _batch_norm,
        "aten::_batch_norm_with_update": _with_update,
        "aten::native_batch_norm_backward": _batch_norm_backward,
        "aten::native_group_norm": _group_norm,
        "aten::native_group_norm_backward": _group_norm_backward,
        "aten::_fused_rms_norm": _rms_norm,
    }
