"""Attention of training in one call with its dropout, and the union of attention over parts of a sequence."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._attention import ATTENTION
from drynpu_mindspore_kernels.compositions._random import kept_bits

_SCALE_FIRST, _ADD_FIRST = 0, 1
"""``pse_type``: what is added to the scores comes after the scale, or before it."""
_SBH, _TND = 2, 4
"""Numbers that MindSpore passes for layouts (FASInputLayoutMode)."""


def _elements(query: Any, key: Any, heads: Any, layout: Any) -> int:
    """Return the number of scores of a layout in which sequences are as long as the tensor."""
    name = ("BSH", "BNSD", "SBH", "BSND")[int(layout)]
    batch, sequence = name.index("B"), name.index("S")
    return int(query.shape[batch] * int(heads) * query.shape[sequence] * key.shape[sequence])


def _shift(added: Any, kind: Any, scale: Any) -> Any:
    if added is None:
        return None
    if int(kind) not in (_SCALE_FIRST, _ADD_FIRST):
        raise ValueError(f"pse_type {int(kind)} is not supported; use 0 or 1")
    return added * scale if int(kind) == _ADD_FIRST else added


def _mask(count: int, keep: Any, seed: Any, offset: Any) -> Any:
    return kept_bits(count, 1 - float(keep), seed, offset) if float(keep) < 1 else None


def _attention(
    query: Any,
    key: Any,
    value: Any,
    heads: Any,
    layout: Any,
    seed: Any,
    offset: Any,
    added: Any,
    padding: Any,
    mask: Any,
    scale: Any = 1.0,
    keep: Any = 1.0,
    before: Any = 0,
    after: Any = 0,
    inner: Any = 0,
    prefix: Any = None,
    query_lengths: Any = None,
    key_lengths: Any = None,
    mode: Any = 0,
    parallel: Any = True,
    sync: Any = False,
    kind: Any = 1,
    *_: Any,
) -> Any:
    del parallel, sync
    count = _elements(query, key, heads, layout)
    bits = _mask(count, keep, seed, offset)
    tensors = (_shift(added, kind, scale), bits, padding, mask, prefix, query_lengths, key_lengths)
    options = (heads, keep, scale, before, after, inner, layout, mode)
    top, total, _, out = ATTENTION["FlashAttentionScore"](query, key, value, *tensors, *options)
    return out, top, total, None, seed, offset, np.int64(count)


def _gradient(
    query: Any,
    key: Any,
    value: Any,
    dy: Any,
    heads: Any,
    layout: Any,
    added: Any,
    padding: Any,
    mask: Any,
    top: Any,
    total: Any,
    softmax: Any,
    out: Any,
    scale: Any = 1.0,
    keep: Any = 1.0,
    before: Any = 0,
    after: Any = 0,
    inner: Any = 0,
    seed: Any = 0,
    offset: Any = 0,
    count: Any = 0,
    prefix: Any = None,
    query_lengths: Any = None,
    key_lengths: Any = None,
    mode: Any = 0,
    parallel: Any = True,
    sync: Any = False,
    kind: Any = 1,
    *_: Any,
) -> Any:
    del parallel, sync, count
    bits = _mask(_elements(query, key, heads, layout), keep, seed, offset)
    first = (query, key, value, dy, _shift(added, kind, scale), bits, padding, mask, top, total, softmax, out)
    last = (prefix, query_lengths, key_lengths, heads, keep, scale, before, after, inner, layout, mode)
    dq, dk, dv, dshift = ATTENTION["FlashAttentionScoreGrad"](*first, *last)
    if dshift is not None and int(kind) == _ADD_FIRST:
        dshift = dshift * scale
    return dq, dk, dv, dshift


def _united(
    before: Any,
    before_top: Any,
    before_sum: Any,
    out: Any,
    top: Any,
    total: Any,
    lengths: Any = None,
    layout: Any = _SBH,
) -> Any:
    del lengths
    highest = np.maximum(before_top, top)
    sums = [part * np.exp(height - highest) for part, height in ((before_sum, before_top), (total, top))]
    united = sums[0] + sums[1]
    shares = [_by_place(part / united, out, int(layout)) for part in sums]
    return before * shares[0] + out * shares[1], highest, united


def _by_place(share: Any, out: Any, layout: int) -> Any:
    """Return shares ``[b, n, s, 8]`` or ``[t, n, 8]`` for all of *out*, ``[s, b, h]`` or ``[t, n, d]``."""
    if layout == _TND:
        return share[..., :1]
    heads = share[..., 0].transpose(2, 0, 1)
    return np.repeat(heads, out.shape[-1] // heads.shape[-1], -1)


SPEED_ATTENTION: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "SpeedFusionAttention": _attention,
        "SpeedFusionAttentionGrad": _gradient,
        "RingAttentionUpdate": _united,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
