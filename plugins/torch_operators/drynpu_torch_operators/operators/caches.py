"""Writes to key and value caches, reads from them, scatter, and the merge of partial attention."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import bounds
from drynpu_torch_operators.operators._launch import Launch, vector
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Launches, NpuOperator
from drynpu_torch_operators.operators._values import integers
from drynpu_torch_operators.operators.paged import CACHES

SCHEMAS = """
npu_scatter_pa_kv_cache(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor slot_mapping,
    *, Tensor? compress_lens=None, Tensor? compress_seq_offsets=None, Tensor? seq_lens=None,
    str? cache_mode='PA_NZ') -> ()
npu_gather_pa_kv_cache(Tensor key_cache, Tensor value_cache, Tensor block_tables, Tensor seq_lens, Tensor(a!) key,
    Tensor(b!) value, *, Tensor? seq_offset=None, bool is_seq_lens_cumsum=False) -> ()
_npu_reshape_and_cache(Tensor key, Tensor value, Tensor(a!) key_cache, Tensor(b!) value_cache,
    Tensor slot_indices) -> ()
_npu_reshape_and_cache_siso(Tensor key, Tensor(a!) key_cache, Tensor slot_indices) -> ()
npu_scatter_nd_update(Tensor self, Tensor indices, Tensor updates) -> Tensor
npu_scatter_nd_update_(Tensor(a!) self, Tensor indices, Tensor updates) -> Tensor(a!)
scatter_update(Tensor self, Tensor indices, Tensor updates, int axis) -> Tensor
scatter_update_(Tensor(a!) self, Tensor indices, Tensor updates, int axis) -> Tensor(a!)
npu_attention_update(Tensor[] lse, Tensor[] local_out, int update_type) -> (Tensor, Tensor)
npu_ring_attention_update(Tensor prev_attn_out, Tensor prev_softmax_max, Tensor prev_softmax_sum,
    Tensor cur_attn_out, Tensor cur_softmax_max, Tensor cur_softmax_sum, *, Tensor? actual_seq_qlen=None,
    str input_layout="SBH", str input_softmax_layout="") -> (Tensor, Tensor, Tensor)
"""

_BLOCKED = "PA_NZ"


def _write_slots(rows: Tensor, cache: Tensor, slots: Tensor, *, blocked: bool) -> None:
    """Write rows [tokens, heads, width] to their slots; a negative slot is skipped."""
    valid = slots >= 0
    rows, slots = rows[valid], slots[valid].long()
    if blocked:  # [block, heads * width / c0, slot, c0]
        size, width = cache.shape[2], cache.shape[3]
        cache[slots // size, :, slots % size] = rows.reshape(len(slots), -1, width).to(cache.dtype)
        return
    size = cache.shape[1]
    cache[slots // size, slots % size] = rows.reshape(len(slots), *cache.shape[2:]).to(cache.dtype)


def _scatter_pa_kv_cache(
    key: Tensor,
    value: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    slot_mapping: Tensor,
    compress_lens: Tensor | None,
    cache_mode: str | None,
) -> None:
    text = "drynpu does not write compressed caches (compress_lens); write the rows with Tensor.index_put_"
    errors.require(compress_lens is None and key.dim() == 3, text, errors.NOT_SUPPORTED)
    for rows, cache in ((key, key_cache), (value, value_cache)):
        _write_slots(rows, cache, slot_mapping, blocked=cache_mode == _BLOCKED)


def _reshape_and_cache(
    key: Tensor, value: Tensor, key_cache: Tensor, value_cache: Tensor, slot_indices: Tensor
) -> None:
    _write_slots(key, key_cache, slot_indices, blocked=False)
    _write_slots(value, value_cache, slot_indices, blocked=False)


def _reshape_and_cache_siso(key: Tensor, key_cache: Tensor, slot_indices: Tensor) -> None:
    _write_slots(key, key_cache, slot_indices, blocked=False)


def _gather_pa_kv_cache(
    key_cache: Tensor,
    value_cache: Tensor,
    block_tables: Tensor,
    seq_lens: Tensor,
    key: Tensor,
    value: Tensor,
    seq_offset: Tensor | None,
    is_seq_lens_cumsum: bool,
) -> None:
    lengths = seq_lens.diff().tolist() if is_seq_lens_cumsum else seq_lens.tolist()
    offsets = [0] * len(lengths) if seq_offset is None else seq_offset.tolist()
    begin = 0
    for table, length, offset in zip(block_tables.long(), lengths, offsets, strict=True):
        tokens = torch.arange(offset, offset + length, device=key_cache.device)
        for cache, rows in ((key_cache, key), (value_cache, value)):
            blocked = cache.dim() == 4 and cache.shape[2:] != rows.shape[1:]
            size = cache.shape[2] if blocked else cache.shape[1]
            block, slot = table[tokens // size], tokens % size
            cached = cache[block, :, slot] if blocked else cache[block, slot]
            rows[begin : begin + length] = cached.reshape(length, *rows.shape[1:])
        begin += length


def _nd_update(self: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    return _nd_update_in_place(self.clone(), indices, updates)


def _nd_update_in_place(self: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    self[tuple(indices.long().unbind(-1))] = updates.to(self.dtype)
    return self


def update_in_place(self: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Write ``updates[i]`` at ``indices[i]`` along an axis of ``self[i]``."""
    for number, start in enumerate(indices.reshape(-1).tolist()):
        part = updates[number]
        self[number].narrow(axis % self.dim() - 1, start, part.shape[axis % self.dim() - 1]).copy_(part)
    return self


def _update(self: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    return update_in_place(self.clone(), indices, updates, axis)


def _attention_update(lse: Sequence[Tensor], local_out: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    sums = torch.stack([wide(part) for part in lse])
    total = sums.logsumexp(0)
    shares = (sums - total).exp().unsqueeze(-1)
    merged = (torch.stack([wide(part) for part in local_out]) * shares).sum(0)
    return merged.to(local_out[0].dtype), total.to(lse[0].dtype)


def _ring_update(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    maxima, sums = ([wide(call[f"{part}_softmax_{name}"]) for part in ("prev", "cur")] for name in ("max", "sum"))
    highest = torch.maximum(*maxima)
    weights = [total * (maximum - highest).exp() for total, maximum in zip(sums, maxima, strict=True)]
    total = weights[0] + weights[1]
    shares = [(weight / total)[..., 0] for weight in weights]
    out = call["prev_attn_out"]
    layout = call["input_layout"].upper()
    text = f"input_layout should be SBH or TND, but got {call['input_layout']}"
    errors.require(layout in ("SBH", "TND"), text)
    if layout == "SBH":  # statistics are [batch, heads, tokens, 8]
        shares = [share.permute(2, 0, 1) for share in shares]
    elif call["input_softmax_layout"].upper() != "TND":
        shares = [_by_token(share, call["actual_seq_qlen"]) for share in shares]
    parts = (wide(call[f"{part}_attn_out"]).reshape(*shares[0].shape, -1) for part in ("prev", "cur"))
    merged = sum(part * share.unsqueeze(-1) for part, share in zip(parts, shares, strict=True))
    return torch.as_tensor(merged).reshape(out.shape).to(out.dtype), highest, total


def _by_token(shares: Tensor, ends: Tensor | None) -> Tensor:
    """Return statistics of packed sequences, ordered by head and token inside each, as [tokens, heads]."""
    text = "actual_seq_qlen is needed where input_layout is TND and input_softmax_layout is not"
    errors.require(ends is not None, text)
    assert ends is not None
    rows = []
    for begin, end in bounds(integers(ends, [shares.shape[0]])):
        rows.append(shares[begin:end].reshape(shares.shape[1], end - begin).t())
    return torch.cat(rows)


def _ring_shapes(prev_attn_out: Tensor, prev_softmax_max: Tensor, prev_softmax_sum: Tensor) -> tuple[Tensor, ...]:
    return tuple(map(torch.empty_like, (prev_attn_out, prev_softmax_max, prev_softmax_sum)))


def _writes(kernel: str, rows: Sequence[str], caches: Sequence[str], api: str = "") -> Launches:
    """State a kernel that reads *rows* and writes as many bytes into *caches*, which it lists as inputs, too."""

    def kernels(call: Call) -> Iterable[Launch]:
        moved = call.tensors(*rows)
        size = sum(t.numel() * t.element_size() for t in moved)
        written = call.tensors(*caches)
        others = [t for t in call.inputs if not any(t is cache for cache in written)]
        read = sum(t.numel() * t.element_size() for t in others)
        over = sum(t.numel() for t in moved)
        options = {"cost": 0, "over": over, "read": read, "written": size}
        yield Launch(kernel=kernel, inputs=call.inputs, outputs=written, api=api, **options)  # type: ignore[arg-type]

    return kernels


def _functional(kernel: str, api: str) -> Launches:
    """State a copy of the tensor, then the kernel that writes into it."""

    def kernels(call: Call) -> Iterable[Launch]:
        source, (out,) = call["self"], call.outputs
        updates = call["updates"]
        size = updates.numel() * updates.element_size()
        indices = call["indices"]
        yield Launch(kernel="TensorMove", inputs=[source], outputs=[out], api="aclnnInplaceCopy", cost=0)
        yield Launch(
            kernel=kernel,
            inputs=[out, indices, updates],
            outputs=[out],
            api=api,
            cost=0,
            over=updates.numel(),
            read=size + indices.numel() * indices.element_size(),
            written=size,
        )

    return kernels


_PAIR = ("key", "value")
_ND = "ScatterNdUpdate"
_UPDATE_API = "aclnnInplaceScatterUpdate"


def _nothing() -> None:
    """Return nothing: what writes into its arguments has no results."""


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_scatter_pa_kv_cache": NpuOperator(
        compute=_scatter_pa_kv_cache, shapes=_nothing, kernels=_writes("ScatterPaKvCache", _PAIR, CACHES)
    ),
    "npu_gather_pa_kv_cache": NpuOperator(
        compute=_gather_pa_kv_cache, shapes=_nothing, kernels=_writes("GatherPaKvCache", _PAIR, _PAIR)
    ),
    "_npu_reshape_and_cache": NpuOperator(
        compute=_reshape_and_cache, shapes=_nothing, kernels=_writes("ReshapeAndCacheNdKernel", _PAIR, CACHES)
    ),
    "_npu_reshape_and_cache_siso": NpuOperator(
        compute=_reshape_and_cache_siso,
        shapes=_nothing,
        kernels=_writes("ReshapeAndCacheNdKernel", ("key",), ("key_cache",)),
    ),
    "npu_scatter_nd_update": NpuOperator(
        compute=_nd_update, shapes=lambda self: torch.empty_like(self), kernels=_functional(_ND, "aclnnScatterNdUpdate")
    ),
    "npu_scatter_nd_update_": NpuOperator(
        compute=_nd_update_in_place,
        shapes=lambda self: self,
        kernels=_writes(_ND, ("updates",), ("self",), "aclnnScatterNdUpdate"),
    ),
    "scatter_update": NpuOperator(
        compute=_update, shapes=lambda self: torch.empty_like(self), kernels=_functional("Scatter", _UPDATE_API)
    ),
    "scatter_update_": NpuOperator(
        compute=update_in_place,
        shapes=lambda self: self,
        kernels=_writes("Scatter", ("updates",), ("self",), _UPDATE_API),
    ),
    "npu_attention_update": NpuOperator(compute=_attention_update, kernels=vector("AttentionUpdate", cost=6)),
    "npu_ring_attention_update": NpuOperator(
        compute=_ring_update, shapes=_ring_shapes, kernels=vector("RingAttentionUpdate", cost=6)
    ),
}
