"""Operators of ``torch.ops._C_ascend`` against their formulas, on the npu and without values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

from drynpu_torch.device import state
from drynpu_vllm_ascend.served import ServedOperator, define

Kernels = Callable[[Callable[[], object]], list[str]]
ADAPTERS = torch.tensor([1, -1, 0, 1])


def test_a_sum_its_norm_and_the_bias_are_one_kernel(operators: Any, kernel_types: Kernels) -> None:
    x1, x2, gamma, beta = torch.randn(3, 16), torch.randn(3, 16), torch.rand(16), torch.randn(16)
    total = x1 + x2
    rstd = 1 / (total.square().mean(-1, keepdim=True) + 1e-5).sqrt()
    on_npu = [t.npu() for t in (x1, x2, gamma, beta)]
    results = operators.npu_add_rms_norm_bias(*on_npu, 1e-5)
    for result, wanted in zip(results, (total * rstd * gamma + beta, rstd, total), strict=True):
        torch.testing.assert_close(result.cpu(), wanted)
    assert kernel_types(lambda: operators.npu_add_rms_norm_bias(*on_npu, 1e-5)) == ["AddRmsNormBias"]
    without = operators.npu_add_rms_norm_bias(x1.to("meta"), x2.to("meta"), gamma.to("meta"))
    assert [tuple(t.shape) for t in without] == [(3, 16), (3, 1), (3, 16)]


def test_a_norm_is_quantised_by_the_largest_number_of_each_row(operators: Any, kernel_types: Kernels) -> None:
    x, gamma, smooth, beta = torch.randn(3, 16), torch.rand(16), torch.rand(16) + 0.5, torch.randn(16)
    on_npu = [t.npu() for t in (x, gamma, smooth, beta)]
    values, steps = (t.cpu() for t in operators.npu_rms_norm_dynamic_quant(*on_npu, 1e-5))
    wanted = (torch.nn.functional.rms_norm(x, (16,), gamma, 1e-5) + beta) * smooth
    assert values.dtype is torch.int8
    assert values.abs().amax(-1).tolist() == [127] * 3
    torch.testing.assert_close(values * steps.unsqueeze(-1), wanted, rtol=0, atol=float(wanted.abs().max()) / 250)
    torch.testing.assert_close(steps, wanted.abs().amax(-1) / 127)
    assert kernel_types(lambda: operators.npu_rms_norm_dynamic_quant(*on_npu)) == ["RmsNormDynamicQuant"]
    without = operators.npu_rms_norm_dynamic_quant(x.to("meta"), gamma.to("meta"))
    assert [(tuple(t.shape), t.dtype) for t in without] == [((3, 16), torch.int8), ((3,), torch.float32)]


@pytest.mark.parametrize(("sigmoid", "renorm"), [(0, 0), (0, 1), (1, 0)])
@pytest.mark.parametrize("groups", [1, 4])
def test_experts_are_the_best_of_the_best_groups(operators: Any, sigmoid: int, renorm: int, groups: int) -> None:
    x = torch.randn(5, 16)
    weights, experts, _ = operators.moe_gating_top_k(x.npu(), 3, 2, groups, 0, renorm, sigmoid, False, 2.5, 1e-20)
    for row, chosen, weight in zip(x, experts.tolist(), weights.cpu(), strict=True):
        scores = row.sigmoid() if sigmoid else row.softmax(-1)
        members = scores.view(groups, -1)
        allowed = members.amax(-1).topk(min(2, groups)).indices.tolist()
        width = members.shape[1]
        kept = [position for position in range(16) if position // width in allowed]
        best = sorted(kept, key=lambda position: -scores[position].item())[:3]
        assert chosen == best
        wanted = scores[best]
        wanted = wanted / wanted.sum() if sigmoid or renorm else wanted
        torch.testing.assert_close(weight, wanted * 2.5)


def test_each_row_is_multiplied_by_the_adapter_that_it_chooses(operators: Any, kernel_types: Kernels) -> None:
    x, down, up = torch.randn(4, 32).half(), torch.randn(2, 1, 8, 32).half(), torch.randn(2, 1, 16, 8).half()
    low, y = torch.zeros(4, 8), torch.randn(4, 24).half()
    low_npu, y_npu = low.npu(), y.npu()
    operators.bgmv_shrink(x.npu(), down.npu(), ADAPTERS.npu(), low_npu, 0.5)
    expanded = operators.bgmv_expand(low_npu, up.npu(), ADAPTERS.npu(), y_npu, 4, 16)
    for row, adapter in enumerate(ADAPTERS.tolist()):
        if adapter >= 0:
            low[row] = 0.5 * (x[row].float() @ down[adapter, 0].float().T)
            y[row, 4:20] = (y[row, 4:20].float() + low[row] @ up[adapter, 0].float().T).half()
    torch.testing.assert_close(low_npu.cpu(), low)
    torch.testing.assert_close(y_npu.cpu(), y)
    assert torch.equal(expanded.cpu(), y_npu.cpu())
    types = kernel_types(lambda: operators.bgmv_shrink(x.npu(), down.npu(), ADAPTERS.npu(), low_npu, 0.5))
    assert types.count("bgmv_shrink") == 1


def test_rows_of_a_sequence_share_its_adapter_and_rows_behind_have_none(operators: Any) -> None:
    x, down, lengths = torch.randn(6, 32).half(), torch.randn(2, 8, 32).half(), torch.tensor([3, 2])
    low = torch.full((6, 8), 7.0).npu()
    operators.sgmv_shrink(x.npu(), down.npu(), torch.tensor([1, 0]).npu(), lengths.npu(), low, 2.0)
    for row, adapter in enumerate([1, 1, 1, 0, 0]):
        torch.testing.assert_close(low[row].cpu(), 2 * (x[row].float() @ down[adapter].float().T))
    assert low[5].cpu().tolist() == [7.0] * 8


def test_an_operator_that_torch_npu_has_is_that_operator(operators: Any) -> None:
    x, gamma = torch.randn(3, 16).npu(), torch.rand(16).npu()
    for ours, theirs in zip(
        operators.npu_gemma_rms_norm(x, gamma), torch.ops.npu.npu_gemma_rms_norm(x, gamma), strict=True
    ):
        assert torch.equal(ours.cpu(), theirs.cpu())


def _same(x: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(x)


def test_sizes_stay_open_where_an_operator_is_traced_while_a_recording_runs(
    kernel_types: Kernels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(state()), "computes", False)
    library = torch.library.Library("traced_here", "FRAGMENT")
    define(library, "traced_here", ServedOperator(schema="same(Tensor x) -> Tensor", compute=_same, kernel="Same"))
    tracing = FakeTensorMode(shape_env=ShapeEnv())
    sizes = StatelessSymbolicContext(dynamic_sizes=[DimDynamic.DYNAMIC, DimDynamic.STATIC])
    x = tracing.from_tensor(torch.empty(6, 16), symbolic_context=sizes)
    assert kernel_types(lambda: torch.ops.traced_here.same(x)) == []
    assert tracing.shape_env is not None
    assert not tracing.shape_env.replacements


def test_another_operator_is_refused_by_its_name(operators: Any) -> None:
    assert not hasattr(operators, "npu_hc_post")
    with pytest.raises(AttributeError, match=r"^torch\.ops\._C_ascend\.npu_hc_post: drynpu does not compute"):
        operators.npu_hc_post  # noqa: B018 - the lookup is what fails
