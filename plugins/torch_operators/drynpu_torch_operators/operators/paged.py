"""Attention of the transformer boost library: packed prompts, and queries over the blocks of a cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
from attrs import frozen
from torch import Tensor

from drynpu.kernels import TaskType, ops
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import Stack
from drynpu_torch_operators.operators._launch import Launch, no_kernels
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, Launches, NpuOperator
from drynpu_torch_operators.operators._softmax import SCALE_THEN_ADD, Scoring, attend
from drynpu_torch_operators.operators._values import even_shares, integers

SCHEMAS = """
_npu_flash_attention(Tensor query, Tensor key, Tensor value, Tensor mask, Tensor seq_len, float scale_value,
    int num_heads, int num_kv_heads, Tensor(a!) out) -> ()
_npu_flash_attention_v3(Tensor query, Tensor key, Tensor value, Tensor mask, Tensor seq_len, float scale_value,
    int num_heads, int num_kv_heads, *, int? mask_type=3, Tensor(a!) out) -> ()
_npu_flash_attention_unpad(Tensor query, Tensor key, Tensor value, Tensor seq_len, float scale_value, int num_heads,
    int num_kv_heads, Tensor(a!) out) -> ()
_npu_flash_attention_unpad_v2(Tensor query, Tensor key, Tensor value, Tensor seq_len, float scale_value,
    int num_heads, int num_kv_heads, *, int? kernel_type=0, Tensor(a!) out) -> ()
_npu_flash_attention_qlens(Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor mask,
    Tensor seq_len, Tensor context_lens, int num_kv_heads, int num_heads, float scale_value, Tensor(a!) out) -> ()
_npu_paged_attention(Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads, int num_heads,
    float scale_value, Tensor block_table, Tensor context_lens, Tensor(a!) out, *, Tensor? workspace=None) -> ()
_npu_paged_attention_get_workspace(Tensor query, Tensor key_cache, Tensor value_cache, int num_kv_heads,
    int num_heads, float scale_value, Tensor block_table, Tensor context_lens, Tensor(a!) out) -> Tensor
_npu_paged_attention_splitfuse(Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table,
    Tensor context_lens, Tensor mask, Tensor seq_len, int num_kv_heads, int num_heads, float scale_value,
    Tensor(a!) out) -> ()
_npu_paged_attention_splitfuse_v2(Tensor query, Tensor key_cache, Tensor value_cache, Tensor block_table,
    Tensor context_lens, Tensor mask, Tensor seq_len, int num_kv_heads, int num_heads, float scale_value, *,
    int? mask_type=5, Tensor(a!) out) -> ()
_npu_paged_attention_mla(Tensor query, Tensor key_cache, int num_kv_heads, int num_heads, float scale_value,
    Tensor block_table, Tensor context_lens, int mla_vheadsize, Tensor(a!) out) -> ()
"""

_COMPRESSED = 3
"""``mask_type`` of a causal mask of which only a pattern is given (MASK_TYPE_NORM_COMPRESS of ATB)."""
_DEFAULT, _EXPONENTIAL = 0, 2
"""``kernel_type`` values that the unmasked form takes."""


@frozen(eq=False)
class Tokens:
    """One sequence: its heads, the mask that joins its scores, and the row of its first query."""

    stack: Stack
    shift: Tensor | None
    kept: Tensor | None
    row: int


def heads_first(rows: Tensor, heads: int) -> Tensor:
    """Return tokens [tokens, heads, width] or [tokens, heads * width] as [1, heads, tokens, width]."""
    return rows.reshape(rows.shape[0], heads, -1).transpose(0, 1).unsqueeze(0)


def pages(cache: Tensor, table: Tensor, length: int, heads: int) -> Tensor:
    """Return the first tokens of a sequence from the blocks of a cache, [1, heads, tokens, width]."""
    blocks = cache[table.long().clamp(min=0)]
    if _is_fractal(cache, heads):
        blocks = blocks.permute(0, 2, 1, 3)
    return heads_first(blocks.reshape(blocks.shape[0] * blocks.shape[1], -1)[:length], heads)


def causal(queries: int, keys: int, device: torch.device) -> Tensor:
    """Return the pairs of a causal mask whose last query sees all keys."""
    rows = torch.arange(queries, device=device).unsqueeze(1) + keys - queries
    return torch.arange(keys, device=device) <= rows


def added(mask: Tensor) -> Tensor:
    """
    Return what is added to the scores.

    A mask holds 0 for pairs to keep and a negative number for others; masks of BF16 may hold 1 for these.
    """
    return torch.where(mask > 0, float("-inf"), mask.float())


def _prompt_lengths(call: Call) -> list[int]:
    """Return how many queries each sequence has; without values they are spread evenly."""
    lengths = call["seq_len"]
    return integers(lengths, even_shares(call["query"].shape[0], lengths.numel()))


def _context_lengths(call: Call) -> list[int]:
    """Return how many tokens each sequence has in the cache; without values its blocks are full."""
    lengths, cache = call["context_lens"], call["key_cache"]
    size = cache.shape[2 if _is_fractal(cache, call["num_kv_heads"]) else 1]
    return integers(lengths, [call["block_table"].shape[1] * size] * lengths.numel())


def _is_fractal(cache: Tensor, heads: int) -> bool:
    """Whether blocks are [heads * width / 16, slot, 16], the layout of the 310P; otherwise [slot, head, width]."""
    return cache.dim() == 4 and cache.shape[2] != heads


def _packed(call: Call) -> Iterator[Tokens]:
    """Yield the sequences of packed queries, keys and values."""
    heads, kv_heads, begin = call["num_heads"], call["num_kv_heads"], 0
    mask = call.arguments.get("mask")
    for number, length in enumerate(_prompt_lengths(call)):
        rows = slice(begin, begin + length)
        query, key, value = (call[name][rows] for name in ("query", "key", "value"))
        stack = Stack(
            heads_first(query, heads), heads_first(key, kv_heads), heads_first(value, kv_heads), sequence=number
        )
        shift = kept = None
        if mask is not None and "mask_type" in call.arguments:
            kept = causal(length, length, call["query"].device)
        elif mask is not None:
            one = mask if mask.dim() == 2 else mask[number if mask.shape[0] > 1 else 0]
            shift = added(one[..., :length, :length])
        yield Tokens(stack, shift, kept, begin)
        begin += length


def _blocks(call: Call) -> Iterator[Tokens]:
    """Yield the sequences whose keys and values are in a cache; each has one query, or as many as ``seq_len`` says."""
    query, contexts, begin = call["query"], _context_lengths(call), 0
    queries = _prompt_lengths(call) if "seq_len" in call.arguments else [1] * len(contexts)
    mask, kv_heads = call.arguments.get("mask"), call["num_kv_heads"]
    for number, (count, length) in enumerate(zip(queries, contexts, strict=True)):
        table = call["block_table"][number]
        key = pages(call["key_cache"], table, length, kv_heads)
        width = call.arguments.get("mla_vheadsize")
        value = key[..., :width] if width is not None else pages(call["value_cache"], table, length, kv_heads)
        stack = Stack(heads_first(query[begin : begin + count], call["num_heads"]), key, value, sequence=number)
        shift = kept = None
        if mask is not None and mask.dim() == 2 and mask.shape[0] == query.shape[0] and mask.shape[1] >= length:
            shift = added(mask[begin : begin + count, :length])
        elif mask is not None:
            kept = causal(count, length, query.device)
        yield Tokens(stack, shift, kept, begin)
        begin += count


Sequences = Callable[[Call], Iterable[Tokens]]


def writing(sequences: Sequences) -> Callable[[Call], None]:
    """Return the computation that writes the attention of all sequences to ``out``."""

    def compute(call: Call) -> None:
        out = call["out"]
        rows = out.reshape(out.shape[0], call["num_heads"], -1)
        for each in sequences(call):
            scoring = Scoring(scale=call["scale_value"], shift=each.shift, shift_type=SCALE_THEN_ADD)
            attended = attend(each.stack, scoring, each.kept).out[0].transpose(0, 1).to(out.dtype)
            rows[each.row : each.row + attended.shape[0]] = attended
        if rows.data_ptr() != out.data_ptr():
            out.copy_(rows.reshape(out.shape))

    return compute


def launching(kernel: str, sequences: Sequences, caches: Sequence[str] = ()) -> Launches:
    """State one kernel, which reads of the *caches* only the tokens of the sequences."""

    def kernels(call: Call) -> Iterable[Launch]:
        stacks = [(each.stack, each.kept) for each in sequences(call)]
        held = call.tensors(*caches)
        others = [t for t in call.inputs if t is not call["out"] and not any(t is cache for cache in held)]
        read = sum(t.numel() * t.element_size() for t in others)
        if held:
            read += sum(s.key.numel() + s.value.numel() * (len(held) > 1) for s, _ in stacks) * held[0].element_size()
        inputs = [t for t in call.inputs if t is not call["out"]]
        yield work_of(kernel, stacks, inputs=inputs, outputs=[call["out"]], read=read)

    return kernels


def work_of(
    kernel: str,
    stacks: Sequence[tuple[Stack, Tensor | None]],
    *,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    read: int,
) -> Launch:
    """Return the kernel that attends sequences, each with the pairs that it keeps."""
    work = [_work(stack, kept) for stack, kept in stacks]
    rows = max((stack.lengths[0] for stack, _ in stacks), default=1)
    heads = sum(stack.query.shape[1] for stack, _ in stacks)
    return Launch(
        kernel=kernel,
        inputs=inputs,
        outputs=outputs,
        task=TaskType.MIX_AIC,
        cost=1,
        over=sum(vector for _, vector in work),
        read=read,
        flops=sum(flops for flops, _ in work),
        tiles=ops.attention_tiles(heads, rows),
    )


def _work(stack: Stack, kept: Tensor | None) -> tuple[int, int]:
    queries, keys = stack.lengths
    pairs = queries * keys if kept is None else int(kept.sum())
    return ops.attention_work(pairs * stack.query.shape[1], stack.query.shape[-1], stack.value.shape[-1])


def _pattern_only(call: Call) -> None:
    text = f"mask_type only supports MASK_TYPE_NORM_COMPRESS, but got: {call['mask_type']}"
    errors.require(call["mask_type"] in (None, _COMPRESSED), text)
    writing(_packed)(call)


def _unmasked(call: Call) -> None:
    text = "kernel_type only supports KERNELTYPE_DEFAULT(0) and KERNELTYPE_EXP_M8V2(2), but got: "
    errors.require(call["kernel_type"] in (None, _DEFAULT, _EXPONENTIAL), f"{text}{call['kernel_type']}")
    writing(_packed)(call)


def _workspace(query: Tensor) -> Tensor:
    return query.new_empty(1, dtype=torch.uint8)


def _nothing() -> None:
    """Return nothing: the results are written to ``out``."""


_PROMPT, _PAGED = "UnpadFlashAttentionNdKernel", "PagedAttentionMaskNdKernel"
CACHES = ("key_cache", "value_cache")


def _operator(compute: Callable[[Call], None], kernels: Launches) -> NpuOperator:
    return NpuOperator(compute=compute, shapes=_nothing, kernels=kernels, dtypes=SIXTEEN_BITS)


_PACKED = launching(_PROMPT, _packed)
_IN_BLOCKS = launching(_PAGED, _blocks, CACHES)

OPERATORS: Mapping[str, NpuOperator] = {
    "_npu_flash_attention": _operator(writing(_packed), _PACKED),
    "_npu_flash_attention_v3": _operator(_pattern_only, _PACKED),
    "_npu_flash_attention_unpad": _operator(writing(_packed), _PACKED),
    "_npu_flash_attention_unpad_v2": _operator(_unmasked, _PACKED),
    "_npu_flash_attention_qlens": _operator(writing(_blocks), launching(_PROMPT, _blocks, CACHES)),
    "_npu_paged_attention": _operator(writing(_blocks), _IN_BLOCKS),
    "_npu_paged_attention_get_workspace": NpuOperator(compute=_workspace, kernels=no_kernels, dtypes=SIXTEEN_BITS),
    "_npu_paged_attention_splitfuse": _operator(writing(_blocks), _IN_BLOCKS),
    "_npu_paged_attention_splitfuse_v2": _operator(writing(_blocks), _IN_BLOCKS),
    "_npu_paged_attention_mla": _operator(writing(_blocks), launching(_PAGED, _blocks, CACHES[:1])),
}
