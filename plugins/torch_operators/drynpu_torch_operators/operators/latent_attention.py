"""Attention of the boost library over the rows of multi-head latent attention, one query for each sequence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._heads import Stack
from drynpu_torch_operators.operators._launch import Launch, no_kernels
from drynpu_torch_operators.operators._operator import SIXTEEN_BITS, NpuOperator
from drynpu_torch_operators.operators._softmax import Scoring, attend
from drynpu_torch_operators.operators.paged import heads_first, pages, work_of

_ARGUMENTS = """Tensor q_nope, Tensor q_rope, Tensor ctkv, Tensor k_rope, Tensor block_tables, SymInt[] context_lens,
    int q_headnum, float qk_scale, int kv_headnum"""
_OPTIONS = """Tensor? mask=None, SymInt[]? qseqlen=None, Tensor? qk_descale=None, Tensor? pv_descale=None,
    str? mask_type=None, str? calc_type=None, str? cache_mode=None"""

SCHEMAS = f"""
npu_multi_head_latent_attention({_ARGUMENTS}, *, {_OPTIONS}) -> Tensor
npu_multi_head_latent_attention.out({_ARGUMENTS}, *, {_OPTIONS}, Tensor(a!) output) -> Tensor(a!)
npu_multi_head_latent_attention.lse({_ARGUMENTS}, bool return_lse, *, {_OPTIONS},
    Tensor? workspace=None) -> (Tensor, Tensor)
npu_multi_head_latent_attention.lse_out({_ARGUMENTS}, bool return_lse, *, {_OPTIONS}, Tensor? workspace=None,
    Tensor(a!) output, Tensor(b!) lse) -> (Tensor(a!), Tensor(b!))
_npu_multi_head_latent_attention_get_workspace.lse({_ARGUMENTS}, bool return_lse, *, {_OPTIONS}) -> Tensor
"""

_MODES: Final = {
    "mask_type": ("undefined",),
    "calc_type": ("calc_type_undefined", "calc_type_ring"),
    "cache_mode": ("krope_ctkv", "nzcache"),
}
"""What is computed of each mode; the first one is the default. Others mask, draft tokens or quantise."""
_RING: Final = "calc_type_ring"


def _check(call: Call) -> None:
    for name, allowed in _MODES.items():
        text = f"npu_multi_head_latent_attention: drynpu computes {name} {' and '.join(allowed)}, but got {call[name]}"
        errors.require(call[name] is None or call[name] in allowed, text, errors.NOT_SUPPORTED)


def _stacks(call: Call) -> Iterator[Stack]:
    """Yield each sequence that has keys: a query and rows with their ropes; the rows alone are the values."""
    row, heads = 0, call["kv_headnum"]
    for number, length in enumerate(call["context_lens"]):
        if length == 0:
            continue
        table = call["block_tables"][number]
        values, ropes = (pages(call[name], table, length, heads) for name in ("ctkv", "k_rope"))
        query = torch.cat([call[name][row : row + 1] for name in ("q_nope", "q_rope")], -1)
        key = torch.cat((values, ropes), -1)
        yield Stack(heads_first(query, call["q_headnum"]), key, values, sequence=number)
        row += 1


def _fill(call: Call, out: Tensor, sums: Tensor | None) -> None:
    _check(call)
    out.zero_()
    for row, stack in enumerate(_stacks(call)):
        attended = attend(stack, Scoring(scale=call["qk_scale"]), None)
        out[row] = attended.out[0, :, 0].to(out.dtype)
        if sums is not None and sums.numel():
            sums[row] = attended.log_sum[0, :, 0].to(sums.dtype)


def _result(call: Call) -> Tensor:
    if "output" in call.arguments:
        output: Tensor = call["output"]
        return output
    fresh: Tensor = call["q_rope"].new_empty(call["q_nope"].shape)
    return fresh


def _results(call: Call) -> tuple[Tensor, Tensor]:
    if "output" in call.arguments:
        return call["output"], call["lse"]
    rows, heads = call["q_nope"].shape[:2]
    wanted = call["return_lse"] and call["calc_type"] == _RING
    return _result(call), call["q_rope"].new_empty((rows, heads, 1) if wanted else (0,))


def _attention(call: Call) -> Tensor:
    out = _result(call)
    _fill(call, out, None)
    return out


def _with_sums(call: Call) -> tuple[Tensor, Tensor]:
    out, sums = _results(call)
    _fill(call, out, sums)
    return out, sums


def _workspace(q_nope: Tensor) -> Tensor:
    return q_nope.new_empty(1, dtype=torch.uint8)


def _kernels(call: Call) -> Iterable[Launch]:
    caches = call.tensors("ctkv", "k_rope")
    others = call.tensors("q_nope", "q_rope", "block_tables")
    stacks = list(_stacks(call))
    # The rows serve as keys and as values, and are read once.
    read = sum(stack.key.numel() for stack in stacks) * caches[0].element_size()
    yield work_of(
        "MLAKernel",
        [(stack, None) for stack in stacks],
        inputs=[*others, *caches],
        outputs=[t for t in call.outputs if t.numel()],
        read=read + sum(t.numel() * t.element_size() for t in others),
    )


_LEFT_OUT: Final = ("mask", "qseqlen", "qk_descale", "pv_descale")
_ONE = NpuOperator(compute=_attention, shapes=_result, kernels=_kernels, left_out=_LEFT_OUT, dtypes=SIXTEEN_BITS)
_TWO = NpuOperator(compute=_with_sums, shapes=_results, kernels=_kernels, left_out=_LEFT_OUT, dtypes=SIXTEEN_BITS)
_NAME = "npu_multi_head_latent_attention"

OPERATORS: Mapping[str, NpuOperator] = {
    _NAME: _ONE,
    f"{_NAME}.out": _ONE,
    f"{_NAME}.lse": _TWO,
    f"{_NAME}.lse_out": _TWO,
    "_npu_multi_head_latent_attention_get_workspace.lse": NpuOperator(
        compute=_workspace, kernels=no_kernels, dtypes=SIXTEEN_BITS
    ),
}
