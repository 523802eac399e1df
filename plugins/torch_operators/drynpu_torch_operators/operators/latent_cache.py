"""Writes to both caches of multi-head latent attention: a norm, a rotation, and the rows in their places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._latent_rows import MODES, Store, norm, rope
from drynpu_torch_operators.operators._launch import Launch
from drynpu_torch_operators.operators._numbers import saturated, wide
from drynpu_torch_operators.operators._operator import Launches, NpuOperator

SCHEMAS = """
npu_kv_rmsnorm_rope_cache(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor k_cache,
    Tensor ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, Tensor? k_rope_offset=None,
    Tensor? c_kv_offset=None, Tensor? v=None, float epsilon=1e-5, str cache_mode='Norm',
    bool is_output_kv=False) -> (Tensor, Tensor, Tensor, Tensor)
npu_kv_rmsnorm_rope_cache_v2(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index, Tensor(a!) k_cache,
    Tensor(b!) ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None, Tensor? k_rope_offset=None,
    Tensor? c_kv_offset=None, Tensor? v=None, float epsilon=1e-5, str cache_mode='Norm', bool is_output_kv=False,
    int? k_cache_dtype=None, int? ckv_cache_dtype=None) -> (Tensor, Tensor)
npu_kv_rmsnorm_rope_cache_v2_functional(Tensor kv, Tensor gamma, Tensor cos, Tensor sin, Tensor index,
    Tensor k_cache, Tensor ckv_cache, *, Tensor? k_rope_scale=None, Tensor? c_kv_scale=None,
    Tensor? k_rope_offset=None, Tensor? c_kv_offset=None, Tensor? v=None, float epsilon=1e-5,
    str cache_mode='Norm', bool is_output_kv=False, int? k_cache_dtype=None, int? ckv_cache_dtype=None) ->
    (Tensor, Tensor, Tensor, Tensor)
"""


def _quantised(rows: Tensor, scale: Tensor | None, offset: Tensor | None, cache: Tensor) -> Tensor:
    if scale is None:
        return rows
    scaled = rows * wide(scale)
    return saturated(scaled if offset is None else scaled + wide(offset), cache.dtype)


def _check(call: Call) -> None:
    for name, dims in (("kv", 4), ("gamma", 1), ("cos", 4)):
        text = f"{dims}D tensor expected for input {name}"
        errors.require(call[name].dim() == dims, text)
    kv, v = call["kv"], call["v"]
    if v is not None:
        errors.require(v.dtype == kv.dtype, "v MUST have same data type as kv!")
        errors.require(v.shape[:3] == kv.shape[:3], "v MUST have same token shape as kv!")
    modes = ", ".join(MODES)
    errors.require(call["cache_mode"] in MODES, f"cache_mode should be one of {modes}, but got {call['cache_mode']}")


def _rows(call: Call) -> tuple[Tensor, Tensor]:
    """Return the rows for both caches, [batch, 1, tokens, width]: the rotated part, and the normalised rest or *v*."""
    kv, gamma, cos, sin = (wide(call[name]) for name in ("kv", "gamma", "cos", "sin"))
    width = cos.shape[-1]
    if call["v"] is None:
        normal = gamma.shape[0]
        return rope(kv[..., normal:], cos, sin), norm(kv[..., :normal], gamma, call["epsilon"])
    normed = norm(kv, gamma, call["epsilon"])
    return torch.cat((rope(normed[..., :width], cos, sin), normed[..., width:]), -1), wide(call["v"])


def _write_caches(call: Call, k_cache: Tensor, ckv_cache: Tensor) -> tuple[Tensor, Tensor]:
    """Write both caches, and return the rows in the type of ``kv``; zeros where they are not asked for."""
    _check(call)
    both = _rows(call)
    store = Store(call["cache_mode"], call["index"])
    names = (("k_rope_scale", "k_rope_offset"), ("c_kv_scale", "c_kv_offset"))
    for rows, cache, (scale, offset) in zip(both, (k_cache, ckv_cache), names, strict=True):
        store.write(cache, _quantised(rows, call[scale], call[offset], cache)[:, 0])
    key, value = (rows.to(call["kv"].dtype) for rows in both)
    return (key, value) if call["is_output_kv"] else (torch.zeros_like(key), torch.zeros_like(value))


def _row_shapes(call: Call) -> tuple[Tensor, Tensor]:
    _check(call)
    kv, v = call["kv"], call["v"]
    widths = (call["cos"].shape[3], call["gamma"].shape[0]) if v is None else (kv.shape[3], v.shape[3])
    first, second = (kv.new_empty(*kv.shape[:3], width) for width in widths)
    return first, second


def _kv_cache(call: Call) -> tuple[Tensor, ...]:
    caches = call["k_cache"], call["ckv_cache"]
    return *caches, *_write_caches(call, *caches)


def _kv_cache_shapes(call: Call) -> tuple[Tensor, ...]:
    return call["k_cache"], call["ckv_cache"], *_row_shapes(call)


def _kv_cache_second(call: Call) -> tuple[Tensor, Tensor]:
    return _write_caches(call, call["k_cache"], call["ckv_cache"])


def _kv_cache_functional(call: Call) -> tuple[Tensor, ...]:
    caches = call["k_cache"].clone(), call["ckv_cache"].clone()
    return *caches, *_write_caches(call, *caches)


def _kv_cache_functional_shapes(call: Call) -> tuple[Tensor, ...]:
    return torch.empty_like(call["k_cache"]), torch.empty_like(call["ckv_cache"]), *_row_shapes(call)


_NORM_AND_ROPE = 9
"""Element operations: the norm's 5 and the rotation's 4, as in norms and rotary."""


def _cache_kernels(*, copied: bool) -> Launches:
    def kernels(call: Call) -> Iterable[Launch]:
        kv, caches = call["kv"], call.tensors("k_cache", "ckv_cache")
        if copied:
            for source, copy in zip(caches, call.outputs[:2], strict=True):
                yield Launch(kernel="TensorMove", inputs=[source], outputs=[copy], api="aclnnInplaceCopy", cost=0)
        moved = kv.numel() * kv.element_size()
        others = [t for t in call.inputs if not any(t is cache for cache in caches)]
        yield Launch(
            kernel="KvRmsNormRopeCache",
            inputs=call.inputs,
            outputs=caches if not copied else call.outputs[:2],
            cost=_NORM_AND_ROPE,
            over=kv.numel(),
            read=sum(t.numel() * t.element_size() for t in others),
            written=moved * (2 if call["is_output_kv"] else 1),
        )

    return kernels


_CACHE_TYPES = "float16, bfloat16; caches int8"

OPERATORS: Mapping[str, NpuOperator] = {
    "npu_kv_rmsnorm_rope_cache": NpuOperator(
        compute=_kv_cache, shapes=_kv_cache_shapes, kernels=_cache_kernels(copied=False), dtypes=_CACHE_TYPES
    ),
    "npu_kv_rmsnorm_rope_cache_v2": NpuOperator(
        compute=_kv_cache_second,
        shapes=_row_shapes,
        kernels=_cache_kernels(copied=False),
        dtypes=_CACHE_TYPES,
        left_out=("k_cache_dtype", "ckv_cache_dtype"),
    ),
    "npu_kv_rmsnorm_rope_cache_v2_functional": NpuOperator(
        compute=_kv_cache_functional,
        shapes=_kv_cache_functional_shapes,
        kernels=_cache_kernels(copied=True),
        dtypes=_CACHE_TYPES,
        left_out=("k_cache_dtype", "ckv_cache_dtype"),
    ),
}
