"""The arguments of a training attention: checks, stacks of heads, masks and dropout."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

import torch
from attrs import frozen
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import DENSE, PACKED, Stack, bounds, stacks, widths, with_heads
from drynpu_torch_operators.operators._masks import Mask
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._seeds import next_seed
from drynpu_torch_operators.operators._softmax import Scoring


@frozen(eq=False, kw_only=True)
class Fusion:
    """
    What all forms of the operator have in common.

    ``by_token`` says that packed statistics are ordered by tokens, then heads. Ropes are parts of query and key.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    layout: str
    heads: int
    ends: tuple[Sequence[int], Sequence[int]]
    mask: Mask
    plain: Scoring
    shifts: Tensor | None
    by_token: bool

    @classmethod
    def from_call(cls, call: Call) -> Fusion:
        """Return the arguments of a call. Raises RuntimeError for those that the vendor rejects."""
        arguments = call.arguments
        _check(call)
        layout = call["input_layout"].upper()
        query, key = call["query"], call["key"]
        if arguments.get("query_rope") is not None:
            errors.require(layout not in ("BSH", "SBH"), "query_rope needs a layout with heads of its own")
            query, key = torch.cat((query, call["query_rope"]), -1), torch.cat((key, call["key_rope"]), -1)
        names = ("pre_tockens", "next_tockens") if "pre_tockens" in arguments else ("pre_tokens", "next_tokens")
        scale = arguments["scale"] if "scale" in arguments else arguments["scale_value"]
        origin = tuple((arguments.get(name) or [0])[0] for name in ("q_start_idx", "kv_start_idx"))
        ends = tuple(list(call[name] or ()) for name in ("actual_seq_qlen", "actual_seq_kvlen"))
        return cls(
            query=query,
            key=key,
            value=call["value"],
            layout=layout,
            heads=call["head_num"],
            ends=(ends[0], ends[1]),
            mask=Mask(call["atten_mask"], call["sparse_mode"], call[names[0]], call[names[1]], call["prefix"] or ()),
            plain=Scoring(
                scale=scale,
                shift=call["pse"],
                shift_type=arguments.get("pse_type", 1),
                sink=call["sink"],
                origin=(origin[0], origin[1]),
            ),
            shifts=call["pse"],
            by_token=call["softmax_layout"].upper() == PACKED,
        )

    @property
    def width(self) -> int:
        """Width of a head of queries and keys, ropes included."""
        return widths(self.query, self.key, self.value, self.layout, self.heads)[0]

    @property
    def value_width(self) -> int:
        """Width of a head of values."""
        return widths(self.query, self.key, self.value, self.layout, self.heads)[1]

    def stacks(self) -> Iterator[Stack]:
        """Yield the stacks of heads."""
        return stacks(self.query, self.key, self.value, self.layout, self.heads, self.ends)

    def scoring(self, stack: Stack) -> Scoring:
        """Return how pairs of a stack are scored."""
        del stack
        return self.plain

    def like_output(self, tensor: Tensor) -> Iterable[Tensor]:
        """Yield the parts of a tensor like the output, [batch, heads, tokens, width] for each stack."""
        if self.layout != PACKED:
            yield with_heads(tensor, self.layout, self.value_width)
            return
        for begin, end in bounds(self.ends[0]):
            yield tensor[begin:end].transpose(0, 1).unsqueeze(0)

    @property
    def numels(self) -> int:
        """Number of scores, the bits of a dropout mask."""
        if self.layout != PACKED:
            queries, keys = (with_heads(t, self.layout, self.width).shape for t in (self.query, self.key))
            return int(queries[0] * self.heads * queries[2] * keys[2])
        lengths = zip(bounds(self.ends[0]), bounds(self.ends[1]), strict=True)
        return self.query.shape[1] * sum((q1 - q0) * (k1 - k0) for (q0, q1), (k0, k1) in lengths)

    def dropout(self, call: Call) -> tuple[Tensor | None, int, int, int]:
        """
        Return the factors of all scores, None without dropout, with seed, offset and the number of scores.

        The seed comes from the device's default generator, unless the mask is given.
        """
        keep, mask = call["keep_prob"], call["dropout_mask"]
        if not 0 < keep < 1:
            return None, 0, 0, self.numels
        if mask is not None:
            return self._factors(mask, keep), 0, 0, self.numels
        seed, offset = next_seed()
        return self._drawn(seed, offset, keep), seed, offset, self.numels

    def replayed(self, call: Call) -> Tensor | None:
        """Return the factors that the forward pass drew, from its seed and offset."""
        keep = call["keep_prob"]
        return self._drawn(call["seed"], call["offset"], keep) if 0 < keep < 1 else None

    def _drawn(self, seed: int, offset: int, keep: float) -> Tensor:
        generator = torch.Generator(device="cpu").manual_seed(seed + offset)
        # The bits of _npu_dropout_gen_mask.
        kept = torch.rand(self.numels, generator=generator, device="cpu") >= 1 - keep
        return kept.to(wide(self.query).dtype).to(self.query.device) / keep

    def _factors(self, mask: Tensor, keep: float) -> Tensor:
        bits = mask.flatten().unsqueeze(-1).bitwise_right_shift(torch.arange(8, dtype=torch.uint8)) & 1
        return bits.flatten()[: self.numels].to(wide(self.query).dtype) / keep

    def next_factor(self, factors: Tensor | None, begin: int, stack: Stack) -> tuple[Tensor | None, int]:
        """Return the factors of a stack's scores, which begin at *begin*, and where the next stack's begin."""
        if factors is None:
            return None, begin
        shape = (*stack.query.shape[:2], *stack.lengths)
        end = begin + math.prod(shape)
        return factors[begin:end].reshape(shape), end


def _check(call: Call) -> None:
    """Check as op-plugin's FlashAttentionKernelNpuOpApi.cpp does, in its words."""
    layout, mode, keep, heads = (call[n] for n in ("input_layout", "sparse_mode", "keep_prob", "head_num"))
    errors.require(heads > 0, f"head_num must > 0, but got {heads}")
    for name in ("query", "key", "value", "dy"):
        tensor = call.arguments.get(name)
        if tensor is not None:
            text = f"The shapes of the input {name} should be 3 or 4 dimensional, but got {tensor.dim()}-dimensional"
            errors.require(tensor.dim() in (3, 4), text)
    errors.require(0 < keep <= 1, f"The keep_prob value must be in range of (0, 1], but got {keep}")
    errors.require(bool(layout), "input_layout is empty")
    known = layout.upper() in (*DENSE, PACKED)
    errors.require(known, f"The input_layout should be BSH/SBH/BNSD/BSND/TND(case-insensitive), but got {layout}")
    statistics = call["softmax_layout"]
    if layout.upper() == PACKED:
        text = f"The sparse_mode value must be in range of [0,5) or (5,8], but got {mode}"
        errors.require(0 <= mode <= 8 and mode != 5, text)
        queries, keys = (call[name] or () for name in ("actual_seq_qlen", "actual_seq_kvlen"))
        text = "the size of actual_seq_qlen and actual_seq_kvlen must be the same and cannot be empty."
        errors.require(len(queries) == len(keys) > 0, text)
        errors.require(statistics in ("", "TND"), "only supported softmax_layout=TND")
    else:
        errors.require(0 <= mode <= 6, f"The sparse_mode value must be in range of [0,6], but got {mode}")
        errors.require(not statistics, "softmax_layout=TND only supported when input_layout_str=TND")
    types = {call[name].dtype for name in ("query", "key", "value")}
    if len(types) > 1:
        errors.reject("aclnnFlashAttentionScore", "query, key and value should have the same dtype.")
