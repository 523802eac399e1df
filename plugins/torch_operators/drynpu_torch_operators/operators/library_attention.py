"""Attention of the transformer boost library whose lengths are numbers of the host, and a copy out of its caches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import Stack
from drynpu_torch_operators.operators._launch import Launch, no_kernels
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, Launches, NpuOperator
from drynpu_torch_operators.operators._values import even_shares, integers
from drynpu_torch_operators.operators.paged import CACHES, Tokens, added, causal, heads_first, launching, pages, writing

SCHEMAS = """
_npu_flash_attention_v2.out(Tensor query, Tensor key, Tensor value, SymInt[] seq_len, *, Tensor? mask=None,
    Tensor? slopes=None, int kernel_type=0, int mask_type=2, float scale_value=1, int num_heads=0,
    int num_kv_heads=0, Tensor(a!) out) -> Tensor(a!)
_npu_flash_attention_prefix_v2.out(Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor mask,
    SymInt[] seq_len, SymInt[] context_lens, *, Tensor? slopes=None, int kernel_type=1, int mask_type=3,
    int num_kv_heads=0, int num_heads=0, float scale_value=1, Tensor(a!) out) -> Tensor(a!)
_npu_paged_attention_v2.out(Tensor query, Tensor key_cache, Tensor block_table, SymInt[] context_lens, *,
    Tensor? value_cache=None, Tensor? mask=None, int num_kv_heads=0, int num_heads=0, float scale_value=1.0,
    int mask_type=0, Tensor? workspace=None, Tensor(a!) out) -> Tensor(a!)
_npu_paged_attention_v2_get_workspace(Tensor query, Tensor key_cache, Tensor block_table, SymInt[] context_lens, *,
    Tensor? value_cache=None, Tensor? mask=None, int num_kv_heads=0, int num_heads=0, float scale_value=1.0,
    int mask_type=0, Tensor(a!) out) -> Tensor
npu_paged_cache_load(Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor context_lens, *,
    Tensor? seq_starts=None, bool cumsum=False) -> (Tensor, Tensor)
npu_paged_cache_load.out(Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor context_lens, *,
    Tensor? seq_starts=None, bool cumsum=False, Tensor(a!) key, Tensor(b!) value) -> (Tensor(a!), Tensor(b!))
"""

_NORM, _ALIBI, _NORM_PATTERN, _SLOPES, _SLOPES_OF_ROOTS = range(1, 6)
"""``mask_type`` of attention that prefills (SelfAttentionParam of ATB); the last three give a pattern alone."""
_PREFILL: Final = (_NORM, _ALIBI, _SLOPES, _SLOPES_OF_ROOTS)
_PREFIX: Final = (_NORM_PATTERN, _SLOPES, _SLOPES_OF_ROOTS)
_DECODE: Final = (0, _ALIBI)
"""``mask_type`` of attention that decodes (PagedAttentionParam): without a mask, or with one that is added."""


def _require_mask(call: Call, allowed: Sequence[int]) -> int:
    """Return the kind of mask, of which the operator knows those that are *allowed*."""
    kind: int = call["mask_type"]
    text = f"mask_type should be one of {', '.join(map(str, allowed))}, but got: {kind}"
    errors.require(kind in allowed, text)
    needs = "slopes" if kind in (_SLOPES, _SLOPES_OF_ROOTS) else "mask"
    errors.require(kind == 0 or call[needs] is not None, f"{needs} must be given with mask_type {kind}")
    return kind


def _biased(slopes: Tensor, queries: int, keys: int, kind: int) -> Tensor:
    """Return what each head adds to its scores: its slope times the distance to the key, or times its root."""
    rows = torch.arange(queries, device=slopes.device).unsqueeze(1) + keys - queries
    distance = (rows - torch.arange(keys, device=slopes.device)).clamp(min=0).float()
    distance = distance.sqrt() if kind == _SLOPES_OF_ROOTS else distance
    return slopes.float().reshape(-1, 1, 1) * distance


def _masked(call: Call, kind: int, number: int, stack: Stack) -> tuple[Tensor | None, Tensor | None]:
    """Return what is added to the scores of a sequence, and the pairs that are kept."""
    queries, keys = stack.lengths
    if kind in (_SLOPES, _SLOPES_OF_ROOTS):
        return _biased(call["slopes"], queries, keys, kind), causal(queries, keys, call["query"].device)
    if kind == _NORM_PATTERN:
        return None, causal(queries, keys, call["query"].device)
    mask = call["mask"]
    if mask is None or kind == 0:
        return None, None
    one = mask[number if mask.shape[0] > 1 else 0] if mask.dim() > (2 if kind == _NORM else 3) else mask
    # A mask with positions has numbers of both signs; one without marks what it drops.
    return (one.float() if kind == _ALIBI else added(one))[..., :queries, :keys], None


def _packed(call: Call) -> Iterator[Tokens]:
    """Yield the sequences of packed queries, keys and values."""
    kind, begin = _require_mask(call, _PREFILL), 0
    for number, length in enumerate(call["seq_len"]):
        rows = slice(begin, begin + length)
        key, value = (heads_first(call[name][rows], call["num_kv_heads"]) for name in ("key", "value"))
        stack = Stack(heads_first(call["query"][rows], call["num_heads"]), key, value, sequence=number)
        yield Tokens(stack, *_masked(call, kind, number, stack), begin)
        begin += length


def _in_blocks(call: Call, counts: Sequence[int], allowed: Sequence[int]) -> Iterator[Tokens]:
    """Yield the sequences whose keys and values are in a cache, each with so many queries as *counts* says."""
    kind, begin, heads = _require_mask(call, allowed), 0, call["num_kv_heads"]
    for number, (count, length) in enumerate(zip(counts, call["context_lens"], strict=True)):
        table = call["block_table"][number]
        key, value = (pages(call[name], table, length, heads) for name in ("key_cache", "value_cache"))
        rows = call["query"][begin : begin + count]
        stack = Stack(heads_first(rows, call["num_heads"]), key, value, sequence=number)
        yield Tokens(stack, *_masked(call, kind, number, stack), begin)
        begin += count


def _prefix(call: Call) -> Iterable[Tokens]:
    return _in_blocks(call, call["seq_len"], _PREFIX)


def _decoding(call: Call) -> Iterable[Tokens]:
    errors.require(call["value_cache"] is not None, "value_cache must be given")
    return _in_blocks(call, [1] * len(call["context_lens"]), _DECODE)


def _returning(sequences: Callable[[Call], Iterable[Tokens]]) -> Callable[[Call], Tensor]:
    write = writing(sequences)

    def compute(call: Call) -> Tensor:
        write(call)
        out: Tensor = call["out"]
        return out

    return compute


def _result(out: Tensor) -> Tensor:
    return out


def _workspace(query: Tensor) -> Tensor:
    return query.new_empty(1, dtype=torch.uint8)


def _operator(sequences: Callable[[Call], Iterable[Tokens]], kernels: Launches) -> NpuOperator:
    return NpuOperator(compute=_returning(sequences), shapes=_result, kernels=kernels, dtypes=SIXTEEN_BITS)


def _lengths(call: Call) -> list[int]:
    """Return how many tokens each sequence gets; without values the blocks are full."""
    size, table = call["key_cache"].shape[1], call["block_table"]
    full = [table.shape[1] * size] * table.shape[0]
    if "key" in call.arguments:
        full = even_shares(call["key"].shape[0], table.shape[0])
    counts = integers(call["context_lens"], full)
    if not call["cumsum"] or call["context_lens"].device.type == "meta":
        return counts
    return [end - begin for begin, end in zip([0, *counts], counts, strict=False)]


def _load(call: Call) -> tuple[Tensor, Tensor]:
    lengths = _lengths(call)
    text = "Invalid context_lens: negative value encountered"
    errors.require(all(length >= 0 for length in lengths), text)
    results = _loaded_shapes(call, sum(lengths))
    size = call["key_cache"].shape[1]
    starts = [0] * len(lengths)
    if call["seq_starts"] is not None:
        starts = integers(call["seq_starts"], starts)
    begin = 0
    for table, start, length in zip(call["block_table"].long(), starts, lengths, strict=True):
        # Whole blocks are passed over: the first token begins a block.
        blocks = table[start // size :][: -(-length // size)]
        for name, result in zip(("key_cache", "value_cache"), results, strict=True):
            result[begin : begin + length] = call[name][blocks].flatten(0, 1)[:length]
        begin += length
    return results


def _loaded_shapes(call: Call, tokens: int) -> tuple[Tensor, Tensor]:
    """Return the results: those that the call gives, or new ones."""
    if "key" in call.arguments:
        return call["key"], call["value"]
    key, value = (call[name].new_empty(tokens, *call[name].shape[2:]) for name in ("key_cache", "value_cache"))
    return key, value


def _load_shapes(call: Call) -> tuple[Tensor, Tensor]:
    return _loaded_shapes(call, sum(_lengths(call)))


def _load_kernels(call: Call) -> Iterable[Launch]:
    """State the kernel: it reads as much of the caches as it writes."""
    moved = sum(t.numel() * t.element_size() for t in call.outputs)
    small = sum(t.numel() * t.element_size() for t in call.tensors("block_table", "context_lens", "seq_starts"))
    inputs = call.tensors("key_cache", "value_cache", "block_table", "context_lens", "seq_starts")
    yield Launch(kernel="PagedCacheLoadNdKernel", inputs=inputs, outputs=call.outputs, cost=0, read=moved + small)


_LOAD = NpuOperator(
    compute=_load, shapes=_load_shapes, kernels=_load_kernels, dtypes="float32, float16, bfloat16, int8"
)

OPERATORS: Mapping[str, NpuOperator] = {
    "_npu_flash_attention_v2.out": _operator(_packed, launching("UnpadFlashAttentionNdKernel", _packed)),
    "_npu_flash_attention_prefix_v2.out": _operator(_prefix, launching("UnpadFlashAttentionNdKernel", _prefix, CACHES)),
    "_npu_paged_attention_v2.out": _operator(_decoding, launching("PagedAttentionMaskNdKernel", _decoding, CACHES)),
    "_npu_paged_attention_v2_get_workspace": NpuOperator(compute=_workspace, kernels=no_kernels, dtypes=SIXTEEN_BITS),
    "npu_paged_cache_load": _LOAD,
    "npu_paged_cache_load.out": _LOAD,
}
