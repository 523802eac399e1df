"""
The functions of extensions that drynpu computes, by the names that their sources bind.

Signatures come from the sources of MindSpeed (mindspeed/ops/csrc); operators of torch_npu compute them, so
that kernels, gradients and messages are theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor

from drynpu_torch.deferred_operators import register_operators
from drynpu_torch_operators.operators.rotary import ROTARY_MODES

Groups: TypeAlias = Tensor | list[int] | None
_SINGLE: Final = 3
"""``split_item``: one tensor for all groups comes in and one goes out."""
_ROWS, _INNER = 0, 2
"""``group_type``: what the groups divide."""
_MIN_WIDTH = 1e-12


def find_function(name: str) -> Callable[..., Any] | None:
    """Return the function of the name *name*, ``None`` if drynpu does not compute it."""
    register_operators()
    return getattr(torch.ops.npu, name) if name in _OPERATORS else _FUNCTIONS.get(name)


def _grouped(
    x: Sequence[Tensor],
    weight: Sequence[Tensor],
    bias: Sequence[Tensor],
    group_list: Groups,
    group_type: int | None,
    group_list_type: int | None,
) -> list[Tensor]:
    kind = -1 if group_type is None else group_type
    products: list[Tensor] = torch.ops.npu.npu_grouped_matmul(
        list(x),
        list(weight),
        bias=list(bias) or None,
        group_list=group_list,
        split_item=_SINGLE,
        group_type=kind,
        group_list_type=group_list_type or 0,
    )
    return products


def _grouped_backward(
    grad: Sequence[Tensor],
    x: Sequence[Tensor],
    weight: Sequence[Tensor],
    group_list: Groups,
    group_list_type: int | None,
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    slopes, _, biases = _grouped_backward_of_rows(grad, weight, group_list, group_list_type)
    turned = [t.transpose(-2, -1) for t in x]
    of_weights = _grouped(turned, grad, [], group_list, _INNER, group_list_type)
    return slopes, [t.reshape(w.shape) for t, w in zip(of_weights, weight, strict=True)], biases


def _grouped_backward_of_rows(
    grad: Sequence[Tensor], weight: Sequence[Tensor], group_list: Groups, group_list_type: int | None
) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    turned = [w.transpose(-2, -1) for w in weight]
    return _grouped(grad, turned, [], group_list, _ROWS, group_list_type), [], []


def _quantised_grouped(
    x: Sequence[Tensor],
    weight: Sequence[Tensor],
    scale: Sequence[Tensor],
    offset: Sequence[Tensor],
    per_token_scale: Sequence[Tensor],
    bias: Sequence[Tensor],
    group_list: Tensor | None,
    group_list_type: int | None,
    output_dtype: int | None,
    act_type: int | None,
) -> list[Tensor]:
    products: list[Tensor] = torch.ops.npu.npu_grouped_matmul(
        list(x),
        list(weight),
        bias=list(bias) or None,
        scale=list(scale),
        offset=list(offset) or None,
        per_token_scale=list(per_token_scale) or None,
        group_list=group_list,
        split_item=_SINGLE,
        group_type=_ROWS,
        group_list_type=group_list_type or 0,
        act_type=act_type or 0,
        output_dtype={-1: torch.int8, 0: torch.float16, 1: torch.bfloat16}[output_dtype or 0],
    )
    return products


def _grouped_of_quantised_weights(
    x: Sequence[Tensor],
    weight: Sequence[Tensor],
    antiquant_scale: Sequence[Tensor],
    antiquant_offset: Sequence[Tensor],
    bias: Sequence[Tensor],
    group_list: Tensor | None,
    group_list_type: int | None,
    act_type: int | None,
) -> list[Tensor]:
    products: list[Tensor] = torch.ops.npu.npu_grouped_matmul(
        list(x),
        list(weight),
        bias=list(bias) or None,
        antiquant_scale=list(antiquant_scale),
        antiquant_offset=list(antiquant_offset) or None,
        group_list=group_list,
        split_item=_SINGLE,
        group_type=_ROWS,
        group_list_type=group_list_type or 0,
        act_type=act_type or 0,
    )
    return products


_QUANTISATION: Final = (
    *("expert_tokens", "expert_tokens_index", "bias1", "bias2", "scale", "offset", "deq_scale1", "deq_scale2"),
    *("antiquant_scale1", "antiquant_scale2", "antiquant_offset1", "antiquant_offset2"),
    *("inner_precise", "output_dtype"),
)
_MASKS: Final = ("pse", "padding_mask", "atten_mask")
_WINDOW: Final = ("pre_tokens", "next_tokens", "inner_precise")
_SEQUENCES: Final = (
    *("prefix", "actual_seq_qlen", "actual_seq_kvlen", "sparse_mode", "gen_mask_parallel", "sync"),
    *("pse_type", "q_start_idx", "kv_start_idx"),
)
_STATISTICS: Final = ("softmax_max", "softmax_sum", "softmax_in", "attention_in")


def _feed_forward(x: Tensor, weight1: Tensor, weight2: Tensor, activation: str, *others: Any) -> Any:
    keywords = dict(zip(_QUANTISATION, others, strict=True))
    for name in ("expert_tokens", "expert_tokens_index"):
        if isinstance(keywords[name], Tensor):
            keywords[name] = keywords[name].tolist()
    return torch.ops.npu.npu_ffn(x, weight1, weight2, activation, **keywords)


def _attention(query: Tensor, key: Tensor, value: Tensor, head_num: int, input_layout: str, *others: Any) -> Any:
    keywords = dict(zip((*_MASKS, "scale", "keep_prob", *_WINDOW, *_SEQUENCES), others, strict=True))
    return torch.ops.npu.npu_fusion_attention_v2(query, key, value, head_num, input_layout, **keywords)


def _attention_backward(
    query: Tensor, key: Tensor, value: Tensor, slope: Tensor, head_num: int, input_layout: str, *others: Any
) -> Any:
    names = (*_MASKS, *_STATISTICS, "scale_value", "keep_prob", *_WINDOW, "seed", "offset", "numels", *_SEQUENCES)
    keywords = dict(zip(names, others, strict=True))
    gradients = torch.ops.npu.npu_fusion_attention_grad_v2(query, key, value, slope, head_num, input_layout, **keywords)
    return gradients[:4]


def _ring_attention_update(
    prev_attn_out: Tensor,
    prev_softmax_max: Tensor,
    prev_softmax_sum: Tensor,
    cur_attn_out: Tensor,
    cur_softmax_max: Tensor,
    cur_softmax_sum: Tensor,
    actual_seq_qlen: Tensor | None = None,
    layout: str = "SBH",
) -> Any:
    before = (prev_attn_out, prev_softmax_max, prev_softmax_sum)
    current = (cur_attn_out, cur_softmax_max, cur_softmax_sum)
    keywords = {"actual_seq_qlen": actual_seq_qlen, "input_layout": layout}
    return torch.ops.npu.npu_ring_attention_update(*before, *current, **keywords)


def _rotary(x: Tensor, cos: Tensor, sin: Tensor, mode: int = 0) -> Tensor:
    rotated: Tensor = torch.ops.npu.npu_rotary_mul(x, cos, sin, ROTARY_MODES[mode])
    return rotated


def _swiglu(x: Tensor, dim: int = -1) -> Tensor:
    activated: Tensor = torch.ops.npu.npu_swiglu(x, dim)
    return activated


def _rms_norm(x: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> Tensor:
    normed: Tensor = torch.ops.npu.npu_rms_norm(x, gamma, epsilon)[0]
    return normed


def _fused_adam_w(
    param: Tensor,
    grad: Tensor,
    exp_avg: Tensor,
    exp_avg_sq: Tensor,
    max_exp_avg_sq: Tensor | None,
    state_step: Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    weight_decay: float,
    eps: float,
    amsgrad: bool,
    maximize: bool,
) -> None:
    done = state_step.item() - 1
    powers, rates = (beta1**done, beta2**done), (lr, weight_decay, beta1, beta2, eps)
    largest = max_exp_avg_sq if amsgrad else None
    state = (param, exp_avg, exp_avg_sq)
    torch.ops.npu.npu_apply_adam_w.out(*powers, *rates, grad, largest, amsgrad, maximize, out=state)


def _dropout_add_layer_norm(
    x0: Tensor,
    weight: Tensor,
    residual: Tensor | None,
    bias: Tensor | None,
    rowscale: Tensor | None,
    layerscale: Tensor | None,
    p: float,
    eps: float,
    prenorm: bool,
    residual_in_fp32: bool,
    is_rms_norm: bool,
    return_dropout_mask: bool,
) -> tuple[Tensor, Tensor | None, Tensor | None]:
    """Compute operator by operator in single precision, as the extension does."""
    kept = torch.float32 if residual_in_fp32 else x0.dtype
    kept = kept if residual is None else residual.dtype
    scaled = x0.float()
    if rowscale is not None:
        scaled = scaled * rowscale.float().view(*x0.shape[:2], 1)
    if layerscale is not None:
        scaled = scaled * layerscale.float().view(1, 1, -1)
    mask = torch.ones_like(scaled, dtype=torch.bool)
    if p:
        mask.bernoulli_(1 - p)
        scaled = scaled * mask * (1 / (1 - p) if 1 - p > _MIN_WIDTH else 0)
    before = scaled if residual is None else scaled + residual.float()
    if is_rms_norm:
        size = before.square().sum(2, keepdim=True) * (1 / weight.numel()) + eps
        norm = before * size.pow(-0.5) * weight.float().view(1, 1, -1)
    else:
        offset = None if bias is None else bias.float()
        norm = torch.native_layer_norm(before, [weight.numel()], weight.float(), offset, eps)[0]
    return norm.to(x0.dtype), before.to(kept) if prenorm else None, mask if return_dropout_mask else None


_OPERATORS: Final = frozenset(
    {
        *("npu_matmul_add_fp32", "npu_groupmatmul_add_fp32"),
        *("npu_moe_token_permute", "npu_moe_token_unpermute"),
    }
)
"""Functions with the name and the order of arguments of an operator."""

_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "npu_apply_fused_adamw_v2": _fused_adam_w,
    "npu_dropout_add_layer_norm": _dropout_add_layer_norm,
    "npu_ffn": _feed_forward,
    "npu_fusion_attention_grad_v2": _attention_backward,
    "npu_fusion_attention_v2": _attention,
    "npu_gmm": _grouped,
    "npu_gmm_backward": _grouped_backward,
    "npu_gmm_backward_fusion": _grouped_backward_of_rows,
    "npu_quant_gmm": _quantised_grouped,
    "npu_ring_attention_update": _ring_attention_update,
    "npu_rotary_position_embedding": _rotary,
    "npu_weight_quant_gmm": _grouped_of_quantised_weights,
    "rms_norm": _rms_norm,
    "swiglu": _swiglu,
}
