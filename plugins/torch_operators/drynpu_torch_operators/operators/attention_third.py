"""Training attention whose lengths, seed and offset are tensors, so that a captured graph can replay it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._operator import Gradient, NpuOperator
from drynpu_torch_operators.operators._values import even_shares, integers, running_ends
from drynpu_torch_operators.operators.attention import (
    attention,
    attention_grad,
    attention_shapes,
    forward_kernels,
    grad_kernels,
    grad_shapes,
)

SCHEMAS = """
npu_fusion_attention_v3(Tensor query, Tensor key, Tensor value, int head_num, str input_layout, Tensor? pse=None,
    Tensor? padding_mask=None, Tensor? atten_mask=None, float scale=1., float keep_prob=1.,
    int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0, int[]? prefix=None,
    Tensor? actual_seq_qlen=None, Tensor? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True,
    bool sync=False, str softmax_layout="", Tensor? sink=None) -> (Tensor, Tensor, Tensor, Tensor, Tensor, Tensor)
npu_fusion_attention_grad_v3(Tensor query, Tensor key, Tensor value, Tensor dy, int head_num, str input_layout, *,
    Tensor? pse=None, Tensor? padding_mask=None, Tensor? atten_mask=None, Tensor? softmax_max=None,
    Tensor? softmax_sum=None, Tensor? softmax_in=None, Tensor? attention_in=None, float scale_value=1.,
    float keep_prob=1., int pre_tockens=2147483647, int next_tockens=2147483647, int inner_precise=0,
    Tensor? seed=None, Tensor? offset=None, int[]? prefix=None, Tensor? actual_seq_qlen=None,
    Tensor? actual_seq_kvlen=None, int sparse_mode=0, bool gen_mask_parallel=True, bool sync=False,
    str softmax_layout="", Tensor? sink=None) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
"""

_LENGTHS: Mapping[str, str] = {"actual_seq_qlen": "query", "actual_seq_kvlen": "key"}


def _plain(call: Call) -> Call:
    """Return the call with integers in place of tensors, as the first version of the operator takes them."""
    arguments = dict(call.arguments) | {"dropout_mask": None}
    for name, packed in _LENGTHS.items():
        ends = call[name]
        if ends is not None:
            arguments[name] = integers(ends, running_ends(even_shares(call[packed].shape[0], ends.numel())))
    for name in ("seed", "offset"):
        value = call.arguments.get(name)
        arguments[name] = 0 if value is None else integers(value, [0])[0]
    return Call(arguments, call.results)


def _numbers(like: Tensor, *values: int) -> tuple[Tensor, ...]:
    return tuple(torch.full((1,), value, dtype=torch.int64, device=like.device) for value in values)


def _attention(call: Call) -> tuple[Tensor, ...]:
    *results, seed, offset, _ = attention(_plain(call))
    return *results, *_numbers(results[0], seed, offset)


def _attention_shapes(call: Call) -> tuple[Tensor, ...]:
    *results, _, _, _ = attention_shapes(_plain(call))
    return *results, *_numbers(results[0], 0, 0)


_OPTIONS = (
    *("pse", "padding_mask", "atten_mask", "keep_prob", "pre_tockens", "next_tockens", "inner_precise", "prefix"),
    *("actual_seq_qlen", "actual_seq_kvlen", "sparse_mode", "gen_mask_parallel", "sync", "softmax_layout", "sink"),
)


def _gradient(call: Call, grad: Tensor, *others: Any) -> Mapping[str, Tensor | None]:
    del others
    out, maximum, total, _, seed, offset = call.results
    gradients = torch.ops.npu.npu_fusion_attention_grad_v3(
        *(call["query"], call["key"], call["value"], grad, call["head_num"], call["input_layout"]),
        softmax_max=maximum,
        softmax_sum=total,
        attention_in=out,
        scale_value=call["scale"],
        seed=seed,
        offset=offset,
        **{name: call[name] for name in _OPTIONS},
    )
    return dict(zip(("query", "key", "value", "pse", "sink"), gradients, strict=True))


_KEPT = ("query", "key", "value", "pse", "atten_mask", "sink", "actual_seq_qlen", "actual_seq_kvlen", 0, 1, 2, 4, 5)

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_fusion_attention_v3": NpuOperator(
        compute=_attention,
        shapes=_attention_shapes,
        kernels=lambda call: forward_kernels(_plain(call)),
        gradient=Gradient(compute=_gradient, keeps=_KEPT),
    ),
    "npu_fusion_attention_grad_v3": NpuOperator(
        compute=lambda call: attention_grad(_plain(call)),
        shapes=lambda call: grad_shapes(_plain(call)),
        kernels=lambda call: grad_kernels(_plain(call)),
    ),
}
