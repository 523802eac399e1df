"""The arguments of inference attention: layouts of input and output, lengths, paged and quantised caches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from attrs import frozen
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import Stack, bounds, with_heads, without_heads
from drynpu_torch_operators.operators._masks import Mask
from drynpu_torch_operators.operators._softmax import SCALE_THEN_ADD, Scoring

_LAYOUTS = (
    "BSH",
    "BSND",
    "BNSD",
    "BNSD_BSND",
    "BSH_NBSD",
    "BSND_NBSD",
    "BNSD_NBSD",
    "TND",
    "TND_NTD",
    "NTD_TND",
    "NTD",
)
_PER_CHANNEL = 0


@frozen(eq=False)
class Piece:
    """One sequence: its heads, how pairs are scored, which are kept, and where its queries stand (batch or row)."""

    stack: Stack
    scoring: Scoring
    mask: Mask
    place: int


@frozen(eq=False, kw_only=True)
class Inference:
    """The arguments that all forms have, under one name each."""

    arguments: Any
    layout: str
    result_layout: str
    heads: int
    kv_heads: int
    scale: float
    query_lengths: Sequence[int] | None
    kv_lengths: Sequence[int] | None
    output_scale: Tensor | None
    output_offset: Tensor | None
    wants_sums: bool

    @classmethod
    def from_call(cls, call: Call) -> Inference:
        """Return the arguments of a call. Raises RuntimeError for those that the vendor rejects."""
        a = call.arguments

        def first(*names: str) -> Any:
            return next((a[name] for name in names if a.get(name) is not None), None)

        layout = a["input_layout"].upper()
        text = f"Layout {layout} is not supported in get_query_t_n_d function!"
        errors.require(layout in _LAYOUTS, text, errors.VALUE)
        heads = first("num_heads", "num_query_heads")
        errors.require(heads > 0, f"numHeads should be greater than 0, but got {heads}", errors.VALUE)
        single = "scale_value" in a and "next_tokens" not in a  # one query for each sequence: its lengths are the keys'
        source, _, result = layout.partition("_")
        return cls(
            arguments=a,
            layout=source,
            result_layout=result or source,
            heads=heads,
            kv_heads=a["num_key_value_heads"] or heads,
            scale=first("scale", "softmax_scale", "scale_value"),
            query_lengths=None if single else first("actual_seq_lengths", "actual_seq_qlen"),
            kv_lengths=first(*(("actual_seq_lengths",) if single else ("actual_seq_lengths_kv", "actual_seq_kvlen"))),
            output_scale=first("quant_scale2", "quant_scale_out"),
            output_offset=first("quant_offset2", "quant_offset_out"),
            wants_sums=bool(first("softmax_lse_flag", "return_softmax_lse")),
        )

    @property
    def dtype(self) -> torch.dtype:
        """Type of the output."""
        if self.output_scale is not None:
            return torch.int8
        query, rope = self.arguments["query"], self.arguments.get("query_rope")
        if query.dtype is torch.int8:
            return torch.float16 if rope is None else rope.dtype
        return query.dtype  # type: ignore[no-any-return]

    @property
    def packed(self) -> bool:
        """Whether sequences stand one behind the other."""
        return self.layout in ("TND", "NTD")

    @property
    def paged(self) -> bool:
        """Whether keys and values are blocks of a cache."""
        return self.arguments.get("block_table") is not None

    @property
    def width(self) -> int:
        """Width of a head of the queries, without its rope."""
        query = self.arguments["query"]
        return int(query.shape[-1]) // (self.heads if self.layout == "BSH" else 1)

    @property
    def value_width(self) -> int:
        """Width of a head of the values."""
        value = self.arguments["value"]
        if self.paged:
            text = f"when Page Attention enabled, value's dim should be 3/4/5, but got {value.dim()}"
            errors.require(value.dim() in (3, 4, 5), text, errors.VALUE)
            if value.dim() == 5:
                return int(value.shape[2] * value.shape[4])
            return int(value.shape[-1]) // (self.kv_heads if value.dim() == 3 else 1)
        return int(value.shape[-1]) // (self.kv_heads if self.layout == "BSH" else 1)

    @property
    def rows(self) -> tuple[int, int]:
        """Number of sequences and of queries in each; packed, 1 and all queries."""
        query = self.arguments["query"]
        if self.packed:
            return 1, query.shape[0 if self.layout == "TND" else 1]
        return (query.shape[0], query.shape[2]) if self.layout == "BNSD" else (query.shape[0], query.shape[1])

    def pieces(self) -> Iterator[Piece]:
        """Yield the sequences."""
        queries = self._queries()
        for number, (place, query) in enumerate(queries):
            key, value = self._keys_and_values(number, len(queries))
            stack = Stack(query, key, value, sequence=number, last=number == len(queries) - 1)
            yield Piece(stack, self._scoring(number), self._mask(number, query.shape[2]), place)

    def _queries(self) -> list[tuple[int, Tensor]]:
        """Return place and heads [1, heads, tokens, width] of each sequence, ropes appended."""
        query, rope = self.arguments["query"], self.arguments.get("query_rope")
        if self.packed:
            tokens = [t if self.layout == "TND" else t.transpose(0, 1) for t in (query, rope) if t is not None]
            whole = torch.cat(tokens, -1).transpose(0, 1).unsqueeze(0)
            ends = self.query_lengths or [whole.shape[2]]
            return [(begin, whole[:, :, begin:end]) for begin, end in bounds(ends)]
        parts = [with_heads(t, self.layout, t.shape[-1] // self.heads) for t in (query, rope) if t is not None]
        whole = torch.cat(parts, -1)
        lengths = _spread(self.query_lengths, whole.shape[0], whole.shape[2])
        return [(b, whole[b : b + 1, :, : lengths[b]]) for b in range(whole.shape[0])]

    def _keys_and_values(self, number: int, count: int) -> tuple[Tensor, Tensor]:
        names, tensors = ("key", "value", "key_rope"), []
        for name in names:
            tensor = self.arguments.get(name)
            if tensor is not None:
                tensors.append(self._restored(name, self._sequence(tensor, number, count)))
        key = torch.cat((tensors[0], tensors[2]), -1) if len(tensors) > 2 else tensors[0]
        return key, tensors[1]

    def _sequence(self, tensor: Tensor, number: int, count: int) -> Tensor:
        """Return keys or values of a sequence, [1, heads, tokens, width]."""
        if self.paged:
            rows = self._pages(tensor, number)
            length = _spread(self.kv_lengths, count, rows.shape[0])[number]
            return rows[:length].transpose(0, 1).unsqueeze(0)
        if self.packed:
            whole = tensor if self.layout == "TND" else tensor.transpose(0, 1)
            begin, end = bounds(self.kv_lengths or [whole.shape[0]])[number]
            return whole[begin:end].transpose(0, 1).unsqueeze(0)
        whole = with_heads(tensor, self.layout, tensor.shape[-1] // self.kv_heads)
        length = _spread(self.kv_lengths, count, whole.shape[2])[number]
        return whole[number : number + 1, :, :length]

    def _pages(self, cache: Tensor, number: int) -> Tensor:
        """Return the tokens of a sequence from the blocks of a cache, [tokens, heads, width]."""
        table = self.arguments["block_table"][number].long().clamp(min=0)
        blocks = cache[table]
        if cache.dim() == 3:  # [block, slot, heads and width]
            return blocks.reshape(-1, self.kv_heads, cache.shape[-1] // self.kv_heads)
        if cache.dim() == 5:  # [block, head, width / 16, slot, 16]
            blocks = blocks.permute(0, 1, 3, 2, 4).flatten(3)
        return blocks.transpose(1, 2).flatten(0, 1)

    def _restored(self, name: str, x: Tensor) -> Tensor:
        """Return quantised keys or values as numbers: (x + offset) * scale."""
        if x.dtype is not torch.int8:
            return x
        both, row = self.arguments.get("antiquant_scale"), 0 if name == "key" else 1
        if both is not None:
            offset, mode = self.arguments.get("antiquant_offset"), self.arguments.get("antiquant_mode", 0)
            scale, offset = both[row], None if offset is None else offset[row]
        else:
            scale = self._first(f"{name}_antiquant_scale", f"dequant_scale_{name}")
            offset = self._first(f"{name}_antiquant_offset", f"dequant_offset_{name}")
            mode = self._first(f"{name}_antiquant_mode", f"{name}_quant_mode") or 0
        text = f"drynpu computes {name} caches of INT8 with a scale for each channel or tensor (mode 0) only"
        errors.require(mode == _PER_CHANNEL and scale is not None, text, errors.NOT_SUPPORTED)
        shape = (1, x.shape[1], 1, x.shape[3])
        factor, shift = (t if t is None or t.numel() == 1 else t.reshape(shape) for t in (scale, offset))
        restored: Tensor = (x.float() if shift is None else x.float() + shift.float()) * factor.float()
        return restored

    def _first(self, *names: str) -> Any:
        """Return the first of these arguments that is given."""
        return next((self.arguments[name] for name in names if self.arguments.get(name) is not None), None)

    def _scoring(self, number: int) -> Scoring:
        shift = self.arguments.get("pse_shift")
        shift = shift if shift is None or shift.shape[0] == 1 else shift[number : number + 1]
        sink = self.arguments.get("learnable_sink")
        return Scoring(scale=self.scale, shift=shift, shift_type=SCALE_THEN_ADD, sink=sink)

    def _mask(self, number: int, tokens: int) -> Mask:
        dropped, mode = self.arguments["atten_mask"], self.arguments.get("sparse_mode", 0)
        if dropped is not None and mode < 2:
            dropped = dropped if dropped.dim() < 3 or dropped.shape[0] == 1 else dropped[number : number + 1]
            dropped = dropped if dropped.dim() < 3 else dropped.reshape(1, -1, *dropped.shape[-2:])
        alone = tokens == 1 and self.arguments.get("query_rope") is None
        if alone and mode >= 2:  # a single query attends everything before it
            return Mask(None)
        if alone:
            return Mask(dropped, mode).unlimited()
        bounds_of_band = (self.arguments.get(name, 2**31 - 1) for name in ("pre_tokens", "next_tokens"))
        return Mask(dropped, mode, *bounds_of_band)

    def _join(self, parts: Sequence[Tensor], pieces: Sequence[Piece]) -> Tensor:
        """Return the sequences as [batch, heads, tokens, width]; queries behind the valid ones are 0."""
        batch, tokens = self.rows
        whole = parts[0].new_zeros(batch, self.heads, tokens, parts[0].shape[-1])
        for part, piece in zip(parts, pieces, strict=True):
            if self.packed:
                whole[0, :, piece.place : piece.place + part.shape[2]] = part[0]
            else:
                whole[piece.place, :, : part.shape[2]] = part[0]
        return whole

    def joined(self, parts: Sequence[Tensor], pieces: Sequence[Piece]) -> Tensor:
        """Return outputs in the layout of the result."""
        return self._arranged(self._join(parts, pieces))

    def joined_sums(self, parts: Sequence[Tensor], pieces: Sequence[Piece]) -> Tensor:
        """Return logarithms of the sums, [batch, heads, tokens, 1], packed [tokens, heads, 1]."""
        whole = self._join(parts, pieces)
        return whole[0].transpose(0, 1).contiguous() if self.packed else whole

    def _arranged(self, whole: Tensor) -> Tensor:
        if self.result_layout == "TND":
            return whole[0].transpose(0, 1).contiguous()
        if self.result_layout == "NTD":
            return whole[0]
        if self.result_layout == "NBSD":
            return whole.transpose(0, 1).contiguous()
        return without_heads(whole, self.result_layout)

    def empty_results(self) -> tuple[Tensor, Tensor]:
        """Return results without values."""
        (batch, tokens), query = self.rows, self.arguments["query"]
        out = self._arranged(query.new_empty(batch, self.heads, tokens, self.value_width, dtype=self.dtype))
        shape = (tokens, self.heads, 1) if self.packed else (batch, self.heads, tokens, 1)
        return out, query.new_empty(shape if self.wants_sums else (0,), dtype=torch.float32)

    def bytes_read(self, inputs: Sequence[Tensor], pieces: Sequence[Piece]) -> int:
        """Return the bytes that are read: of a cache only the tokens of the sequences."""
        caches = [t for t in (self.arguments.get(n) for n in ("key", "value", "key_rope")) if t is not None]
        others = sum(t.numel() * t.element_size() for t in inputs if not any(t is cache for cache in caches))
        size: int = caches[0].element_size()
        return others + size * sum(p.stack.key.numel() + p.stack.value.numel() for p in pieces)


def _spread(lengths: Sequence[int] | None, count: int, default: int) -> list[int]:
    """Return one length for each sequence; a single one counts for all."""
    if not lengths:
        return [default] * count
    return list(lengths) * count if len(lengths) == 1 else list(lengths)
