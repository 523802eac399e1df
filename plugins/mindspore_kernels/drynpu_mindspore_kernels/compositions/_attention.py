"""Attention with its gradient, and rotary embeddings of positions."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

_STATISTICS = 8
"""Copies of each maximum and sum of the softmax that the operator returns (docs of FlashAttentionScore)."""
_FULL, _FROM_FIRST, _FROM_LAST = (0, 1), 2, 3
"""``sparse_mode``: a mask as given; causal with positions aligned at the first, or the last, row and column."""


def _heads(x: Any, count: int, layout: str) -> Any:
    """Return a tensor of a layout as ``[b, n, s, d]``."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return np.moveaxis(x, 2, 1)
    if layout == "BSH":
        return np.moveaxis(x.reshape(*x.shape[:2], count, -1), 2, 1)
    if layout == "SBH":
        return x.reshape(*x.shape[:2], count, -1).transpose(1, 2, 0, 3)
    raise ValueError(f"layout {layout} is not supported; use BSH, SBH, BSND or BNSD")


def _joined(x: Any, layout: str) -> Any:
    """Return ``[b, n, s, d]`` in a layout."""
    if layout == "BNSD":
        return x
    if layout == "BSND":
        return np.moveaxis(x, 1, 2)
    if layout == "BSH":
        return np.moveaxis(x, 1, 2).reshape(x.shape[0], x.shape[2], -1)
    return x.transpose(2, 0, 1, 3).reshape(x.shape[2], x.shape[0], -1)


def _scores(query: Any, key: Any, scale: Any, shift: Any, mask: Any, mode: int) -> Any:
    scores = query @ np.swapaxes(key, -1, -2) * scale
    if shift is not None:
        scores = scores + shift
    rows, columns = scores.shape[-2:]
    if mode in (_FROM_FIRST, _FROM_LAST):
        offset = columns - rows if mode == _FROM_LAST else 0
        return np.where(np.tri(rows, columns, offset, dtype=bool), scores, _HIDDEN)
    if mode not in _FULL:
        raise ValueError(f"sparse_mode {mode} is not supported; use 0 to 3")
    return scores if mask is None else np.where(mask.astype(bool), _HIDDEN, scores)


_HIDDEN = np.float32(-65504 * 8)
"""A score so far below any number of 16 bits (at most 65504) that its share of the softmax is 0."""


def _kept(drop_mask: Any, scores: Any, keep: float) -> Any:
    if drop_mask is None or keep >= 1:
        return np.float32(1)
    bits = np.unpackbits(drop_mask.view(np.uint8).ravel(), count=scores.size, bitorder="little")
    return bits.reshape(scores.shape) / np.float32(keep)


def _same_heads(x: Any, count: int) -> Any:
    """Return keys or values for every head of the query, where several heads share them."""
    return x if x.shape[1] == count else np.repeat(x, count // x.shape[1], 1)


def _attention(
    query: Any,
    key: Any,
    value: Any,
    shift: Any,
    drop_mask: Any,
    padding_mask: Any,
    mask: Any,
    prefix: Any,
    query_lengths: Any,
    key_lengths: Any,
    head_num: Any,
    keep: Any = 1.0,
    scale: Any = 1.0,
    before: Any = 0,
    after: Any = 0,
    inner: Any = 0,
    layout: Any = 0,
    mode: Any = 0,
) -> Any:
    del padding_mask, prefix, query_lengths, key_lengths, before, after, inner
    heads, name = int(head_num), _LAYOUTS[int(layout)]
    q = _heads(query, heads, name)
    k, v = (_same_heads(_heads(x, _key_heads(x, query, heads, name), name), heads) for x in (key, value))
    scores = _scores(q, k, scale, shift, mask, int(mode))
    top = scores.max(-1, keepdims=True)
    powers = np.exp(scores - top)
    total = powers.sum(-1, keepdims=True)
    result = (powers / total * _kept(drop_mask, scores, float(keep))) @ v
    return np.repeat(top, _STATISTICS, -1), np.repeat(total, _STATISTICS, -1), None, _joined(result, name)


_LAYOUTS = ("BSH", "BNSD", "SBH", "BSND", "TND", "TH", "NSD")
"""Numbers that MindSpore passes for ``input_layout`` (FASInputLayoutMode)."""


def _key_heads(x: Any, query: Any, heads: int, layout: str) -> int:
    """Return the heads of keys, which have the size of the query's."""
    return int(heads * x.shape[-1] // query.shape[-1] if layout in ("BSH", "SBH") else x.shape[layout.index("N")])


def _attention_gradient(
    query: Any,
    key: Any,
    value: Any,
    dy: Any,
    shift: Any,
    drop_mask: Any,
    padding_mask: Any,
    mask: Any,
    top: Any,
    total: Any,
    softmax: Any,
    result: Any,
    prefix: Any,
    query_lengths: Any,
    key_lengths: Any,
    head_num: Any,
    keep: Any = 1.0,
    scale: Any = 1.0,
    before: Any = 0,
    after: Any = 0,
    inner: Any = 0,
    layout: Any = 0,
    mode: Any = 0,
) -> Any:
    del padding_mask, softmax, prefix, query_lengths, key_lengths, before, after, inner
    heads, name = int(head_num), _LAYOUTS[int(layout)]
    q, out, grad = (_heads(x, heads, name) for x in (query, result, dy))
    shared = _key_heads(key, query, heads, name)
    k, v = (_same_heads(_heads(x, shared, name), heads) for x in (key, value))
    scores = _scores(q, k, scale, shift, mask, int(mode))
    share = np.exp(scores - top[..., :1]) / total[..., :1]
    kept = _kept(drop_mask, scores, float(keep))
    dscores = share * (grad @ np.swapaxes(v, -1, -2) * kept - (grad * out).sum(-1, keepdims=True))
    dq = dscores @ k * scale
    dk, dv = np.swapaxes(dscores, -1, -2) @ q * scale, np.swapaxes(share * kept, -1, -2) @ grad
    dk, dv = (x.reshape(x.shape[0], shared, -1, *x.shape[2:]).sum(2) for x in (dk, dv))
    return _joined(dq, name), _joined(dk, name), _joined(dv, name), None if shift is None else dscores


def _turned(x: Any, mode: Any) -> Any:
    """Return the partner of every element: of the other half (0), or of the neighbour (1)."""
    if int(mode):
        pairs = x.reshape(*x.shape[:-1], -1, 2)
        return np.stack([-pairs[..., 1], pairs[..., 0]], -1).reshape(x.shape)
    left, right = np.split(x, 2, -1)
    return np.concatenate([-right, left], -1)


def _rotary(x: Any, cos: Any, sin: Any, mode: Any = 0) -> Any:
    return x * cos + _turned(x, mode) * sin


def _rotary_gradient(dy: Any, cos: Any, sin: Any, x: Any = None, mode: Any = 0) -> Any:
    dx = dy * cos - _turned(dy * sin, mode)
    if x is None:
        return dx, None, None
    return dx, _summed(dy * x, cos.shape), _summed(dy * _turned(x, mode), sin.shape)


def _summed(x: Any, shape: Any) -> Any:
    axes = tuple(axis for axis, (size, wanted) in enumerate(zip(x.shape, shape, strict=True)) if size != wanted)
    return x.sum(axes, keepdims=True)


def _rotary_pair(query: Any, key: Any, cos: Any, sin: Any, places: Any = None, form: Any = 0) -> Any:
    del places, form
    return _rotary(query, cos, sin), _rotary(key, cos, sin)


def _position_waves(places: Any, frequencies: Any, lengths: Any, dtype: Any = None) -> Any:
    """Return sines and cosines ``[tokens, 2 * d]`` of positions, each sequence with its frequencies ``[b, d]``."""
    del dtype
    counts = np.ravel(lengths)
    rows = np.repeat(np.arange(len(counts)), counts)
    angles = places[: len(rows), None].astype(np.float32) * frequencies[rows]
    # Positions behind the last sequence get zeros.
    sines, cosines = (np.zeros((len(places), 2 * angles.shape[-1]), np.float32) for _ in range(2))
    sines[: len(rows)], cosines[: len(rows)] = np.tile(np.sin(angles), 2), np.tile(np.cos(angles), 2)
    return sines, cosines


ATTENTION: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "FlashAttentionScore": _attention,
        "FlashAttentionScoreGrad": _attention_gradient,
        "RotaryPositionEmbedding": _rotary,
        "RotaryPositionEmbeddingGrad": _rotary_gradient,
        "ApplyRotaryPosEmb": _rotary_pair,
        "DynamicNTK": _position_waves,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
