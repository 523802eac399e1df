"""Multi-head latent attention: rows of the caches and queries against loops over tokens in FP64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from drynpu.kernels import TaskType

npu = torch.ops.npu
Check = Callable[..., Any]
NORMAL, ROPE, BLOCK = 32, 64, 4


def _norm(row: torch.Tensor, gamma: torch.Tensor, epsilon: float) -> torch.Tensor:
    row = row.double()
    return row / (row.square().mean() + epsilon).sqrt() * gamma.double()


def _rope(row: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    """Rotate pairs: the first numbers of all pairs stand before the second ones in the result."""
    half, out = row.shape[0] // 2, torch.zeros(row.shape[0], dtype=torch.double)
    for i in range(half):
        first, second = row[2 * i].double(), row[2 * i + 1].double()
        out[i] = first * cos[i].double() - second * sin[i].double()
        out[i + half] = second * cos[i + half].double() + first * sin[i + half].double()
    return out


def _inputs(tokens: int) -> dict[str, torch.Tensor]:
    torch.manual_seed(tokens)
    shapes = {
        "kv": (2, 1, tokens, NORMAL + ROPE),
        "gamma": (NORMAL,),
        "cos": (2, 1, tokens, ROPE),
        "sin": (2, 1, tokens, ROPE),
    }
    return {name: torch.randn(shape) for name, shape in shapes.items()}


def _rows(x: dict[str, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the rotated and the normalised rows, [batch, tokens, width]."""
    places = [(b, t) for b in range(2) for t in range(x["kv"].shape[2])]
    ropes = [_rope(x["kv"][b, 0, t, NORMAL:], x["cos"][b, 0, t], x["sin"][b, 0, t]) for b, t in places]
    norms = [_norm(x["kv"][b, 0, t, :NORMAL], x["gamma"], 1e-5) for b, t in places]
    return torch.stack(ropes).reshape(2, -1, ROPE), torch.stack(norms).reshape(2, -1, NORMAL)


def _write(mode: str, index: torch.Tensor, rows: torch.Tensor, cache: torch.Tensor) -> torch.Tensor:
    """Return the cache after its rows were written one by one."""
    cache, inner = cache.clone(), 32 // cache.element_size()
    for b in range(2):
        for t, row in enumerate(rows[b]):
            if mode == "Norm":
                cache[b, 0, int(index[b, t])] = row
                continue
            blocks = -(-rows.shape[1] // BLOCK)
            slot = (
                int(index[b * blocks + t // BLOCK]) + t % BLOCK if "BLK" in mode else int(index[b * rows.shape[1] + t])
            )
            if int(index[b * blocks + t // BLOCK] if "BLK" in mode else slot) < 0:
                continue
            if mode.endswith("NZ"):
                view = cache.view(cache.shape[0], -1, BLOCK, inner)
                view[slot // BLOCK, :, slot % BLOCK] = row.reshape(-1, inner).to(cache.dtype)
            else:
                cache[slot // BLOCK, slot % BLOCK, 0] = row.to(cache.dtype)
    return cache


INDICES = {
    "Norm": torch.tensor([[4, 0, 2, 1, 3, 6], [5, 3, 4, 2, 0, 1]]),
    "PA": torch.tensor([3, 15, -1, 4, 0, 8, 9, 10, 11, 12, 1, 2]),
    "PA_BNSD": torch.tensor([3, 15, -1, 4, 0, 8, 9, 10, 11, 12, 1, 2]),
    "PA_NZ": torch.tensor([3, 15, -1, 4, 0, 8, 9, 10, 11, 12, 1, 2]),
    "PA_BLK_BNSD": torch.tensor([8, 0, 12, -1]),
    "PA_BLK_NZ": torch.tensor([8, 0, 12, -1]),
}


@pytest.mark.parametrize("mode", INDICES)
def test_rows_of_both_caches(check: Check, mode: str) -> None:
    x, index = _inputs(6), INDICES[mode]
    lead = (2, 1, 8) if mode == "Norm" else (4, BLOCK, 1)
    caches = torch.full((*lead, ROPE), 9.0), torch.full((*lead, NORMAL), 9.0)
    ropes, norms = _rows(x)
    expected = [_write(mode, index, rows, cache) for rows, cache in zip((ropes, norms), caches, strict=True)]
    (kernel,) = check(
        "npu_kv_rmsnorm_rope_cache",
        (*x.values(), index, *caches),
        (*expected, ropes.unsqueeze(1), norms.unsqueeze(1)),
        cache_mode=mode,
        is_output_kv=True,
    )
    assert (kernel.op_type, kernel.task_type) == ("KvRmsNormRopeCache", TaskType.AI_VECTOR_CORE)
    assert kernel.bytes_written == 2 * x["kv"].nbytes


def test_quantised_caches_and_the_other_forms(kernels: Check) -> None:
    x, index = _inputs(6), INDICES["PA_NZ"]
    ropes, norms = _rows(x)
    scales = torch.rand(ROPE) * 20, torch.rand(NORMAL) * 20
    offset = torch.full((NORMAL,), 3.0)
    caches = torch.zeros(4, BLOCK, 1, ROPE, dtype=torch.int8), torch.zeros(4, BLOCK, 1, NORMAL, dtype=torch.int8)
    rounded = [
        (ropes * scales[0].double()).round().clamp(-128, 127),
        (norms * scales[1].double() + 3).round().clamp(-128, 127),
    ]
    expected = [_write("PA_NZ", index, rows, cache) for rows, cache in zip(rounded, caches, strict=True)]
    options: dict[str, Any] = {"k_rope_scale": scales[0], "c_kv_scale": scales[1], "c_kv_offset": offset}
    options |= {"cache_mode": "PA_NZ"}
    found = npu.npu_kv_rmsnorm_rope_cache_v2_functional(*x.values(), index, *caches, **options)
    assert all(not cache.any() for cache in caches)
    # Half-way values may round either way in FP32.
    assert all((one.int() - other.int()).abs().max() <= 1 for one, other in zip(found[:2], expected, strict=True))
    assert found[2].abs().sum() == 0  # rows are returned only where they are asked for
    (kernel,) = kernels(lambda: npu.npu_kv_rmsnorm_rope_cache_v2(*x.values(), index, *caches, **options))
    assert all(torch.equal(one, other) for one, other in zip(caches, found[:2], strict=True))
    assert kernel.bytes_written == x["kv"].nbytes


def test_values_of_their_own() -> None:
    torch.manual_seed(5)
    kv, gamma, v = torch.randn(1, 1, 2, 80), torch.randn(80), torch.randn(1, 1, 2, 16)
    cos, sin = torch.randn(1, 1, 2, ROPE), torch.randn(1, 1, 2, ROPE)
    caches = torch.zeros(1, BLOCK, 1, 80), torch.zeros(1, BLOCK, 1, 16)
    index = torch.tensor([2, 0])
    npu.npu_kv_rmsnorm_rope_cache(kv, gamma, cos, sin, index, *caches, v=v, cache_mode="PA")
    for token, slot in enumerate((2, 0)):
        normed = _norm(kv[0, 0, token], gamma, 1e-5)
        row = torch.cat((_rope(normed[:ROPE], cos[0, 0, token], sin[0, 0, token]), normed[ROPE:]))
        torch.testing.assert_close(caches[0][0, slot, 0].double(), row, rtol=0, atol=1e-5)
        assert torch.equal(caches[1][0, slot, 0], v[0, 0, token])


MISUSE = [
    ({"kv": torch.ones(2, 3)}, "4D tensor expected for input kv"),
    ({"gamma": torch.ones(2, 3)}, "1D tensor expected for input gamma"),
    ({"cos": torch.ones(2, 3)}, "4D tensor expected for input cos"),
]


@pytest.mark.parametrize(("change", "text"), MISUSE)
def test_misuse(change: dict[str, torch.Tensor], text: str) -> None:
    caches = torch.zeros(4, BLOCK, 1, ROPE), torch.zeros(4, BLOCK, 1, NORMAL)
    with pytest.raises(RuntimeError, match=text):
        npu.npu_kv_rmsnorm_rope_cache(*(_inputs(6) | change).values(), INDICES["PA"], *caches, cache_mode="PA")
    with pytest.raises(RuntimeError, match="cache_mode should be one of Norm, PA, .* but got pages"):
        npu.npu_kv_rmsnorm_rope_cache(*_inputs(6).values(), INDICES["PA"], *caches, cache_mode="pages")


def _prolog_inputs(dtype: torch.dtype) -> dict[str, torch.Tensor]:
    torch.manual_seed(8)
    shapes = {
        "token_x": (3, 10),
        "weight_dq": (10, 6),
        "weight_uq_qr": (6, 2 * (5 + 4)),
        "weight_uk": (2, 5, 8),
        "weight_dkv_kr": (10, 8 + 4),
        "rmsnorm_gamma_cq": (6,),
        "rmsnorm_gamma_ckv": (8,),
        "rope_sin": (3, 4),
        "rope_cos": (3, 4),
    }
    return {name: torch.randn(shape).to(dtype) for name, shape in shapes.items()}


def _prolog(x: dict[str, torch.Tensor], scales: tuple[float, float]) -> dict[str, torch.Tensor]:
    wide = {name: tensor.double() for name, tensor in x.items()}
    found: dict[str, list[torch.Tensor]] = {name: [] for name in ("query", "rope", "latent", "kv", "kr")}
    for t, token in enumerate(wide["token_x"]):
        cos, sin = wide["rope_cos"][t], wide["rope_sin"][t]
        latent = _norm(token @ wide["weight_dq"], wide["rmsnorm_gamma_cq"], 1e-5) * scales[0]
        up = (latent @ wide["weight_uq_qr"]).reshape(2, 9)
        found["latent"].append(latent)
        found["query"].append(torch.stack([up[n, :5] @ wide["weight_uk"][n] for n in range(2)]))
        found["rope"].append(torch.stack([_rope(up[n, 5:], cos, sin) for n in range(2)]))
        shared = token @ wide["weight_dkv_kr"]
        found["kv"].append(_norm(shared[:8], wide["rmsnorm_gamma_ckv"], 1e-5) * scales[1])
        found["kr"].append(_rope(shared[8:], cos, sin))
    return {name: torch.stack(rows) for name, rows in found.items()}


def _caches(rows: dict[str, torch.Tensor], index: list[int]) -> list[torch.Tensor]:
    caches = [torch.zeros(2, BLOCK, 1, width, dtype=torch.double) for width in (8, 4)]
    for token, slot in enumerate(index):
        for cache, name in zip(caches, ("kv", "kr"), strict=True):
            cache[slot // BLOCK, slot % BLOCK, 0] = rows[name][token]
    return caches


def test_prolog(check: Check, kernels: Check) -> None:
    x = _prolog_inputs(torch.float32)
    rows = _prolog(x, (1.0, 1.0))
    caches = [torch.zeros(2, BLOCK, 1, width) for width in (8, 4)]
    index = torch.tensor([6, 0, 3])
    expected = (rows["query"], rows["rope"], *_caches(rows, [6, 0, 3]))
    (kernel,) = check("npu_mla_prolog", (*x.values(), index, *caches), expected)
    assert kernel.op_type == "MlaProlog"
    assert kernel.cube_flops == 2 * 3 * (10 * 6 + 6 * 18 + 10 * 12 + 2 * 5 * 8)
    (second,) = check("npu_mla_prolog_v2", (*x.values(), index, *caches), (*expected, (torch.float32, (1,))))
    assert second.op_type == "MlaPrologV2"


def test_third_prolog_scales_and_returns_the_latent_queries() -> None:
    x = _prolog_inputs(torch.float32)
    rows = _prolog(x, (2.0, 0.5))
    caches = [torch.zeros(2, BLOCK, 1, width) for width in (8, 4)]
    options = {"cache_index": torch.tensor([6, 0, 3]), "query_norm_flag": True, "qc_qr_scale": 2.0, "kc_scale": 0.5}
    query, rope, _, latent, _ = npu.npu_mla_prolog_v3(*x.values(), *caches, **options)
    found = (query, rope, latent, *caches)
    for one, other in zip(found, (rows["query"], rows["rope"], rows["latent"], *_caches(rows, [6, 0, 3])), strict=True):
        torch.testing.assert_close(one.double(), other, rtol=0, atol=2e-5)
    with pytest.raises(RuntimeError, match="does not compute the argument weight_quant_mode"):
        npu.npu_mla_prolog_v3(*x.values(), *caches, weight_quant_mode=2, **options)


def test_prolog_of_a_batch_equals_its_tokens() -> None:
    x = _prolog_inputs(torch.bfloat16)
    index = torch.tensor([6, 0, 3])
    flat = [torch.zeros(2, BLOCK, 1, width, dtype=torch.bfloat16) for width in (8, 4)]
    batched = [cache.clone() for cache in flat]
    tokens = npu.npu_mla_prolog(*x.values(), index, *flat)
    per_token = ("token_x", "rope_sin", "rope_cos")
    y = {name: t.unsqueeze(1) if name in per_token else t for name, t in x.items()}
    found = npu.npu_mla_prolog(*y.values(), index.unsqueeze(1), *batched)
    assert found[0].shape == (3, 1, 2, 8)
    assert torch.equal(found[0].squeeze(1), tokens[0])
    assert all(torch.equal(one, other) for one, other in zip(flat, batched, strict=True))
