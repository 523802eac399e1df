"""
Pooling.

Max pooling works on NC1HWC0 with C0 = 16 whatever the type; the mask has kh*kw rows of (ceil(Ho*Wo/16) + 1) * 16
numbers per 16 channels. Both are as measured (M2).
"""

from __future__ import annotations

from drynpu.kernels import KernelPlan, KernelSpec, Signature, TaskType, TensorDesc
from drynpu_torch.rules._shapes import ceil_div, flag, integers, product
from drynpu_torch.rules._work import Rule, kernel, plan, tensor

__all__ = ["pooling_rules"]

_C0 = 16


def _planes(x: TensorDesc) -> TensorDesc:
    return tensor((1,) * (4 - len(x.shape)) + x.shape, x.dtype)


def _blocked(x: TensorDesc) -> TensorDesc:
    n, c, *space = x.shape
    return TensorDesc((n, ceil_div(c, _C0), *space, _C0), x.dtype, "NC1HWC0")


def _trans(api: str, source: TensorDesc, target: TensorDesc) -> KernelSpec:
    return kernel(api, "TransDataSpecial", "TransData", [source], [target], cost=0)


def _pair(values: tuple[int, ...] | None, default: tuple[int, int]) -> tuple[int, int]:
    """Return two numbers: one stands for both, none for *default*."""
    if not values:
        return default
    return (values[0], values[-1])


def _mask(x: TensorDesc, space: tuple[int, ...], window: tuple[int, ...]) -> TensorDesc:
    n, c = x.shape[:2]
    columns = ceil_div(product(space), 16) + 1
    return TensorDesc((n, ceil_div(c, _C0), product(window), columns, 16), "UINT16", "NC1HWC0")


def _pooled(
    x: TensorDesc, signature: Signature, first: int, *, dilated: bool
) -> tuple[tuple[int, ...], tuple[int, int]] | None:
    """Return (output rows and columns, window) from window, stride, padding[, dilation], ceil mode at *first*..."""
    window = _pair(integers(signature, first), (1, 1))
    stride = _pair(integers(signature, first + 1), window)
    padding = _pair(integers(signature, first + 2), (0, 0))
    dilation = _pair(integers(signature, first + 3), (1, 1)) if dilated else (1, 1)
    if min(*window, *stride, *dilation) < 1:
        return None
    ceil_mode = flag(signature, first + (4 if dilated else 3))
    space = []
    for size, k, s, p, d in zip(x.shape[-2:], window, stride, padding, dilation, strict=True):
        room = size + 2 * p - d * (k - 1) - 1
        count = (ceil_div(room, s) if ceil_mode else room // s) + 1
        if ceil_mode and (count - 1) * s >= size + p:
            count -= 1  # the last window must start inside the input or its left padding
        space.append(count)
    return (tuple(space), window) if min(space) >= 0 else None


def _max_pool(signature: Signature) -> KernelPlan | None:
    source = signature.tensor(0)
    if source is None or len(source.shape) not in (3, 4):
        return None
    x = _planes(source)
    pooled = _pooled(x, signature, 1, dilated=True)
    if pooled is None:
        return None
    space, window = pooled
    out = tensor((*x.shape[:2], *space), x.dtype)
    api, inside, outside = "aclnnMaxPool2dWithMask", _blocked(x), _blocked(out)
    main = kernel(
        api,
        None,
        "MaxPoolWithArgmaxV1",
        [inside],
        [outside, _mask(x, space, window)],
        cost=product(window),
        over=outside.elements,
    )
    return plan(api, _trans(api, x, inside), main, _trans(api, outside, out))


def _max_pool_backward(signature: Signature) -> KernelPlan | None:
    """``max_pool2d_with_indices_backward(dy, x, window, stride, padding, dilation, ceil_mode, indices)``."""
    dy, source = signature.tensor(0), signature.tensor(1)
    if dy is None or source is None or len(source.shape) != len(dy.shape) or len(dy.shape) not in (3, 4):
        return None
    x, gradient = _planes(source), _planes(dy)
    window = _pair(integers(signature, 2), (1, 1))
    if min(window) < 1:
        return None
    api, blocked_x, blocked_dy = "aclnnMaxPool2dWithMaskBackward", _blocked(x), _blocked(gradient)
    main = kernel(
        api,
        None,
        "MaxPoolGradWithArgmaxV1",
        [blocked_x, blocked_dy, _mask(x, gradient.shape[2:], window)],
        [blocked_x],
        cost=product(window),
        over=blocked_dy.elements,
    )
    return plan(api, _trans(api, x, blocked_x), _trans(api, gradient, blocked_dy), main, _trans(api, blocked_x, x))


def _average_pool(signature: Signature) -> KernelPlan | None:
    x = signature.tensor(0)
    if x is None or len(x.shape) not in (3, 4):
        return None
    pooled = _pooled(x, signature, 1, dilated=False)
    if pooled is None:
        return None
    space, window = pooled
    out = tensor((*x.shape[:-2], *space), x.dtype)
    spec = kernel("aclnnAvgPool2d", "AvgPoolV2", "AvgPoolV2", [x], [out], cost=product(window), over=out.elements)
    return plan("aclnnAvgPool2d", spec)


def _average_pool_backward(signature: Signature) -> KernelPlan | None:
    dy, x = signature.tensor(0), signature.tensor(1)
    if dy is None or x is None:
        return None
    window = _pair(integers(signature, 2), (1, 1))
    if min(window) < 1:
        return None
    api = "aclnnAvgPool2dBackward"
    spec = kernel(api, "AvgPoolV2Grad", "AvgPoolV2Grad", [dy], [x], cost=product(window), over=dy.elements)
    return plan(api, spec)


def _channels_last(x: TensorDesc) -> TensorDesc:
    """Return [N, C, H, W] as the [N, 1, H, W, C] of the three-dimensional kernel."""
    n, c, h, w = _planes(x).shape
    return TensorDesc((n, 1, h, w, c), x.dtype)


def _adaptive(signature: Signature) -> KernelPlan | None:
    x, size = signature.tensor(0), integers(signature, 1)
    if x is None or size is None or min(size, default=0) < 0 or len(x.shape) not in (3, 4):
        return None
    size = _pair(size, (1, 1))
    out = tensor((*x.shape[:-2], *size), x.dtype)
    api, inside, outside = "aclnnAdaptiveAvgPool2d", _channels_last(x), _channels_last(out)
    return plan(
        api,
        kernel(api, None, "Transpose", [x], [inside], cost=0),
        kernel(api, None, "AdaptiveAvgPool3d", [inside], [outside]),
        kernel(api, None, "Transpose", [outside], [out], cost=0),
    )


def _adaptive_backward(signature: Signature) -> KernelPlan | None:
    dy, x = signature.tensor(0), signature.tensor(1)
    if dy is None or x is None or len(x.shape) != len(dy.shape) or len(dy.shape) not in (3, 4):
        return None
    api, inside, outside = "aclnnAdaptiveAvgPool2dBackward", _channels_last(dy), _channels_last(x)
    return plan(
        api,
        kernel(api, None, "Transpose", [dy], [inside], cost=0),
        kernel(api, None, "AdaptiveAvgPool3dGrad", [inside, x], [outside], task=TaskType.MIX_AIV, read=dy.size_bytes),
        kernel(api, None, "Transpose", [outside], [x], cost=0),
    )


def pooling_rules() -> dict[str, Rule]:
    """Return the rules by operator name."""
    return {
        "aten::max_pool2d_with_indices": _max_pool,
        "aten::max_pool2d_with_indices_backward": _max_pool_backward,
        "aten::avg_pool2d": _average_pool,
        "aten::avg_pool2d_backward": _average_pool_backward,
        "aten::_adaptive_avg_pool2d": _adaptive,
        "aten::_adaptive_avg_pool2d_backward": _adaptive_backward,
    }
