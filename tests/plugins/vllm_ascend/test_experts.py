"""Experts in one kernel against loops over rows and experts, as the vendor's page of the operator writes them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from drynpu import CaptureError

Kernels = Callable[[Callable[[], object]], list[str]]
EXPERTS, INNER, COLUMNS = 3, 16, 12
COUNTS = (2, 0, 3)
ROWS = sum(COUNTS) + 2


@pytest.fixture
def numbers() -> dict[str, Tensor]:
    torch.manual_seed(5)
    return {
        "x": torch.randint(-100, 100, (ROWS, INNER), dtype=torch.int8),
        "weight": torch.randint(-100, 100, (EXPERTS, INNER, COLUMNS), dtype=torch.int8),
        "weight_scale": torch.rand(EXPERTS, COLUMNS) / 100,
        "x_scale": torch.rand(ROWS) / 100,
    }


def _row(x: Tensor, weight: Tensor, scale: Tensor, step: float, limit: float) -> tuple[list[int], float]:
    """Return one row in INT8 and its scale: C = (X W) x_scale w_scale, S = swish(C_act) gate, Q = round(S / scale)."""
    c = [sum(int(x[k]) * int(weight[k, n]) for k in range(INNER)) * step * float(scale[n]) for n in range(COLUMNS)]
    s = []
    for act, gate in zip(c[: COLUMNS // 2], c[COLUMNS // 2 :], strict=True):
        if limit:
            act, gate = min(act, limit), max(-limit, min(gate, limit))
        s.append(act / (1 + math.exp(-act)) * gate)
    q_scale = max(map(abs, s)) / 127
    return [round(each / q_scale) for each in s], q_scale


def _check(values: Tensor, steps: Tensor, numbers: dict[str, Tensor], limit: float) -> None:
    experts = [expert for expert, count in enumerate(COUNTS) for _ in range(count)]
    for row, expert in enumerate(experts):
        x, step = numbers["x"][row], float(numbers["x_scale"][row])
        wanted, scale = _row(x, numbers["weight"][expert], numbers["weight_scale"][expert], step, limit)
        assert float(steps[row]) == pytest.approx(scale, rel=1e-4)
        # A number on the edge between two integers may fall on either side.
        assert max(abs(a - b) for a, b in zip(values[row].tolist(), wanted, strict=True)) <= 1


NAMES = ("", "_weight_nz", "_weight_nz_tensor_list", "_v2")
TYPES = ("", "", "WeightNzTensorList", "V2")


@pytest.mark.parametrize(("name", "kind"), [*zip(NAMES, TYPES, strict=True)])
@pytest.mark.parametrize("limit", [0.0, 0.02])
def test_rows_of_a_group_are_multiplied_gated_and_quantised(
    operators: Any, numbers: dict[str, Tensor], kernel_types: Kernels, name: str, kind: str, limit: float
) -> None:
    operator = getattr(operators, f"grouped_matmul_swiglu_quant{name}")
    x, weight, scale, step = (numbers[key].npu() for key in ("x", "weight", "weight_scale", "x_scale"))
    groups = torch.tensor(COUNTS)
    if name == "_v2":
        call = lambda: operator(x, [weight], [scale], step, groups.npu(), group_list_type=1, swiglu_limit=limit)  # noqa: E731
    else:
        lists = name.endswith("list")
        weights, scales = (list(weight), list(scale)) if lists else (weight, scale)
        call = lambda: operator(x, weights, scales, step, groups.cumsum(0).npu(), swiglu_limit=limit)  # noqa: E731
    values, steps, *offset = call()
    _check(values.cpu(), steps.cpu(), numbers, limit)
    assert [tuple(t.shape) for t in offset] == {"_v2": [], "_weight_nz_tensor_list": [(ROWS,)]}.get(name, [()])
    assert kernel_types(call).count(f"GroupedMatmulSwigluQuant{kind}") == 1


def test_shapes_are_known_without_values_and_other_numbers_are_refused(
    operators: Any, numbers: dict[str, Tensor]
) -> None:
    meta = {key: value.to("meta") for key, value in numbers.items()}
    groups = torch.tensor(COUNTS, device="meta")
    values, steps, _ = operators.grouped_matmul_swiglu_quant_weight_nz(**meta, group_list=groups)
    assert (values.shape, values.dtype, steps.shape) == ((ROWS, COLUMNS // 2), torch.int8, (ROWS,))
    packed = numbers["weight"].int().npu()
    others = {key: value.npu() for key, value in numbers.items() if key != "weight"}
    with pytest.raises(CaptureError, match=r"grouped_matmul_swiglu_quant: drynpu computes weights in INT8"):
        operators.grouped_matmul_swiglu_quant(weight=packed, **others, group_list=torch.tensor(COUNTS).npu())


CHOSEN = torch.tensor([[0, 2], [2, 1], [1, 0], [0, 1]], dtype=torch.int32)


def _combined(operators: Any, tensors: dict[str, Any], x: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    out, counts = torch.full_like(x, 7).npu(), torch.zeros(1, EXPERTS, dtype=torch.int32).npu()
    placed = {k: [t.npu() for t in v] if isinstance(v, list) else v.npu() for k, v in tensors.items()}
    operators.dispatch_ffn_combine(
        x.npu(), **placed, bias1=[], bias2=[], group="", max_output_size=64, out=out, expert_token_nums=counts,
        x_active_mask=None if mask is None else mask.npu(),
    )  # fmt: skip
    return out.cpu(), counts.cpu()


@pytest.mark.parametrize("masked", [False, True])
def test_the_experts_of_each_token_are_summed_with_their_weights(
    operators: Any, kernel_types: Kernels, masked: bool
) -> None:
    torch.manual_seed(6)
    x, probs = torch.randn(4, INNER), torch.rand(4, 2)
    up, down = torch.randn(EXPERTS, INNER, COLUMNS) / 4, torch.randn(EXPERTS, COLUMNS // 2, INNER) / 3
    mask = torch.tensor([True, True, False, True]) if masked else None
    tensors: dict[str, Any] = {"weight1": [up], "weight2": [down], "expert_idx": CHOSEN, "probs": probs}
    tensors |= {"scale1": [], "scale2": []}
    out, counts = _combined(operators, tensors, x, mask)
    active = [token for token in range(4) if mask is None or mask[token]]
    for token in active:
        wanted = torch.zeros(INNER)
        for place, expert in enumerate(CHOSEN[token].tolist()):
            gate, linear = (x[token] @ up[expert]).chunk(2)
            wanted += probs[token, place] * ((torch.nn.functional.silu(gate) * linear) @ down[expert])
        torch.testing.assert_close(out[token], wanted, rtol=1e-4, atol=1e-5)
    chosen = [expert for token in active for expert in CHOSEN[token].tolist()]
    assert counts.flatten().tolist() == [chosen.count(expert) for expert in range(EXPERTS)]
    types = kernel_types(lambda: _combined(operators, tensors, x, mask))
    assert types.count("DispatchFFNCombineBF16") == 1


def test_int8_experts_are_near_the_ones_that_they_stand_for(operators: Any, kernel_types: Kernels) -> None:
    torch.manual_seed(7)
    x, probs = torch.randn(4, INNER), torch.rand(4, 2)
    up, down = torch.randn(EXPERTS, INNER, COLUMNS) / 4, torch.randn(EXPERTS, COLUMNS // 2, INNER) / 3
    tensors: dict[str, Any] = {"weight1": [up], "weight2": [down], "expert_idx": CHOSEN, "probs": probs}
    wide, _ = _combined(operators, {**tensors, "scale1": [], "scale2": []}, x, None)
    for number, weight in (("1", up), ("2", down)):
        scale = weight.abs().amax(1) / 127
        tensors[f"scale{number}"] = list(scale.view(torch.int32).long())  # the bits of FP32 in INT64, as the engine has
        tensors[f"weight{number}"] = list((weight / scale.unsqueeze(1)).round().to(torch.int8))
    narrow, _ = _combined(operators, tensors, x, None)
    assert float((narrow - wide).abs().max()) < 0.03 * float(wide.abs().max())
    assert "DispatchFFNCombine" in kernel_types(lambda: _combined(operators, tensors, x, None))
