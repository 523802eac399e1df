"""
Which functions optimization level O1 casts, by the vendor's lists (``apex/amp/lists``).

The lists can be changed before ``amp.initialize``, as scripts do.
"""

from __future__ import annotations

from typing import Any, Final

import torch
from attrs import field, frozen


@frozen(eq=False)
class CastLists:
    """The names below one module or class, by what is done with their arguments."""

    module: Any
    half: list[str] = field(factory=list)
    """Computed in float16."""
    full: list[str] = field(factory=list)
    """Computed in float32."""
    promoted: list[str] = field(factory=list)
    """Computed in the widest type of the arguments."""
    sequences: list[str] = field(factory=list)
    """The same for a sequence of tensors, the first argument."""
    banned: list[tuple[str, str]] = field(factory=list)
    """Refused for float16, with a message."""


_LOSSES = (
    "poisson_nll_loss cosine_embedding_loss cross_entropy hinge_embedding_loss kl_div l1_loss mse_loss "
    "margin_ranking_loss multilabel_margin_loss multilabel_soft_margin_loss multi_margin_loss nll_loss "
    "binary_cross_entropy_with_logits smooth_l1_loss soft_margin_loss triplet_margin_loss ctc_loss"
)
_NORMS = "layer_norm group_norm local_response_norm normalize cosine_similarity"
_CONVOLUTIONS = "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d conv_tbc"
_POINTWISE = "acos asin cosh erfinv exp expm1 log log10 log2 reciprocal rsqrt sinh tan pow"
_REDUCTIONS = "cumprod cumsum dist norm prod std sum var renorm"
_COMPARISONS = "eq ge gt le lt ne"
_BANNED_LOSS = (
    "\namp does not work out-of-the-box with `F.binary_cross_entropy` or `torch.nn.BCELoss.` "
    "It requires that the output of the previous function be already a FloatTensor. \n\n"
    "Most models have a Sigmoid right before BCELoss. In that case, you can use\n"
    "    torch.nn.BCEWithLogitsLoss\nto combine Sigmoid+BCELoss into a single layer "
    "that is compatible with amp.\nAnother option is to add\n"
    "    amp.register_float_function(torch, 'sigmoid')\nbefore calling `amp.init()`.\n"
    "If you _really_ know what you are doing, you can disable this warning by passing "
    "allow_banned=True to `amp.init()`."
)

FUNCTIONAL: Final = CastLists(
    torch.nn.functional,
    half=f"{_CONVOLUTIONS} linear".split(),
    full=f"interpolate grid_sample softplus softmin log_softmax softmax gelu {_NORMS} {_LOSSES}".split(),
    banned=[("binary_cross_entropy", _BANNED_LOSS)],
)

# Products of batches (bmm and kin) are in neither list where PyTorch has no CUDA, as on an NPU.
TORCH: Final = CastLists(
    torch,
    half=f"{_CONVOLUTIONS} prelu addmm addmv addr matmul mm mv".split(),
    full=f"{_POINTWISE} {_REDUCTIONS}".split(),
    promoted=f"addcdiv addcmul atan2 cross bilinear dot add div mul equal {_COMPARISONS}".split(),
    sequences=["cat", "stack"],
)


def _methods(names: str, others: list[str]) -> list[str]:
    return [name for name in (*names.split(), *others) if hasattr(torch.Tensor, name)]


_ARITHMETIC = "add div mul sub truediv"
TENSOR: Final = CastLists(
    torch.Tensor,
    half=_methods("__matmul__", TORCH.half),
    full=_methods("__ipow__ __pow__ __rpow__ cpu", TORCH.full),
    promoted=_methods(
        " ".join(
            [
                *(f"__{form}{name}__" for form in ("", "i", "r") for name in _ARITHMETIC.split()),
                *(f"__{name}__" for name in _COMPARISONS.split()),
            ]
        ),
        TORCH.promoted,
    ),
    sequences=_methods("", TORCH.sequences),
)
