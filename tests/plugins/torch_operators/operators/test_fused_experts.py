"""Grouped products with what comes behind them, against loops over the groups in FP64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
SIZES = [3, 0, 4]


def _silu(x: torch.Tensor) -> torch.Tensor:
    return x / (1 + (-x).exp())


def _products(x: torch.Tensor, weight: torch.Tensor, scale: torch.Tensor, rows: torch.Tensor) -> torch.Tensor:
    parts, begin = [], 0
    for group, size in enumerate(SIZES):
        part = slice(begin, begin + size)
        parts.append(
            x[part].double() @ weight[group].double() * scale[group].double() * rows[part].double().unsqueeze(1)
        )
        begin += size
    return torch.cat(parts)


def _int8(*shape: int) -> torch.Tensor:
    return torch.randint(-100, 100, shape, dtype=torch.int8)


def _by_row(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scale = x.abs().amax(-1) / 127
    return (x / scale.unsqueeze(-1)).round(), scale


def _near(found: torch.Tensor, wanted: torch.Tensor) -> None:
    """Compare quantised numbers; FP32 may round half-way ones to the other side."""
    assert (found.double() - wanted).abs().max() <= 1
    assert (found.double() != wanted).double().mean() < 0.05


@pytest.mark.parametrize("counts", [False, True])
def test_gated_products_are_quantised(kernels: Check, counts: bool) -> None:
    torch.manual_seed(1)
    x, weight = _int8(9, 6), _int8(3, 6, 8)
    scale, rows = torch.rand(3, 8) / 50, torch.rand(9) / 50
    groups = torch.tensor(SIZES if counts else [3, 3, 7])
    first, second = _products(x, weight, scale, rows).chunk(2, -1)
    values, scales = _by_row(_silu(first) * second)
    found: list[Any] = []
    if counts:
        call = (x, [weight], [scale], rows, groups)
        launched = kernels(lambda: found.extend(npu.npu_grouped_matmul_swiglu_quant_v2(*call, group_list_type=1)))
    else:
        launched = kernels(lambda: found.extend(npu.npu_grouped_matmul_swiglu_quant(x, weight, groups, scale, rows)))
    _near(found[0][:7], values)
    torch.testing.assert_close(found[1][:7].double(), scales, rtol=1e-5, atol=0)
    assert found[0][7:].abs().sum() == 0  # rows behind the last group
    (kernel,) = launched
    assert kernel.op_type == f"GroupedMatmulSwigluQuant{'V2' * counts}"
    assert kernel.cube_flops == 2 * 7 * 6 * 8
    others = x.nbytes + scale.nbytes + rows.nbytes + groups.nbytes
    assert kernel.bytes_read == others + 2 * 6 * 8  # the weights of the group without rows are not read


def test_gated_products_with_smooth_scales() -> None:
    torch.manual_seed(2)
    x, weight = _int8(7, 6), _int8(3, 6, 8)
    scale, rows, smooth = torch.rand(3, 8) / 50, torch.rand(7) / 50, torch.rand(3, 4)
    first, second = _products(x, weight, scale, rows).chunk(2, -1)
    groups = torch.arange(3).repeat_interleave(torch.tensor(SIZES))
    values, scales = _by_row(_silu(first) * second * smooth[groups].double())
    options = {"smooth_scale": smooth, "group_list_type": 1}
    found = npu.npu_grouped_matmul_swiglu_quant_v2(x, [weight], [scale], rows, torch.tensor(SIZES), **options)
    _near(found[0], values)
    torch.testing.assert_close(found[1].double(), scales, rtol=1e-5, atol=0)
    same = npu.npu_grouped_matmul_swiglu_quant_v2(
        x, [weight], [scale], rows, torch.tensor(SIZES), dequant_dtype=torch.float32, **options
    )
    assert torch.equal(same[0], found[0])
    with pytest.raises(RuntimeError, match="in FP32 behind the product, not in type number 15"):
        npu.npu_grouped_matmul_swiglu_quant_v2(
            x, [weight], [scale], rows, torch.tensor(SIZES), dequant_dtype=torch.bfloat16, **options
        )
    with pytest.raises(RuntimeError, match="weights in INT8 and a scale for each channel"):
        npu.npu_grouped_matmul_swiglu_quant_v2(x, [weight.half()], [scale], rows, torch.tensor(SIZES))


@pytest.mark.parametrize("quantised", [True, False])
def test_results_of_experts_are_summed(check: Check, quantised: bool) -> None:
    torch.manual_seed(3)
    x = _int8(7, 6) if quantised else torch.randn(7, 6).half()
    weight = _int8(3, 6, 8) if quantised else torch.randn(3, 6, 8).half()
    scale = torch.rand(3, 1, 8) / 50 if quantised else None
    rows = torch.rand(7) / 50 if quantised else None
    logit, places, shared = torch.rand(7), torch.tensor([0, 3, 1, 3, 0, 2, 1]), torch.randn(2, 8).bfloat16()
    one, other = torch.ones(3, 1, 8) if scale is None else scale, torch.ones(7) if rows is None else rows
    parts = _products(x, weight, one, other) * logit.double().unsqueeze(1)
    expected = torch.zeros(4, 8, dtype=torch.double)
    for row, place in enumerate(places.tolist()):
        expected[place] += parts[row]
    expected[1:3] += 0.5 * shared.double()
    options = {"scale": scale, "pertoken_scale": rows, "logit": logit, "row_index": places, "shared_input": shared}
    options |= {"shared_input_weight": 0.5, "shared_input_offset": 1, "output_bs": 4}
    (kernel,) = check(
        "npu_grouped_matmul_finalize_routing",
        (x, weight, torch.tensor(SIZES)),
        expected,
        **{name: value for name, value in options.items() if value is not None},
    )
    assert kernel.op_type == "GroupedMatmulFinalizeRouting"
    assert kernel.cube_flops == 2 * 7 * 6 * 8


@pytest.mark.parametrize("grouped", [False, True])
def test_rows_are_quantised_for_the_product(check: Check, grouped: bool) -> None:
    torch.manual_seed(4)
    x, smooth = torch.randn(7, 6).half(), torch.rand(6).half()
    weight, scale = _int8(3, 8, 6), torch.rand(3, 8) / 50
    smoothed = x.double() * smooth.double()
    values, rows = _by_row(smoothed)
    if grouped:
        expected = _products(values, weight.transpose(1, 2), scale, rows)
        call = (x, weight, scale, torch.tensor([3, 3, 7]))
        (kernel,) = check("npu_quant_grouped_matmul_dequant", call, expected, smooth_scale=smooth, tolerance=0.01)
        assert kernel.op_type == "QuantGroupedMatmulDequant"
        return
    expected = values @ weight[0].double().t() * rows.unsqueeze(1) * scale[0].double()
    (kernel,) = check(
        "npu_quant_matmul_dequant", (x, weight[0], scale[0]), expected, smooth_scale=smooth, tolerance=0.01
    )
    assert (kernel.op_type, kernel.cube_flops) == ("QuantMatmulDequant", 2 * 7 * 6 * 8)
    with pytest.raises(RuntimeError, match="quant_mode should be pertoken or pertensor, but got rows"):
        npu.npu_quant_matmul_dequant(x, weight[0], scale[0], quant_mode="rows")


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("mode", [0, 1])
def test_sums_are_scaled_gated_and_quantised(left: bool, mode: int) -> None:
    torch.manual_seed(5)
    x, scale = torch.randint(-5000, 5000, (7, 8), dtype=torch.int32), torch.rand(3, 8) / 500
    rows, smooth = torch.rand(7), torch.rand(3, 4)
    groups = torch.arange(3).repeat_interleave(torch.tensor(SIZES))
    wide = x.double() * scale[groups].double() * rows.double().unsqueeze(1)
    first, second = wide.chunk(2, -1)
    gated = _silu(first) * second if left else _silu(second) * first
    if mode == 1:
        gate, linear = wide[:, ::2].clamp(max=3.0), wide[:, 1::2].clamp(-3.0, 3.0)
        gated = gate / (1 + (-1.5 * gate).exp()) * (linear + 0.5)
    values, scales = _by_row(gated * smooth[groups].double())
    options: dict[str, Any] = {"weight_scale": scale, "activation_scale": rows, "quant_scale": smooth}
    options |= {"group_index": torch.tensor(SIZES), "activate_left": left, "quant_mode": 1, "swiglu_mode": mode}
    found = npu.npu_dequant_swiglu_quant(x, **options, clamp_limit=3.0, glu_alpha=1.5, glu_bias=0.5)
    _near(found[0], values)
    torch.testing.assert_close(found[1].double(), scales, rtol=1e-5, atol=0)


def test_static_scales_and_a_bias(kernels: Check) -> None:
    torch.manual_seed(6)
    x, bias = torch.randint(-5000, 5000, (2, 3, 8), dtype=torch.int32), torch.randint(-99, 99, (8,), dtype=torch.int32)
    scale, fixed, offset = torch.rand(1, 8) / 500, torch.rand(1, 4) * 9, torch.rand(1, 4)
    wide = (x.double() + bias) * scale.double()
    first, second = wide.chunk(2, -1)
    values = (_silu(second) * first * fixed.double() + offset.double()).round().clamp(-128, 127)
    options = {"weight_scale": scale, "bias": bias, "quant_scale": fixed, "quant_offset": offset}
    found: list[Any] = []
    (kernel,) = kernels(lambda: found.extend(npu.npu_dequant_swiglu_quant(x, **options)))
    _near(found[0], values)
    assert (kernel.op_type, found[0].shape, found[1].shape) == ("DequantSwigluQuant", (2, 3, 4), (2, 3))


def test_dequantised_sums(check: Check) -> None:
    x, scale = torch.randint(-5000, 5000, (3, 8), dtype=torch.int32), torch.rand(8) / 500
    rows, whole, half = torch.rand(3), torch.randint(-99, 99, (8,), dtype=torch.int32), torch.rand(8).half()
    expected = (x.double() + whole) * scale.double() * rows.double().unsqueeze(1)
    check("npu_dequant_bias", (x, scale, rows, whole), expected, output_dtype=torch.bfloat16)
    check("npu_dequant_bias", (x, scale, None, half), x.double() * scale.double() + half.double())
    with pytest.raises(RuntimeError, match="Only supported output_dtype is float16 and bfloat16"):
        npu.npu_dequant_bias(x, scale, None, None, output_dtype=torch.float32)


ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "relu": lambda x: x.clamp(min=0),
    "silu": _silu,
    "gelu": lambda x: x * (1 + torch.erf(x / 2**0.5)) / 2,
    "fastgelu": lambda x: x / (1 + (-1.702 * x).exp()),
    "swiglu": lambda x: _silu(x[..., :8]) * x[..., 8:],
    "reglu": lambda x: x[..., :8].clamp(min=0) * x[..., 8:],
    "geglu": lambda x: x[..., :8] * (x[..., 8:] * (1 + torch.erf(x[..., 8:] / 2**0.5)) / 2),
}


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_two_products(check: Check, activation: str) -> None:
    torch.manual_seed(7)
    width = 16 if activation.endswith("glu") else 8
    x, first, second = torch.randn(7, 6), torch.randn(3, 6, width), torch.randn(3, 8, 5)
    biases = torch.randn(3, width), torch.randn(3, 5)
    parts, begin = [], 0
    for group, size in enumerate(SIZES):
        hidden = x[begin : begin + size].double() @ first[group].double() + biases[0][group].double()
        parts.append(ACTIVATIONS[activation](hidden) @ second[group].double() + biases[1][group].double())
        begin += size
    options = {"bias1": biases[0], "bias2": biases[1]}
    call = (x, first, second, activation)
    (kernel,) = check("npu_ffn", call, torch.cat(parts), expert_tokens=SIZES, **options)
    check("npu_ffn", call, torch.cat(parts), expert_tokens_index=[3, 3, 7], **options)
    assert (kernel.op_type, kernel.cube_flops) == ("FFN", 2 * 7 * (6 * width + 8 * 5))
    with pytest.raises(RuntimeError, match="activation should be one of relu, .* but got tanh"):
        npu.npu_ffn(x, first[0], second[0], "tanh")
