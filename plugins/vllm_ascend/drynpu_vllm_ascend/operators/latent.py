"""Latent attention (MLA): what stands before it in one kernel, and the product behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import torch
from attrs import frozen
from torch import Tensor

from drynpu import CaptureError
from drynpu_vllm_ascend.operators._int8 import exact_product, numbers, quantised, size_bytes
from drynpu_vllm_ascend.served import Arguments, ServedOperator, Work

_EPSILON: Final = 1e-6
_ND: Final = "krope_ctkv"
_NZ: Final = "nzcache"
_NZ_COLUMNS: Final = 16
"""Columns of a block of 16-bit numbers in the layout NZ."""
_PER_TENSOR: Final = "per_tensor_quant_asymm"
_PLAIN: Final = "no_quant"
_VECTOR_OPS: Final = 12
"""Element operations for each number that is normed, rotated or quantised; assumed."""
_OUTPUTS: Final = ("q_out0", "kv_cache_out0", "q_out1", "kv_cache_out1", "inner_out")


def _mla_preprocess(arguments: Arguments) -> tuple[Tensor, ...]:
    """Write the latent queries and their rotated part, and the latent key and its rotated part of each slot."""
    hidden, ranks = arguments["hiddenState"], _sizes(arguments)
    project = _projection(arguments["quant_mode"] or "per_token_quant_symm")
    down = project(hidden.float(), arguments, 0, _rows_first(arguments["wdqkv"]))
    latent, key, query = torch.split(down, [ranks.latent, ranks.rotated, ranks.query], -1)
    query = _normed(query, arguments["gamma1"], arguments["beta1"])
    if arguments["enable_inner_out"]:
        arguments["inner_out"].copy_(query.reshape(arguments["inner_out"].shape))
    up = project(query, arguments, 1, _rows_first(arguments["wuq"])).to(hidden.dtype).float()
    up = up.reshape(len(up), ranks.heads, -1)
    plain, turned = torch.split(up, [up.shape[-1] - ranks.rotated, ranks.rotated], -1)
    absorbed = torch.einsum("thp,hpl->thl", plain, arguments["wuk"].float())
    _put(arguments["q_out0"], absorbed)
    _put(arguments["q_out1"], _rotated(turned, arguments["cos"], arguments["sin"]))
    store = _store(arguments["cache_mode"] or _ND)
    store(arguments["kv_cache_out0"], arguments["slotmapping"], _normed(latent, arguments["gamma2"], None))
    store(
        arguments["kv_cache_out1"],
        arguments["slotmapping"],
        _rotated(key.unsqueeze(1), arguments["cos"], arguments["sin"]).squeeze(1),
    )
    return _outputs(arguments)


@frozen
class _Sizes:
    """The widths of the parts: the latent key, the rotated part, the latent query; and the number of heads."""

    heads: int
    latent: int
    query: int
    rotated: int


def _sizes(arguments: Arguments) -> _Sizes:
    heads, _, latent = arguments["wuk"].shape
    query = arguments["gamma1"].numel()
    return _Sizes(heads, latent, query, arguments["wdqkv"].shape[-2] - latent - query)


def _outputs(arguments: Arguments) -> tuple[Tensor, ...]:
    return tuple(arguments[name] for name in _OUTPUTS)


def _rows_first(weight: Tensor) -> Tensor:
    """Return weights [inner, columns] of the layout NZ: [1, blocks of inner, columns, inner in a block]."""
    blocks, columns, width = weight.shape[-3:]
    return weight.reshape(blocks, columns, width).permute(0, 2, 1).reshape(blocks * width, columns)


def _projection(mode: str) -> Callable[[Tensor, Arguments, int, Tensor], Tensor]:
    """Return what multiplies rows with weights: the arguments whose names end with a number say how."""

    def per_tensor(x: Tensor, arguments: Arguments, number: int, weight: Tensor) -> Tensor:
        scale, offset, bias = (arguments[f"{name}{number}"] for name in ("quant_scale", "quant_offset", "bias"))
        output: Tensor = exact_product(quantised(x / scale.float() + offset.float()), weight) + bias
        return output.float() * numbers(arguments[f"descale{number}"])

    def plain(x: Tensor, arguments: Arguments, number: int, weight: Tensor) -> Tensor:
        del arguments, number
        return x.to(weight.dtype).float() @ weight.float()

    known = {_PER_TENSOR: per_tensor, _PLAIN: plain}
    if mode not in known:
        raise CaptureError(f"torch.ops._C_ascend.mla_preprocess: drynpu does not compute quant_mode={mode}")
    return known[mode]


def _normed(x: Tensor, gamma: Tensor, beta: Tensor | None) -> Tensor:
    y = x * x.square().mean(-1, keepdim=True).add(_EPSILON).rsqrt() * gamma.float()
    return y if beta is None else y + beta.float()


def _rotated(x: Tensor, cos: Tensor | None, sin: Tensor | None) -> Tensor:
    """Return rows [tokens, heads, width] turned by halves, as they are where there are no angles."""
    if cos is None or sin is None:
        return x
    first, second = x.chunk(2, -1)
    angles = (each.float().reshape(len(x), 1, -1) for each in (cos, sin))
    cosine, sine = angles
    return x * cosine + torch.cat((-second, first), -1) * sine


def _put(output: Tensor, values: Tensor) -> None:
    output.copy_(values.reshape(output.shape))


def _store(mode: str) -> Callable[[Tensor, Tensor, Tensor], None]:
    """Return what writes rows into the slots of a cache; a negative slot is none."""

    def rows(cache: Tensor, slots: Tensor, values: Tensor) -> None:
        size = cache.shape[1]
        cache[slots // size, slots % size] = values.reshape(len(values), *cache.shape[2:]).to(cache.dtype)

    def blocks(cache: Tensor, slots: Tensor, values: Tensor) -> None:
        width = values.shape[-1]
        size = cache[0].numel() // width
        inner = cache.view(len(cache), width // _NZ_COLUMNS, size, _NZ_COLUMNS)
        inner[slots // size, :, slots % size] = values.reshape(len(values), -1, _NZ_COLUMNS).to(cache.dtype)

    known = {_ND: rows, _NZ: blocks}
    if mode not in known:
        raise CaptureError(f"torch.ops._C_ascend.mla_preprocess: drynpu does not compute cache_mode={mode}")

    def store(cache: Tensor, slots: Tensor, values: Tensor) -> None:
        kept = slots >= 0
        known[mode](cache, slots[kept].long(), values[kept])

    return store


def _preprocess_work(arguments: Arguments) -> Work:
    """Return the work: three products, and vector units for all that stands between; one row of a cache per token."""
    sizes = _sizes(arguments)
    hidden = arguments["hiddenState"]
    tokens, inner, columns = len(hidden), hidden.shape[-1], arguments["wdqkv"].shape[-2]
    ups, plain = arguments["wuq"].shape[-2], arguments["wuk"].shape[1]
    weights = (arguments["wdqkv"], arguments["wuq"], arguments["wuk"])
    written = (sizes.latent + sizes.rotated) * (1 + sizes.heads) * tokens * hidden.element_size()
    return Work(
        vector_ops=_VECTOR_OPS * tokens * (inner + columns + ups),
        sides=[(tokens, inner, columns), (tokens, sizes.query, ups), *[(tokens, plain, sizes.latent)] * sizes.heads],
        read=size_bytes(hidden, *weights, arguments["cos"], arguments["sin"]),
        written=written,
    )


def _batch_matmul_transpose(tensor_a: Tensor, tensor_b: Tensor, tensor_c: Tensor) -> None:
    """Write the products of rows [rows, batch, inner] with [batch, inner, columns]."""
    _put(tensor_c, torch.einsum("rbi,bic->rbc", tensor_a.float(), tensor_b.float()))


def _nothing() -> None:
    """Return the result of a call whose only effect are values."""


def _batch_work(tensor_a: Tensor, tensor_b: Tensor) -> Work:
    rows, batch, inner = tensor_a.shape
    return Work(sides=[(rows, inner, tensor_b.shape[-1])] * batch, read=size_bytes(tensor_a, tensor_b))


OPERATORS: Final = (
    ServedOperator(
        schema="mla_preprocess(Tensor hiddenState, Tensor wdqkv, Tensor? descale0, Tensor gamma1, Tensor? beta1,"
        " Tensor wuq, Tensor? descale1, Tensor gamma2, Tensor? cos, Tensor? sin, Tensor wuk, Tensor kv_cache,"
        " Tensor kv_cache_rope, Tensor slotmapping, Tensor? quant_scale0, Tensor? quant_offset0, Tensor? bias0,"
        " Tensor? quant_scale1, Tensor? quant_offset1, Tensor? bias1, Tensor? ctkv_scale, Tensor? q_nope_scale,"
        " str? cache_mode, str? quant_mode, bool? enable_inner_out, Tensor(a!) q_out0, Tensor(b!) kv_cache_out0,"
        " Tensor(c!) q_out1, Tensor(d!) kv_cache_out1, Tensor(e!) inner_out)"
        " -> (Tensor(a!), Tensor(b!), Tensor(c!), Tensor(d!), Tensor(e!))",
        compute=_mla_preprocess,
        kernel="mla_preprocess",
        cost=_preprocess_work,
        shapes=_outputs,
    ),
    ServedOperator(
        schema="batch_matmul_transpose(Tensor tensor_a, Tensor tensor_b, Tensor(a!) tensor_c, str? format_mode=None,"
        " str? quant_mode=None) -> ()",
        compute=_batch_matmul_transpose,
        kernel="batch_matmul_transpose",
        cost=_batch_work,
        shapes=_nothing,
    ),
)
