"""Attention of inference: prompts, single queries and the fused form of both, over lengths and paged caches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from attrs import frozen

from drynpu_mindspore_kernels.compositions._quantised import saturated

_LAYOUTS = ("BSH", "BNSD", "SBH", "BSND", "TND", "TH", "NSD", "SH", "BNSD_BSND")
"""Numbers that MindSpore passes for ``input_layout`` (FASInputLayoutMode)."""
_GIVEN, _ALL, _FROM_FIRST, _FROM_LAST, _BAND = range(5)
"""``sparse_mode``: a mask within a band, a mask, causal from the first or last row and column, a band from the last."""


@frozen(eq=False, kw_only=True)
class _Settings:
    """How heads, masks and lengths are to be read."""

    heads: int
    key_heads: int
    layout: str
    scale: float
    mode: int = _ALL
    before: int = 0
    after: int = 0
    query_lengths: Any = None
    key_lengths: Any = None


def _layout(number: Any) -> str:
    name = _LAYOUTS[int(number)]
    if name not in ("BSH", "BNSD", "BSND", "BNSD_BSND"):
        raise ValueError(f"layout {name} is not supported; use BSH, BNSD, BSND or BNSD_BSND")
    return name


def _heads(x: Any, count: int, layout: str) -> Any:
    """Return a tensor of a layout as ``[b, n, s, d]``."""
    if layout.startswith("BNSD"):
        return x
    return np.moveaxis(x.reshape(*x.shape[:2], count, -1), 2, 1)


def _joined(x: Any, layout: str) -> Any:
    """Return ``[b, n, s, d]`` in the layout of a result."""
    if layout == "BNSD":
        return x
    moved = np.moveaxis(x, 1, 2)
    return moved.reshape(*moved.shape[:2], -1) if layout == "BSH" else moved


def _paged(cache: Any, table: Any, heads: int) -> Any:
    """Return the blocks, ``[blocks, size, h]`` or ``[blocks, n, size, d]``, that sequences have, in order."""
    blocks = np.moveaxis(cache, 1, 2) if cache.ndim == 4 else cache.reshape(*cache.shape[:2], heads, -1)
    chosen = blocks[np.maximum(table, 0)]
    return np.moveaxis(chosen.reshape(len(table), -1, *chosen.shape[3:]), 2, 1)


def _wide(x: Any, heads: int, scale: Any, offset: Any, place: int) -> Any:
    """Return keys (0) or values (1) ``[b, n, s, d]`` of which int8 numbers are meant as others, by channel."""
    if x.dtype != np.int8 or scale is None:
        return x
    shape = (2, heads, 1, -1)
    shift = 0 if offset is None else offset.reshape(shape)[place]
    return (x.astype(np.float32) + shift) * scale.reshape(shape)[place]


def _hidden(mask: Any, rows: int, columns: int, settings: _Settings) -> Any:
    """Return where scores ``[rows, columns]`` of one sequence do not count; *mask* belongs to the sequence."""
    row, column = np.arange(rows)[:, None], np.arange(columns)
    last = columns - rows
    if settings.mode == _FROM_FIRST:
        return column > row
    if settings.mode == _FROM_LAST:
        return column > row + last
    if settings.mode == _BAND:
        return (column > row + last + settings.after) | (column < row + last - settings.before)
    if settings.mode not in (_GIVEN, _ALL):
        raise ValueError(f"sparse_mode {settings.mode} is not supported; use 0 to 4")
    if mask is None:
        return np.zeros((rows, columns), bool)
    hidden = mask[..., :rows, :columns].astype(bool)
    if settings.mode == _GIVEN:
        hidden = hidden | (column > row + settings.after) | (column < row - settings.before)
    return hidden


def _of_sequence(x: Any, place: int) -> Any:
    """Return the part of a mask or shift ``[b or 1, 1 or n, s, t]`` or ``[s, t]`` that a sequence has."""
    return x if x is None or x.ndim < 3 else x[place if len(x) > 1 else 0]


def _attend(query: Any, key: Any, value: Any, mask: Any, shift: Any, settings: _Settings) -> tuple[Any, Any]:
    """Return the result and the logarithms of the sums of the softmax; what is behind a sequence's end is 0."""
    share = settings.heads // settings.key_heads
    out = np.zeros((*query.shape[:3], value[0].shape[-1]), np.float32)
    sums = np.full((*query.shape[:3], 1), np.inf, np.float32)
    for place in range(len(query)):
        k, v = (np.repeat(each[place], share, 0) for each in (key, value))
        rows = _length(settings.query_lengths, place, query.shape[2])
        columns = _length(settings.key_lengths, place, k.shape[1])
        scores = query[place, :, :rows] @ np.swapaxes(k[:, :columns], -1, -2) * settings.scale
        if shift is not None:
            scores = scores + _of_sequence(shift, place)[..., :rows, :columns]
        hidden = np.broadcast_to(_hidden(_of_sequence(mask, place), rows, columns, settings), scores.shape)
        seen = ~hidden.all(-1, keepdims=True)
        scores = np.where(hidden, -np.inf, scores)
        top = np.where(seen, scores.max(-1, keepdims=True, initial=-np.inf), 0)
        powers = np.exp(scores - top)
        total = np.where(seen, powers.sum(-1, keepdims=True), 1)
        out[place, :, :rows] = powers / total @ v[:, :columns]
        sums[place, :, :rows] = np.where(seen, top + np.log(total), np.inf)
    return out, sums


def _length(lengths: Any, place: int, most: int) -> int:
    if lengths is None or not np.size(lengths):
        return most
    numbers = np.ravel(lengths)
    return int(numbers[place if len(numbers) > 1 else 0])


def _refuse(**named: Any) -> None:
    for name, value in named.items():
        if value is not None and np.size(value):
            raise ValueError(f"{name} is not supported")


def _scaled(out: Any, scale: Any, offset: Any) -> Any:
    """Return a result in int8, where it is wanted."""
    if scale is None:
        return out
    return saturated(out * scale if offset is None else out * scale + offset)


def _prompt(
    query: Any,
    key: Any,
    value: Any,
    mask: Any,
    lengths: Any,
    key_lengths: Any,
    shift: Any,
    deq_scale1: Any,
    quant_scale1: Any,
    deq_scale2: Any,
    scale2: Any,
    offset2: Any,
    heads: Any = 1,
    scale: Any = 1.0,
    before: Any = 0,
    after: Any = 0,
    layout: Any = 0,
    key_heads: Any = 0,
    mode: Any = 0,
    inner: Any = 1,
) -> Any:
    del inner
    _refuse(deq_scale1=deq_scale1, quant_scale1=quant_scale1, deq_scale2=deq_scale2)
    settings = _Settings(
        heads=int(heads),
        key_heads=int(key_heads) or int(heads),
        layout=_layout(layout),
        scale=float(scale),
        mode=int(mode),
        before=int(before),
        after=int(after),
        query_lengths=lengths,
        key_lengths=key_lengths,
    )
    return _scaled(_answer(query, [key], [value], (mask, shift, None, None, None), settings)[0], scale2, offset2)


def _answer(query: Any, keys: Any, values: Any, tensors: Any, settings: _Settings) -> tuple[Any, Any]:
    """Return result and sums of lists of keys and values; *tensors*: mask, shift, block table, scale and offset."""
    mask, shift, table, scale, offset = tensors
    q = _heads(query, settings.heads, settings.layout)
    caches = []
    for place, several in enumerate((keys, values)):
        if table is not None:
            parts = [_paged(several[0], table, settings.key_heads)]
        else:
            parts = [_heads(each, settings.key_heads, settings.layout) for each in several]
        wide = [_wide(each, settings.key_heads, scale, offset, place) for each in parts]
        # One tensor for all sequences, or one for each of them.
        caches.append(wide[0] if len(wide) == 1 else [each[0] for each in wide])
    out, sums = _attend(q, caches[0], caches[1], mask, shift, settings)
    return _joined(out, settings.layout.partition("_")[2] or settings.layout), sums


def _listed(arguments: Sequence[Any], behind: int) -> tuple[Any, list[Any], list[Any], list[Any]]:
    """Return query, lists of keys and values, and the *behind* arguments after them."""
    count = (len(arguments) - 1 - behind) // 2
    last = len(arguments) - behind
    return arguments[0], list(arguments[1 : 1 + count]), list(arguments[1 + count : last]), list(arguments[last:])


_SINGLE_BEHIND, _FUSED_BEHIND = 18, 34
"""Arguments behind the lists of keys and values: tensors and options of the primitives (gen_ops_prim)."""


def _single(*arguments: Any) -> Any:
    query, keys, values, rest = _listed(arguments, _SINGLE_BEHIND)
    mask, lengths, shift, deq1, quant1, deq2, scale2, offset2, scale, offset, table, padding = rest[:12]
    heads, layout, factor, key_heads, *_ = rest[12:]
    _refuse(dequant_scale1=deq1, quant_scale1=quant1, dequant_scale2=deq2, kv_padding_size=padding)
    settings = _Settings(
        heads=int(heads),
        key_heads=int(key_heads) or int(heads),
        layout=_layout(layout),
        scale=float(factor),
        key_lengths=lengths,
    )
    out, _ = _answer(query, keys, values, (mask, shift, table, scale, offset), settings)
    return _scaled(out, scale2, offset2)


def _fused(*arguments: Any) -> Any:
    query, keys, values, rest = _listed(arguments, _FUSED_BEHIND)
    shift, mask, lengths, key_lengths, deq1, quant1, deq2, scale2, offset2, scale, offset, table = rest[:12]
    _refuse(dequant_scale1=deq1, quant_scale1=quant1, dequant_scale2=deq2)
    names = "query_padding_size kv_padding_size key_antiquant_scale key_antiquant_offset value_antiquant_scale"
    names += " value_antiquant_offset key_shared_prefix value_shared_prefix actual_shared_prefix_len"
    _refuse(**dict(zip(names.split(), rest[12:21], strict=True)))
    heads, factor, before, after, layout, key_heads, mode, _, _, _, wants_sums, *_ = rest[21:]
    settings = _Settings(
        heads=int(heads),
        key_heads=int(key_heads) or int(heads),
        layout=_layout(layout),
        scale=float(factor),
        mode=int(mode),
        before=int(before),
        after=int(after),
        query_lengths=lengths,
        key_lengths=key_lengths,
    )
    out, sums = _answer(query, keys, values, (mask, shift, table, scale, offset), settings)
    return _scaled(out, scale2, offset2), sums if wants_sums else np.zeros(1, np.float32)


INFERENCE_ATTENTION: Final[Mapping[str, Any]] = MappingProxyType(
    {"PromptFlashAttention": _prompt, "IncreFlashAttention": _single, "FusedInferAttentionScore": _fused}
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
