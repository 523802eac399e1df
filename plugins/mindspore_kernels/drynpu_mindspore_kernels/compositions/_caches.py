"""Caches of keys and values in blocks: filled, and attended to."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special


def _reshape_and_cache(key: Any, value: Any, key_cache: Any, value_cache: Any, slots: Any) -> Any:
    """Return the keys, and both caches with a row of every token written into its slot; a slot below 0 is none."""
    caches = [_filled(cache, rows, np.ravel(slots)) for cache, rows in ((key_cache, key), (value_cache, value))]
    return key, *caches


def _filled(cache: Any, rows: Any, slots: Any) -> Any:
    if cache is None or rows is None:
        return None
    result = cache.copy()
    places = result.reshape(cache.shape[0] * cache.shape[1], -1)
    kept = slots >= 0
    places[slots[kept]] = rows.reshape(len(slots), -1)[kept]
    return result


def _scatter_update(x: Any, index: Any, updates: Any, axis: Any, reduce: Any = 0) -> Any:
    """Write the updates of every first index at its place in an axis; the cache changes as well as the result."""
    del reduce
    result = x.copy()
    places = np.moveaxis(result, int(axis), 1)
    pieces = np.moveaxis(updates, int(axis), 1)
    for row, start in enumerate(np.ravel(index)):
        places[row, int(start) : int(start) + pieces.shape[1]] = pieces[row]
    return result, result


def _sequences(query_lengths: Any, tokens: int) -> list[int]:
    return [1] * tokens if query_lengths is None else [int(length) for length in np.ravel(query_lengths)]


def _wide(cache: Any, scale: Any, offset: Any, place: int) -> Any:
    if cache.dtype != np.int8 or scale is None:
        return cache
    shape = (2, *cache.shape[2:])
    shift = 0 if offset is None else offset.reshape(shape)[place]
    return (cache.astype(np.float32) + shift) * scale.reshape(shape)[place]


def _paged_attention(
    query: Any,
    key_cache: Any,
    value_cache: Any,
    table: Any,
    lengths: Any,
    scale: Any = None,
    offset: Any = None,
    mask: Any = None,
    query_lengths: Any = None,
    slopes: Any = None,
    heads: Any = 1,
    factor: Any = 1.0,
    key_heads: Any = 1,
    quant_mode: Any = 0,
    mask_mode: Any = 0,
    value_width: Any = 0,
) -> Any:
    del mask_mode
    if int(quant_mode):
        raise ValueError("kv_cache_quant_mode=PERTOKEN is not supported; use DEFAULT")
    rows = query.reshape(_tokens(query), int(heads), -1)
    keys = _wide(key_cache, scale, offset, 0)
    values = keys[..., : int(value_width)] if int(value_width) else _wide(value_cache, scale, offset, 1)
    result = np.zeros((*rows.shape[:2], values.shape[-1]), np.float32)
    start, share = 0, int(heads) // int(key_heads)
    for place, count in enumerate(_sequences(query_lengths, len(table))):
        seen = int(np.ravel(lengths)[place])
        k, v = (_blocks(cache, table[place], seen, share) for cache in (keys, values))
        scores = np.einsum("qnd,tnd->nqt", rows[start : start + count], k) * factor
        for added in (mask, slopes):
            if added is not None:
                scores = scores + _added(added, place, (start, count), seen)
        result[start : start + count] = np.einsum("nqt,tnd->qnd", special.softmax(scores, -1), v)
        start += count
    return result


def _tokens(query: Any) -> int:
    """Return the number of tokens: of ``[tokens, 1, h]``, ``[tokens, h]`` or ``[tokens, n, d]``, ``[1, tokens, h]``."""
    if query.ndim == 3 and query.shape[0] == 1 and query.shape[1] > 1:
        return int(query.shape[1])
    return int(query.shape[0])


def _blocks(cache: Any, table: Any, count: int, share: int) -> Any:
    """Return the first *count* rows ``[count, n, d]`` of the blocks that *table* lists, for heads of the query."""
    blocks = cache[np.maximum(np.ravel(table), 0)]
    return np.repeat(blocks.reshape(-1, *blocks.shape[2:])[:count], share, 1)


def _added(mask: Any, place: int, rows: tuple[int, int], columns: int) -> Any:
    """Return the part of a mask that is added to the scores ``[n, rows, columns]`` of one sequence."""
    start, count = rows
    if mask.ndim == 2:
        part = mask[start : start + count] if len(mask) >= start + count else mask[:count]
        return part[:, :columns]
    part = mask[place if len(mask) > 1 else 0]
    return part[..., :count, :columns]


def _latent_attention(
    query: Any,
    query_places: Any,
    cache: Any,
    places: Any,
    table: Any,
    mask: Any = None,
    key_scale: Any = None,
    value_scale: Any = None,
    query_lengths: Any = None,
    lengths: Any = None,
    heads: Any = 32,
    factor: Any = 0.0,
    key_heads: Any = 1,
    mask_mode: Any = 0,
    rings: Any = 0,
) -> Any:
    """Return attention over a cache whose rows are keys, with their rotary parts, and values at once."""
    del mask_mode
    if key_scale is not None or value_scale is not None or int(rings):
        raise ValueError("deq_scale_qk, deq_scale_pv and is_ring are not supported")
    rows = np.concatenate([query, query_places], -1).reshape(len(query), 1, -1)
    keys = np.concatenate([cache, places], -1)
    options = (mask, query_lengths, None, heads, factor, key_heads, 0, 0, cache.shape[-1])
    return _paged_attention(rows, keys, keys, table, lengths, None, None, *options).reshape(query.shape), None


def _paged_attention_mask(
    query: Any,
    key_cache: Any,
    value_cache: Any,
    table: Any,
    lengths: Any,
    scale: Any = None,
    offset: Any = None,
    slopes: Any = None,
    heads: Any = 1,
    factor: Any = 1.0,
    key_heads: Any = 1,
    quant_mode: Any = 0,
) -> Any:
    options = (scale, offset, None, None, slopes, heads, factor, key_heads, quant_mode)
    return _paged_attention(query, key_cache, value_cache, table, lengths, *options)


CACHES: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "ReshapeAndCache": _reshape_and_cache,
        "KVCacheScatterUpdate": _scatter_update,
        "PagedAttention": _paged_attention,
        "PagedAttentionMask": _paged_attention_mask,
        "Mla": _latent_attention,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
