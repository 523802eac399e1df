"""The kernel in front of latent attention, against the layers of a model that it stands for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from drynpu import CaptureError

Kernels = Callable[[Callable[[], object]], list[str]]
TOKENS, HEADS, HIDDEN, LATENT, TURNED, PLAIN, QUERY = 5, 3, 64, 32, 16, 8, 48
BLOCKS, SIZE = 3, 4
SLOTS = torch.tensor([7, 0, -1, 11, 2], dtype=torch.int32)


def _blocked(weight: Tensor, width: int) -> Tensor:
    """Return weights [columns, inner] in the layout NZ, as the engine packs them."""
    columns, inner = weight.shape
    return weight.reshape(columns, inner // width, width).permute(1, 0, 2).unsqueeze(0).contiguous()


def _halves(weight: Tensor) -> Tensor:
    """Return rows of weights whose last rows are turned in pairs, in an order in which halves are turned."""
    pairs = weight[..., -TURNED:, :]
    return torch.cat((weight[..., :-TURNED, :], pairs[..., ::2, :], pairs[..., 1::2, :]), -2)


def _turned_in_pairs(x: Tensor, angles: Tensor) -> Tensor:
    """Turn (even, odd) pairs as complex numbers; return the real parts, then the imaginary ones."""
    numbers = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2)) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((numbers.real, numbers.imag), -1)


def _rms(x: Tensor, gamma: Tensor) -> Tensor:
    return torch.nn.functional.rms_norm(x, gamma.shape, gamma, 1e-6)


@pytest.fixture
def layers() -> dict[str, Tensor]:
    """The weights of a model, [columns, inner] as its layers have them."""
    torch.manual_seed(3)
    return {
        "x": torch.randn(TOKENS, HIDDEN),
        "down_q": torch.randn(QUERY, HIDDEN) / 8,
        "down_kv": torch.randn(LATENT + TURNED, HIDDEN) / 8,
        "up_q": torch.randn(HEADS * (PLAIN + TURNED), QUERY) / 7,
        "absorb": torch.randn(HEADS, PLAIN, LATENT),
        "gamma_q": torch.rand(QUERY) + 0.5,
        "gamma_kv": torch.rand(LATENT) + 0.5,
        "angles": torch.rand(TOKENS, TURNED // 2) * 6,
    }


def _expected(w: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    query = _rms(w["x"] @ w["down_q"].T, w["gamma_q"])
    heads = (query @ w["up_q"].T).view(TOKENS, HEADS, PLAIN + TURNED)
    latent = w["x"] @ w["down_kv"].T
    absorbed = torch.stack([heads[:, head, :PLAIN] @ w["absorb"][head] for head in range(HEADS)], 1)
    turned = _turned_in_pairs(heads[..., PLAIN:].contiguous(), w["angles"].unsqueeze(1))
    key = _turned_in_pairs(latent[:, LATENT:].contiguous(), w["angles"])
    return absorbed, turned, _rms(latent[:, :LATENT], w["gamma_kv"]), key, query


def _call(operators: Any, w: dict[str, Tensor], mode: str, device: str, **others: Any) -> list[Tensor]:
    down = torch.cat((_halves(w["down_kv"]), w["down_q"]))
    up = _halves(w["up_q"].view(HEADS, PLAIN + TURNED, QUERY)).reshape(-1, QUERY)
    angles = torch.cat((w["angles"], w["angles"]), -1)
    caches = [torch.full((BLOCKS, SIZE, 1, width), 9.0) for width in (LATENT, TURNED)]
    outputs = [torch.zeros(TOKENS, HEADS, width) for width in (LATENT, TURNED)]
    q_out0, q_out1, cache, rotated, inner = (t.to(device) for t in (*outputs, *caches, torch.zeros(TOKENS, QUERY)))
    plain = dict.fromkeys(("descale0", "beta1", "descale1", "quant_scale0", "quant_offset0", "bias0"))
    options = {**plain, **dict.fromkeys(("quant_scale1", "quant_offset1", "bias1", "ctkv_scale", "q_nope_scale"))}
    options |= {"quant_mode": "no_quant", "cache_mode": mode, "enable_inner_out": True, **others}
    tensors = {
        "hiddenState": w["x"],
        "wdqkv": options.pop("wdqkv", _blocked(down, 16)),
        "gamma1": w["gamma_q"],
        "wuq": options.pop("wuq", _blocked(up, 16)),
        "gamma2": w["gamma_kv"],
        "cos": angles.cos(),
        "sin": angles.sin(),
        "wuk": w["absorb"],
        "slotmapping": SLOTS,
    }
    placed = {name: v.to(device) if isinstance(v, Tensor) else v for name, v in {**tensors, **options}.items()}
    operators.mla_preprocess(
        **placed, kv_cache=cache, kv_cache_rope=rotated, q_out0=q_out0, kv_cache_out0=cache, q_out1=q_out1,
        kv_cache_out1=rotated, inner_out=inner,
    )  # fmt: skip
    return [q_out0, q_out1, cache, rotated, inner]


@pytest.mark.parametrize("mode", ["krope_ctkv", "nzcache"])
def test_it_is_the_layers_of_the_model_and_writes_the_slots_of_the_tokens(
    operators: Any, layers: dict[str, Tensor], mode: str
) -> None:
    absorbed, turned, latent, key, query = _expected(layers)
    q_out0, q_out1, cache, rotated, inner = (t.cpu() for t in _call(operators, layers, mode, "npu"))
    for result, wanted in ((q_out0, absorbed), (q_out1, turned), (inner, query)):
        torch.testing.assert_close(result, wanted, rtol=1e-4, atol=1e-4)
    for memory, rows in ((cache, latent), (rotated, key)):
        if mode == "nzcache":  # [blocks, width / 16, rows, 16] in memory, whatever its shape says
            memory = memory.view(BLOCKS, -1, SIZE, 16).permute(0, 2, 1, 3)
        flat = memory.reshape(BLOCKS * SIZE, -1)
        for token, slot in enumerate(SLOTS.tolist()):
            if slot >= 0:
                torch.testing.assert_close(flat[slot], rows[token], rtol=1e-4, atol=1e-4)
        untouched = [slot for slot in range(BLOCKS * SIZE) if slot not in SLOTS.tolist()]
        assert (flat[untouched] == 9).all()


def test_integers_are_multiplied_with_the_scales_and_offsets_of_the_layers(
    operators: Any, layers: dict[str, Tensor]
) -> None:
    numbers = {"0": (LATENT + TURNED + QUERY, HIDDEN), "1": (HEADS * (PLAIN + TURNED), QUERY)}
    options: dict[str, Any] = {"quant_mode": "per_tensor_quant_asymm"}
    weights = {}
    for number, (columns, inner) in numbers.items():
        weights[number] = torch.randint(-9, 9, (columns, inner), dtype=torch.int8)
        options[f"quant_scale{number}"] = torch.tensor([0.05])
        options[f"quant_offset{number}"] = torch.tensor([3], dtype=torch.int8)
        options[f"bias{number}"] = torch.randint(-50, 50, (columns,), dtype=torch.int32)
        options[f"descale{number}"] = torch.rand(columns) / 900
    beta = torch.randn(QUERY) / 9
    options |= {"wdqkv": _blocked(weights["0"], 16), "wuq": _blocked(weights["1"], 16), "beta1": beta}
    q_out0, _, _, _, inner = (t.cpu() for t in _call(operators, layers, "krope_ctkv", "npu", **options))

    def layer(x: Tensor, number: str) -> Tensor:
        whole = torch.clamp(torch.round(x / 0.05 + 3), -128, 127).int() @ weights[number].int().T
        return (whole + options[f"bias{number}"]) * options[f"descale{number}"]

    down = layer(layers["x"], "0")
    query = _rms(down[:, LATENT + TURNED :], layers["gamma_q"]) + beta
    torch.testing.assert_close(inner, query, rtol=1e-4, atol=1e-4)
    heads = layer(query, "1").view(TOKENS, HEADS, -1)
    wanted = torch.einsum("thp,hpl->thl", heads[..., :PLAIN], layers["absorb"])
    # A number on the edge between two integers may fall on either side.
    torch.testing.assert_close(q_out0, wanted, rtol=0.02, atol=0.02)


def test_it_is_one_kernel_has_shapes_without_values_and_names_what_it_refuses(
    operators: Any, layers: dict[str, Tensor], kernel_types: Kernels
) -> None:
    assert kernel_types(lambda: _call(operators, layers, "krope_ctkv", "npu")).count("mla_preprocess") == 1
    without = _call(operators, layers, "krope_ctkv", "meta")
    assert [tuple(t.shape) for t in without][:2] == [(TOKENS, HEADS, LATENT), (TOKENS, HEADS, TURNED)]
    with pytest.raises(CaptureError, match=r"mla_preprocess: drynpu does not compute cache_mode=kvcache"):
        _call(operators, layers, "kvcache", "npu")


def test_products_of_a_batch_come_with_rows_first(operators: Any, kernel_types: Kernels) -> None:
    rows, weights = torch.randn(6, 3, 8), torch.randn(3, 8, 5)
    output = torch.zeros(6, 3, 5).npu()
    assert kernel_types(lambda: operators.batch_matmul_transpose(rows.npu(), weights.npu(), output)) == [
        "batch_matmul_transpose"
    ]
    torch.testing.assert_close(output.cpu(), torch.bmm(rows.transpose(0, 1), weights).transpose(0, 1))
