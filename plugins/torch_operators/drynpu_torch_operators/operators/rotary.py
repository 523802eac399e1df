"""Rotary position embedding, in halves and in pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator

SCHEMAS = """
npu_rotary_mul(Tensor self, Tensor r1, Tensor r2, str rotary_mode='half', Tensor? rotate=None) -> Tensor
npu_rotary_mul_backward(Tensor grad, Tensor self, Tensor r1, Tensor r2, str rotary_mode='half') ->
    (Tensor, Tensor, Tensor)
npu_interleave_rope(Tensor x, Tensor cos, Tensor sin) -> Tensor
npu_apply_rotary_pos_emb(Tensor query, Tensor key, Tensor cos, Tensor sin, str layout='BSND',
    str rotary_mode='half') -> (Tensor, Tensor)
npu_mrope(Tensor positions, Tensor query, Tensor key, Tensor cos_sin_cache, int head_size, *,
    int[]? mrope_section=None, str? rotary_mode='half', str? cache_mode='default') -> (Tensor, Tensor)
_npu_rotary_embedding(Tensor positions, Tensor(a!) query, Tensor(b!) key, int head_size, Tensor cos_sin_cache,
    bool is_neox_style) -> ()
"""

ROTARY_MODES = ("half", "interleave")
_INTERLEAVED_WIDTH = 64
_ROTATION, _GRADIENT = 4, 8
"""Element operations, our count: two products, a sum and a move for each element; the gradient has twice as many."""


def _turned(x: Tensor, mode: str) -> Tensor:
    """Return *x* with its second half negated before the first, or the same in every pair."""
    if mode == "half":
        first, second = x.chunk(2, -1)
        return torch.cat((-second, first), -1)
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


def _check_mode(mode: str) -> None:
    message = f"The rotary_mode of npu_rotary_mul should be half or interleave, but got {mode}"
    errors.require(mode in ROTARY_MODES, message)


def _rotary_mul(self: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str, rotate: Tensor | None) -> Tensor:
    _check_mode(rotary_mode)
    x, cos, sin = wide(self), wide(r1.to(self.dtype)), wide(r2.to(self.dtype))
    turned = _turned(x, rotary_mode) if rotate is None else x @ wide(rotate)
    return (x * cos + turned * sin).to(self.dtype)


def _rotary_kernels(call: Call) -> Iterable[Launch]:
    x = call["self"]
    for factor in call.tensors("r1", "r2"):
        if factor.dtype is not x.dtype:
            cast = factor.to(x.dtype)
            yield Launch(kernel="Cast", inputs=[factor], outputs=[cast], api="aclnnCast")
    yield from vector("RotaryPositionEmbedding", cost=_ROTATION)(call)


def _rotary_mul_backward(
    grad: Tensor, self: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str
) -> tuple[Tensor, Tensor, Tensor]:
    _check_mode(rotary_mode)
    dy, x = wide(grad), wide(self)
    # Turning is antisymmetric, so its gradient is the turn back.
    dx = dy * wide(r1) - _turned(dy * wide(r2), rotary_mode)
    dr1, dr2 = (dy * x).sum_to_size(r1.shape), (dy * _turned(x, rotary_mode)).sum_to_size(r2.shape)
    return dx.to(self.dtype), dr1.to(r1.dtype), dr2.to(r2.dtype)


def _rotary_gradient(call: Call, grad: Tensor) -> Mapping[str, Tensor | None]:
    kept = [call[name] for name in ("self", "r1", "r2")]
    gradients = torch.ops.npu.npu_rotary_mul_backward(grad, *kept, call["rotary_mode"])
    return dict(zip(("self", "r1", "r2"), gradients, strict=True))


def _interleave_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    if x.dim() != 4 or x.shape[-1] != _INTERLEAVED_WIDTH:
        errors.reject("aclnnInterleaveRope", f"x should be [B, N, S, 64], but got {list(x.shape)}.")
    halves = torch.cat((x[..., ::2], x[..., 1::2]), -1)
    return _rotary_mul(halves, cos, sin, "half", None)


def _apply_rotary_pos_emb(
    query: Tensor, key: Tensor, cos: Tensor, sin: Tensor, rotary_mode: str
) -> tuple[Tensor, Tensor]:
    return _rotary_mul(query, cos, sin, rotary_mode, None), _rotary_mul(key, cos, sin, rotary_mode, None)


def _rotated_heads(x: Tensor, head_size: int, cos: Tensor, sin: Tensor, mode: str) -> Tensor:
    """Return [tokens, heads * head_size] with the first dims of each head rotated by [tokens, half of those dims]."""
    heads, width = wide(x).reshape(x.shape[0], -1, head_size), 2 * cos.shape[-1]
    if mode == "half":
        factors = [torch.cat((part, part), -1).unsqueeze(1) for part in (cos, sin)]
    else:
        factors = [part.repeat_interleave(2, -1).unsqueeze(1) for part in (cos, sin)]
    rotating = heads[..., :width]
    rotated = rotating * factors[0] + _turned(rotating, mode) * factors[1]
    return torch.cat((rotated, heads[..., width:]), -1).reshape(x.shape).to(x.dtype)


def _sections(part: Tensor, sections: Sequence[int], cache_mode: str | None) -> Tensor:
    """Return one row of columns out of the three of time, height and width: [3, tokens, n] becomes [tokens, n]."""
    columns = torch.arange(part.shape[-1], device=part.device)
    if cache_mode == "interleave":
        inside = [columns % 3 == axis for axis in range(3)]
        source = sum(axis * (inside[axis] & (columns < 3 * sections[axis])) for axis in (1, 2))
    else:
        first, second = sections[0], sections[0] + sections[1]
        source = (columns >= first).long() + (columns >= second).long()
    return part.gather(0, torch.as_tensor(source).expand(1, part.shape[1], -1)).squeeze(0)


def _mrope(
    positions: Tensor,
    query: Tensor,
    key: Tensor,
    cos_sin_cache: Tensor,
    head_size: int,
    mrope_section: Sequence[int] | None,
    rotary_mode: str | None,
    cache_mode: str | None,
) -> tuple[Tensor, Tensor]:
    text = "cache_mode only support default or interleave"
    errors.require(cache_mode in (None, "default", "interleave"), f"{text}, but got {cache_mode}")
    cos, sin = wide(cos_sin_cache)[positions.long()].chunk(2, -1)
    if positions.dim() == 2:
        if not mrope_section or len(mrope_section) != 3:
            errors.reject("aclnnRopeWithSinCosCache", "mrope_section should have 3 values for 2-dim positions.")
        cos, sin = _sections(cos, mrope_section, cache_mode), _sections(sin, mrope_section, cache_mode)
    mode = rotary_mode or "half"
    return _rotated_heads(query, head_size, cos, sin, mode), _rotated_heads(key, head_size, cos, sin, mode)


def _rotary_embedding(
    positions: Tensor, query: Tensor, key: Tensor, head_size: int, cos_sin_cache: Tensor, is_neox_style: bool
) -> None:
    cos, sin = wide(cos_sin_cache)[positions.flatten().long()].chunk(2, -1)
    for x in (query, key):
        rows = x.reshape(cos.shape[0], -1)
        x.copy_(_rotated_heads(rows, head_size, cos, sin, ROTARY_MODES[not is_neox_style]).reshape(x.shape))


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_rotary_mul": NpuOperator(
        compute=_rotary_mul,
        kernels=_rotary_kernels,
        gradient=Gradient(compute=_rotary_gradient, keeps=("self", "r1", "r2")),
    ),
    "npu_rotary_mul_backward": NpuOperator(
        compute=_rotary_mul_backward, kernels=vector("RotaryPositionEmbeddingGrad", cost=_GRADIENT)
    ),
    "npu_interleave_rope": NpuOperator(compute=_interleave_rope, kernels=vector("InterleaveRope", cost=_ROTATION)),
    "npu_apply_rotary_pos_emb": NpuOperator(
        compute=_apply_rotary_pos_emb, kernels=vector("ApplyRotaryPosEmb", "aclnnApplyRotaryPosEmbV2", cost=_ROTATION)
    ),
    "npu_mrope": NpuOperator(compute=_mrope, kernels=vector("RopeWithSinCosCache", cost=_ROTATION)),
    "_npu_rotary_embedding": NpuOperator(
        compute=_rotary_embedding, kernels=vector("Rope", cost=_ROTATION, written=("query", "key"))
    ),
}
