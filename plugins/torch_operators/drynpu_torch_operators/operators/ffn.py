"""Two products with an activation between them, for each expert."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, NpuOperator

SCHEMAS = """
npu_ffn(Tensor x, Tensor weight1, Tensor weight2, str activation, *, int[]? expert_tokens=None,
    int[]? expert_tokens_index=None, Tensor? bias1=None, Tensor? bias2=None, Tensor? scale=None,
    Tensor? offset=None, Tensor? deq_scale1=None, Tensor? deq_scale2=None, Tensor? antiquant_scale1=None,
    Tensor? antiquant_scale2=None, Tensor? antiquant_offset1=None, Tensor? antiquant_offset2=None,
    int? inner_precise=None, ScalarType? output_dtype=None) -> Tensor
"""


def _gated(x: Tensor, activation: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the first half times the activated second one."""
    first, second = x.chunk(2, -1)
    return first * activation(second)


_ACTIVATIONS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "fastgelu": lambda x: x * (1.702 * x).sigmoid(),
    "silu": torch.nn.functional.silu,
    "geglu": lambda x: _gated(x, torch.nn.functional.gelu),
    "swiglu": lambda x: _gated(x.roll(x.shape[-1] // 2, -1), torch.nn.functional.silu),
    "reglu": lambda x: _gated(x.roll(x.shape[-1] // 2, -1), torch.relu),
}


def _ffn_sizes(call: Call) -> list[int]:
    counts, ends = call["expert_tokens"], call["expert_tokens_index"]
    rows = call["x"].numel() // call["x"].shape[-1]
    if counts is not None:
        return list(counts)
    if ends is not None:
        return [end - begin for begin, end in zip([0, *ends], ends, strict=False)]
    return [rows]


def _ffn(call: Call) -> Tensor:
    x, kind = call["x"], call["activation"].lower()
    text = f"activation should be one of {', '.join(_ACTIVATIONS)}, but got {call['activation']}"
    errors.require(kind in _ACTIVATIONS, text)
    rows, parts = x.reshape(-1, x.shape[-1]), []

    def one(name: str, number: int) -> Any:
        tensor = call[name]
        return tensor if tensor is None or tensor.dim() < (2 if name.startswith("bias") else 3) else tensor[number]

    begin = 0
    for number, size in enumerate(_ffn_sizes(call)):
        hidden = wide(rows[begin : begin + size]) @ wide(one("weight1", number))
        bias = one("bias1", number)
        hidden = _ACTIVATIONS[kind](hidden if bias is None else hidden + wide(bias)).to(x.dtype)
        output = wide(hidden) @ wide(one("weight2", number))
        bias = one("bias2", number)
        parts.append(output if bias is None else output + wide(bias))
        begin += size
    return torch.cat(parts).reshape(*x.shape[:-1], -1).to(call["output_dtype"] or x.dtype)


def _ffn_shapes(call: Call) -> Tensor:
    x: Tensor = call["x"]
    return x.new_empty((*x.shape[:-1], call["weight2"].shape[-1]), dtype=call["output_dtype"] or x.dtype)


def _ffn_kernels(call: Call) -> Iterable[Launch]:
    sides = []
    for size in _ffn_sizes(call):
        sides += [(size, *call[name].shape[-2:]) for name in ("weight1", "weight2")]
    yield product("FFN", call.inputs, call.outputs, sides, api="aclnnFFNV3")


OPERATORS: Mapping[str, NpuOperator] = {
    "npu_ffn": NpuOperator(
        compute=_ffn,
        shapes=_ffn_shapes,
        kernels=_ffn_kernels,
        left_out=(
            *("scale", "offset", "deq_scale1", "deq_scale2", "antiquant_scale1", "antiquant_scale2"),
            *("antiquant_offset1", "antiquant_offset2"),
        ),
        dtypes=SIXTEEN_BITS,
    ),
}
