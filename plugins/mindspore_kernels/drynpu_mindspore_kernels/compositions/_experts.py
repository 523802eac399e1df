"""Mixture of experts: gating, and tokens sorted by expert and put back."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from scipy import special

_CUMULATIVE, _COUNTS = 1, 2
"""``expert_tokens_count_or_cumsum_flag`` of MoeInitRoutingV2."""
_BY_TOKEN = 0
"""``drop_type`` of TopKRouter, sdrop: the first tokens are kept; otherwise first choices go before second ones."""


def _permute(tokens: Any, indices: Any, count: Any = None, padded: Any = False) -> Any:
    _refuse_padded(padded)
    order = np.argsort(np.ravel(indices), kind="stable")
    wide = indices.shape[1] if indices.ndim > 1 else 1
    wanted = int(count) if count is not None else 0
    kept = len(order) + wanted if wanted <= 0 else wanted
    return tokens[order[:kept] // wide], np.argsort(order, kind="stable")


def _refuse_padded(padded: Any) -> None:
    if padded:
        raise ValueError("padded_mode is not supported; Ascend refuses it as well")


def _rows_at(rows: Any, places: Any) -> Any:
    """Return rows at *places*; places behind the last row are dropped entries, which give 0."""
    inside = places < len(rows)
    return np.where(inside[:, None], rows[np.where(inside, places, 0)], 0)


def _permute_gradient(dy: Any, places: Any, wide: Any = 1, padded: Any = False) -> Any:
    _refuse_padded(padded)
    return _rows_at(dy, np.ravel(places)).reshape(-1, int(wide), dy.shape[-1]).sum(1)


def _unpermute(rows: Any, places: Any, shares: Any = None, padded: Any = False, shape: Any = None, *_: Any) -> Any:
    del shape
    _refuse_padded(padded)
    wide = 1 if shares is None else shares.shape[1]
    tokens = _rows_at(rows, np.ravel(places)).reshape(-1, wide, rows.shape[-1])
    return (tokens if shares is None else tokens * shares[..., None]).sum(1)


def _unpermute_gradient(
    rows: Any, dy: Any, places: Any, shares: Any = None, padded: Any = False, shape: Any = None, *_: Any
) -> Any:
    del shape
    _refuse_padded(padded)
    flat = np.ravel(places)
    wide = 1 if shares is None else shares.shape[1]
    spread = np.repeat(dy, wide, 0)
    weighted = spread if shares is None else spread * shares.reshape(-1, 1)
    result = np.zeros(rows.shape, np.float32)
    inside = flat < len(rows)
    np.add.at(result, flat[inside], weighted[inside])
    if shares is None:
        return result, None
    return result, (_rows_at(rows, flat) * spread).sum(-1).reshape(shares.shape)


def _best(values: Any, count: Any) -> Any:
    """Return the columns of the largest values, equal ones in their order."""
    return np.argsort(-values, -1, kind="stable")[..., : int(count)]


def _gating(x: Any, finished: Any = None, k: Any = 1) -> Any:
    shares = special.softmax(x, -1)
    chosen = _best(shares, k)
    experts = chosen if finished is None else np.where(finished[..., None], x.shape[-1], chosen)
    count = x[..., 0].size
    rows = np.arange(count)[:, None] + np.arange(int(k)) * count
    return np.take_along_axis(shares, chosen, -1), experts, rows.reshape(chosen.shape)


def _kept_groups(scores: Any, groups: Any, kept: Any, inner: Any) -> Any:
    """Return where *scores* belong to the *kept* best groups; a group is as good as its *inner* best sum up to."""
    parts = scores.reshape(len(scores), int(groups), -1)
    best = _best(np.sort(parts, -1)[..., -int(inner) :].sum(-1), kept)
    chosen = np.zeros(parts.shape[:2], bool)
    np.put_along_axis(chosen, best, True, 1)
    return np.repeat(chosen, parts.shape[-1], 1)


def _group_topk(scores: Any, places: Any, groups: Any, k: Any, inner: Any = 1) -> Any:
    del places
    return np.where(_kept_groups(scores, groups, k, inner), scores, 0)


def _scored_topk(
    x: Any,
    added: Any,
    groups: Any,
    kept: Any,
    inner: Any,
    k: Any,
    activation: Any = 0,
    normalises: Any = True,
    scale: Any = 2.5,
    counts: Any = None,
    table: Any = None,
    maps: Any = False,
) -> Any:
    del counts, table
    if int(activation) or maps:
        raise ValueError("activate_type other than 0 and enable_expert_mapping are not supported")
    scores = special.expit(x)
    choosing = scores + added
    chosen = _best(np.where(_kept_groups(choosing, groups, kept, inner), choosing, -np.inf), k)
    weights = np.take_along_axis(scores, chosen, -1)
    return (weights / weights.sum(-1, keepdims=True) * scale if normalises else weights), chosen


def _init_routing(x: Any, rows: Any, experts: Any, active: Any) -> Any:
    flat = np.ravel(experts)
    order = np.argsort(flat, kind="stable")
    source = np.ravel(rows)[order]
    places = np.empty_like(source)
    places[source] = np.arange(len(source))
    count = min(len(x), int(active)) * experts.shape[1]
    return x[source[:count] % len(x)], places, flat[order]


def _init_routing_v2(
    x: Any, experts: Any, active: Any, capacity: Any, count: Any, drops: Any, counting: Any, before: Any
) -> Any:
    flat = np.ravel(experts)
    order = np.argsort(flat, kind="stable")
    counts = np.bincount(flat, minlength=int(count))
    places = np.argsort(order, kind="stable")
    if not int(drops):
        rows = min(int(active), len(flat)) if int(active) else len(flat)
        tokens = np.cumsum(counts) if int(counting) == _CUMULATIVE else counts if int(counting) == _COUNTS else None
        return x[order[:rows] // experts.shape[1]], places, tokens, None
    within = places - (np.cumsum(counts) - counts)[flat]
    kept = within < int(capacity)
    places = np.where(kept, flat * int(capacity) + within, -1)
    result = np.zeros((int(count) * int(capacity), x.shape[1]), x.dtype)
    result[places[kept]] = x[np.flatnonzero(kept) // experts.shape[1]]
    return result.reshape(int(count), int(capacity), -1), places, None, counts if before else None


def _finalize(
    rows: Any,
    first: Any,
    second: Any = None,
    bias: Any = None,
    scales: Any = None,
    places: Any = None,
    experts: Any = None,
) -> Any:
    flat = rows.reshape(-1, rows.shape[-1])
    wide = 1 if scales is None else scales.shape[1]
    table = np.ravel(places).reshape(wide, -1).T
    outputs = np.where((table >= 0)[..., None], flat[np.maximum(table, 0)], 0)
    if bias is not None:
        outputs = outputs + bias[experts]
    total = (outputs if scales is None else outputs * scales[..., None]).sum(1)
    return total + sum(skip for skip in (first, second) if skip is not None)


def _expert_tokens(experts: Any, count: Any) -> Any:
    return (experts[:, None] <= np.arange(int(count))).sum(0)


def _router(
    experts: Any, capacity: Any, count: Any, drops: Any = _BY_TOKEN, threshold: Any = np.inf, shares: Any = 0.0
) -> Any:
    """
    Return the tokens of every expert, from 1 on and 0 where a place is free, and the place of every choice.

    A choice is dropped as well where the shares of its token up to it, shares of dropped choices included, reach the
    threshold.
    """
    room, total = int(capacity), int(count)
    tokens = np.zeros((len(experts), total, room), np.int64)
    combined = np.zeros(experts.shape, np.int64)
    shares = np.broadcast_to(shares, experts.shape).astype(np.float32)
    for batch, choices in enumerate(experts):
        order = list(np.ndindex(choices.shape)) if int(drops) == _BY_TOKEN else _by_choice(choices.shape)
        used = [0] * total
        shared = np.zeros(len(choices), np.float32)
        for token, choice in order:
            expert = int(choices[token, choice])
            shared[token] += shares[batch, token, choice]
            # A place of 0 in the expert's share of room + 1 says that the choice was dropped.
            combined[batch, token, choice] = expert * (room + 1)
            if used[expert] < room and shared[token] < threshold:
                tokens[batch, expert, used[expert]] = token + 1
                used[expert] += 1
                combined[batch, token, choice] += used[expert]
    return tokens, combined


def _by_choice(shape: Any) -> list[tuple[int, int]]:
    return [(token, choice) for choice in range(shape[1]) for token in range(shape[0])]


def _token_router(experts: Any, capacity: Any, count: Any, drops: Any = _BY_TOKEN, *_: Any) -> Any:
    return _router(experts, capacity, count, drops)


EXPERTS: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "MoeTokenPermute": _permute,
        "MoeTokenPermuteGrad": _permute_gradient,
        "InnerMoeTokenUnpermute": _unpermute,
        "MoeTokenUnpermuteGrad": _unpermute_gradient,
        "MoeGatingTopKSoftmax": _gating,
        "GroupTopk": _group_topk,
        "FusedAddTopKDiv": _scored_topk,
        "MoeInitRouting": _init_routing,
        "MoeInitRoutingV2": _init_routing_v2,
        "MoeFinalizeRouting": _finalize,
        "MoeComputeExpertTokens": _expert_tokens,
        "TopKRouter": _token_router,
        "TopPRouter": _router,
    }
)
"""By primitive, as MindSpore's documentation of the primitive or of its function defines it."""
