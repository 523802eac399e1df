"""Multi-head latent attention: what turns tokens into queries and into the rows of its two caches."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor

from drynpu.kernels import TaskType
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._latent_rows import BLOCK_MODES, Store, norm, rope
from drynpu_torch_operators.operators._launch import Launch, product
from drynpu_torch_operators.operators._numbers import wide
from drynpu_torch_operators.operators._operator import Launches, NpuOperator

SCHEMAS = """
npu_mla_prolog(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor weight_dkv_kr,
    Tensor rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor cache_index,
    Tensor kv_cache, Tensor kr_cache, *, Tensor? dequant_scale_x=None, Tensor? dequant_scale_w_dq=None,
    Tensor? dequant_scale_w_uq_qr=None, Tensor? dequant_scale_w_dkv_kr=None, Tensor? quant_scale_ckv=None,
    Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None, float rmsnorm_epsilon_cq=1e-05,
    float rmsnorm_epsilon_ckv=1e-05, str cache_mode="PA_BSND") -> (Tensor, Tensor, Tensor, Tensor)
npu_mla_prolog_v2(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor weight_dkv_kr,
    Tensor rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor cache_index,
    Tensor kv_cache, Tensor kr_cache, *, Tensor? dequant_scale_x=None, Tensor? dequant_scale_w_dq=None,
    Tensor? dequant_scale_w_uq_qr=None, Tensor? dequant_scale_w_dkv_kr=None, Tensor? quant_scale_ckv=None,
    Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None, float rmsnorm_epsilon_cq=1e-05,
    float rmsnorm_epsilon_ckv=1e-05, str cache_mode="PA_BSND") -> (Tensor, Tensor, Tensor, Tensor, Tensor)
npu_mla_prolog_v3(Tensor token_x, Tensor weight_dq, Tensor weight_uq_qr, Tensor weight_uk, Tensor weight_dkv_kr,
    Tensor rmsnorm_gamma_cq, Tensor rmsnorm_gamma_ckv, Tensor rope_sin, Tensor rope_cos, Tensor(a!) kv_cache,
    Tensor(b!) kr_cache, *, Tensor? cache_index=None, Tensor? dequant_scale_x=None,
    Tensor? dequant_scale_w_dq=None, Tensor? dequant_scale_w_uq_qr=None, Tensor? dequant_scale_w_dkv_kr=None,
    Tensor? quant_scale_ckv=None, Tensor? quant_scale_ckr=None, Tensor? smooth_scales_cq=None,
    Tensor? actual_seq_len=None, Tensor? k_nope_clip_alpha=None, float rmsnorm_epsilon_cq=1e-05,
    float rmsnorm_epsilon_ckv=1e-05, str cache_mode="PA_BSND", bool query_norm_flag=False,
    int weight_quant_mode=0, int kv_cache_quant_mode=0, int query_quant_mode=0, int ckvkr_repo_mode=0,
    int quant_scale_repo_mode=0, int tile_size=128, float qc_qr_scale=1.0, float kc_scale=1.0,
    int? token_x_dtype=None, int? weight_dq_dtype=None, int? weight_uq_qr_dtype=None,
    int? weight_dkv_kr_dtype=None, int? kv_cache_dtype=None) -> (Tensor, Tensor, Tensor, Tensor, Tensor)
"""


def _prolog(call: Call) -> tuple[Tensor, Tensor, Tensor]:
    """Write both caches and return the queries in the latent space, their ropes, and the normalised latent queries."""
    x, dtype = wide(call["token_x"]).reshape(-1, call["token_x"].shape[-1]), call["token_x"].dtype
    cos, sin = (wide(call[name]).reshape(x.shape[0], -1) for name in ("rope_cos", "rope_sin"))
    heads, width = call["weight_uk"].shape[:2]

    def rounded(value: Tensor) -> Tensor:
        return wide(value.to(dtype))

    down = rounded(x @ wide(call["weight_dq"]))
    latent = rounded(
        norm(down, call["rmsnorm_gamma_cq"], call["rmsnorm_epsilon_cq"]) * call.arguments.get("qc_qr_scale", 1.0)
    )
    up = rounded(latent @ wide(call["weight_uq_qr"])).reshape(x.shape[0], heads, -1)
    query = torch.einsum("thd,hdc->thc", up[..., :width], wide(call["weight_uk"]))
    rotated = rope(up[..., width:], cos.unsqueeze(1), sin.unsqueeze(1))
    shared = x @ wide(call["weight_dkv_kr"])
    normal = call["rmsnorm_gamma_ckv"].shape[0]
    values = norm(shared[:, :normal], call["rmsnorm_gamma_ckv"], call["rmsnorm_epsilon_ckv"])
    values = values * call.arguments.get("kc_scale", 1.0)
    store = Store(call["cache_mode"], call["cache_index"])
    batch = call["token_x"].shape[:-1]
    lead = (1, *batch) if len(batch) == 1 else tuple(batch)
    for rows, cache in ((values, call["kv_cache"]), (rope(shared[:, normal:], cos, sin), call["kr_cache"])):
        store.write(cache, rows.reshape(*lead, -1))
    results = (query, rotated, latent)
    return tuple(t.reshape(*batch, *t.shape[1:]).to(dtype) for t in results)  # type: ignore[return-value]


def _check_prolog(call: Call) -> None:
    x, uk, sin = call["token_x"], call["weight_uk"], call["rope_sin"]
    text = f"token_x dim num should be 2 or 3, but the actual value is {x.dim()}"
    errors.require(x.dim() in (2, 3), text, errors.VALUE)
    text = f"weight_uk dim num should be 3, but the actual value is {uk.dim()}"
    errors.require(uk.dim() == 3, text, errors.VALUE)
    text = (
        f"when token_x dim num is {x.dim()}, rope_sin dim num should be {x.dim()}, but the actual value is {sin.dim()}"
    )
    errors.require(sin.dim() == x.dim(), text, errors.VALUE)
    text = f"cache_mode should be one of {', '.join(BLOCK_MODES)}, but got {call['cache_mode']}"
    errors.require(call["cache_mode"] in BLOCK_MODES, text, errors.VALUE)
    errors.require(call["cache_index"] is not None, "cache_index is needed where the caches are in blocks")


def _prolog_shapes(call: Call) -> tuple[Tensor, Tensor]:
    _check_prolog(call)
    x, uk = call["token_x"], call["weight_uk"]
    lead = (*x.shape[:-1], uk.shape[0])
    return x.new_empty(*lead, uk.shape[2]), x.new_empty(*lead, call["rope_sin"].shape[-1])


def _prolog_first(call: Call) -> tuple[Tensor, ...]:
    _check_prolog(call)
    query, rope, _ = _prolog(call)
    return query, rope, call["kv_cache"], call["kr_cache"]


def _prolog_first_shapes(call: Call) -> tuple[Tensor, ...]:
    return *_prolog_shapes(call), call["kv_cache"], call["kr_cache"]


def _prolog_second(call: Call) -> tuple[Tensor, ...]:
    return *_prolog_first(call), call["token_x"].new_zeros(1, dtype=torch.float32)


def _prolog_second_shapes(call: Call) -> tuple[Tensor, ...]:
    return *_prolog_first_shapes(call), call["token_x"].new_empty(1, dtype=torch.float32)


def _prolog_third(call: Call) -> tuple[Tensor, ...]:
    _check_prolog(call)
    query, rope, latent = _prolog(call)
    nothing = query.new_empty(0, dtype=torch.float32)
    return query, rope, nothing, latent if call["query_norm_flag"] else query.new_empty(0), nothing.clone()


def _prolog_third_shapes(call: Call) -> tuple[Tensor, ...]:
    query, rope = _prolog_shapes(call)
    nothing = query.new_empty(0, dtype=torch.float32)
    latent = query.new_empty(*call["token_x"].shape[:-1], call["weight_dq"].shape[1])
    return query, rope, nothing, latent if call["query_norm_flag"] else query.new_empty(0), nothing.clone()


def _prolog_kernels(kernel: str) -> Launches:
    def kernels(call: Call) -> Iterable[Launch]:
        x, uk = call["token_x"], call["weight_uk"]
        tokens = x.numel() // x.shape[-1]
        sides = [(tokens, *call[name].shape) for name in ("weight_dq", "weight_uq_qr", "weight_dkv_kr")]
        sides += [(tokens, *uk.shape[1:])] * uk.shape[0]
        caches = call.tensors("kv_cache", "kr_cache")
        read = sum(t.numel() * t.element_size() for t in call.inputs if not any(t is cache for cache in caches))
        outputs = [t for t in call.outputs if t.numel() and not any(t is cache for cache in caches)]
        yield product(kernel, call.inputs, [*outputs, *caches], sides, task=TaskType.MIX_AIC, read=read)

    return kernels


_SCALES = (
    *("dequant_scale_x", "dequant_scale_w_dq", "dequant_scale_w_uq_qr", "dequant_scale_w_dkv_kr"),
    *("quant_scale_ckv", "quant_scale_ckr", "smooth_scales_cq"),
)
_QUANTISATION = (
    *("k_nope_clip_alpha", "actual_seq_len", "weight_quant_mode", "kv_cache_quant_mode", "query_quant_mode"),
    *("ckvkr_repo_mode", "quant_scale_repo_mode", "token_x_dtype", "weight_dq_dtype", "weight_uq_qr_dtype"),
    *("weight_dkv_kr_dtype", "kv_cache_dtype"),
)
OPERATORS: Mapping[str, NpuOperator] = {
    "npu_mla_prolog": NpuOperator(
        compute=_prolog_first,
        shapes=_prolog_first_shapes,
        kernels=_prolog_kernels("MlaProlog"),
        left_out=_SCALES,
        dtypes="bfloat16",
    ),
    "npu_mla_prolog_v2": NpuOperator(
        compute=_prolog_second,
        shapes=_prolog_second_shapes,
        kernels=_prolog_kernels("MlaPrologV2"),
        left_out=_SCALES,
        dtypes="bfloat16",
    ),
    "npu_mla_prolog_v3": NpuOperator(
        compute=_prolog_third,
        shapes=_prolog_third_shapes,
        kernels=_prolog_kernels("MlaPrologV3"),
        left_out=(*_SCALES, *_QUANTISATION),
        dtypes="bfloat16",
    ),
}
