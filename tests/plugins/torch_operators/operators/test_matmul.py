"""Matrix products against FP64, with scales applied by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from drynpu.kernels import TaskType

npu = torch.ops.npu
Check = Callable[..., Any]


def _eight(*shape: int) -> torch.Tensor:
    torch.manual_seed(8)
    return torch.randint(-128, 128, shape, dtype=torch.int8)


@pytest.mark.parametrize("turned", [False, True])
def test_quant_matmul(check: Check, turned: bool) -> None:
    x, weight = _eight(5, 2048), _eight(2048, 6)
    weight = weight.t().contiguous().t() if turned else weight
    scale, rows, bias = torch.rand(6) / 1000, torch.rand(5), torch.randn(6)
    exact = x.long() @ weight.long()
    expected = exact.double() * scale * rows[:, None] + bias
    options = {"pertoken_scale": rows, "bias": bias.bfloat16(), "output_dtype": torch.bfloat16}
    expected = exact.double() * scale * rows[:, None] + bias.bfloat16().double()
    (kernel,) = check("npu_quant_matmul", (x, weight, scale), expected, **options)
    assert (kernel.op_type, kernel.task_type) == ("QuantBatchMatmulV3", TaskType.MIX_AIC)
    assert kernel.cube_flops == 2 * 5 * 2048 * 6
    check("npu_quant_matmul", (x, weight, torch.ones(1)), exact, output_dtype=torch.int32)


def test_quant_matmul_of_static_scales(check: Check) -> None:
    x, weight, scale = _eight(4, 32), _eight(32, 8), torch.rand(8) / 500
    bias = torch.arange(8, dtype=torch.int32) * 1000
    shortened = (scale.view(torch.int32) & -8192).view(torch.float32).double()
    exact = (x.long() @ weight.long() + bias).double()
    expected = torch.round(exact * shortened + 3).clamp(-128, 127)
    packed = npu.npu_trans_quant_param(scale)
    args = (x, weight, packed)
    (kernel,) = check("npu_quant_matmul", args, expected, bias=bias, offset=torch.full((8,), 3.0))
    assert kernel.task_type is TaskType.AI_CORE


def test_quant_matmul_of_four_bits(check: Check) -> None:
    x, weight = torch.randint(-8, 8, (3, 16), dtype=torch.int32), torch.randint(-8, 8, (16, 8), dtype=torch.int32)
    packed = npu.npu_convert_weight_to_int4pack(x), npu.npu_convert_weight_to_int4pack(weight)
    scale, rows = torch.rand(8), torch.rand(3)
    expected = (x.long() @ weight.long()).double() * scale * rows[:, None]
    options = {"pertoken_scale": rows, "output_dtype": torch.float16}
    check("npu_quant_matmul", (*packed, scale), expected, **options)
    turned = npu.npu_convert_weight_to_int4pack(weight.t().contiguous()).t()
    check("npu_quant_matmul", (packed[0], turned, scale), expected, **options)


def test_quant_matmul_of_mx_blocks(check: Check) -> None:
    x, weight = torch.randn(5, 96), torch.randn(96, 7)
    left, right = (npu.npu_dynamic_mx_quant(t, axis=a, dst_type=24) for t, a in ((x, -1), (weight, 0)))
    blocks = torch.arange(96) // 32
    left_scale = 2.0 ** (left[1].flatten(1)[:, blocks].double() - 127)
    right_scale = 2.0 ** (torch.stack([right[1][b // 2, :, b % 2] for b in blocks.tolist()]).double() - 127)
    expected = (left[0].double() * left_scale) @ (right[0].double() * right_scale)
    options = {"scale_dtype": 293, "pertoken_scale_dtype": 293, "group_sizes": [1, 1, 32]}
    options |= {"pertoken_scale": left[1], "output_dtype": torch.float32}
    check("npu_quant_matmul", (left[0], right[0], right[1]), expected, **options)
    torch.testing.assert_close(expected, x.double() @ weight.double(), rtol=0, atol=1.5)


@pytest.mark.parametrize("groups", [1, 4])
def test_quantised_weights(check: Check, groups: int) -> None:
    x, weight = torch.randn(3, 16, dtype=torch.float16), _eight(16, 8)
    scale, offset = torch.rand(groups, 8).half() / 8, torch.randn(groups, 8).half()
    factor, shift = (t.repeat_interleave(16 // groups, 0).double() for t in (scale, offset))
    expected = x.double() @ ((weight.double() + shift) * factor)
    args = (x, weight, scale, offset)
    (kernel,) = check("npu_weight_quant_batchmatmul", args, expected, antiquant_group_size=0, tolerance=3e-3)
    assert kernel.op_type == "WeightQuantBatchMatmulV2"


@pytest.mark.parametrize("factor", [1, 2])
def test_transposing_product(check: Check, factor: int) -> None:
    x, weight = torch.randn(3, 4, 6), torch.randn(4, 6, 5)
    expected = torch.stack([x[:, b].double() @ weight[b].double() for b in range(4)], 1)
    if factor == 2:
        expected = torch.stack((expected[:, :2].flatten(1), expected[:, 2:].flatten(1)))
    options = {"perm_x1": [1, 0, 2], "perm_y": [1, 0, 2], "batch_split_factor": factor}
    (kernel,) = check("npu_transpose_batchmatmul", (x, weight), expected, **options)
    assert (kernel.op_type, kernel.cube_flops) == ("TransposeBatchMatMul", 2 * 4 * 3 * 6 * 5)


def test_plain_products(check: Check) -> None:
    x, weight, bias = torch.randn(2, 3, 5), torch.randn(4, 5), torch.randn(4)
    expected = torch.einsum("bmk,nk->bmn", x.double(), weight.double()) + bias
    (kernel,) = check("npu_linear", (x, weight, bias), expected)
    assert (kernel.name, kernel.cube_flops) == ("aclnnAddmm_MatMulCommon_MatMulV2", 2 * 6 * 5 * 4)
    inputs = tuple(t.double().requires_grad_() for t in (x, weight, bias))
    assert torch.autograd.gradcheck(npu.npu_linear, inputs)
    first, second = torch.randn(3, 4, 5), torch.randn(1, 5, 2)
    expected = (first.double() @ second.double()).sum(0, keepdim=True)
    check("npu_bmmV2", (first, second, [1, 4, 2]), expected)
    inputs = tuple(t.double().requires_grad_() for t in (first, second))
    for sizes in ([], [1, 4, 2]):
        assert torch.autograd.gradcheck(lambda a, b, s=sizes: npu.npu_bmmV2(a, b, s), inputs)
    total = torch.ones(5, 4)
    npu.npu_matmul_add_fp32(x[0], weight.t()[:3], total)
    torch.testing.assert_close(total.double(), 1 + x[0].double().t() @ weight.t()[:3].double(), rtol=0, atol=1e-5)


def _expected(x: torch.Tensor, weight: torch.Tensor, sizes: list[int]) -> torch.Tensor:
    rows, begin = torch.zeros(x.shape[0], weight.shape[-1], dtype=torch.double), 0
    for number, size in enumerate(sizes):
        rows[begin : begin + size] = x[begin : begin + size].double() @ weight[number].double()
        begin += size
    return rows


@pytest.mark.parametrize("stacked", [True, False])
@pytest.mark.parametrize("kind", [0, 1, 2])
def test_groups_of_rows(check: Check, stacked: bool, kind: int) -> None:
    x, weight, sizes = torch.randn(9, 4, dtype=torch.bfloat16), torch.randn(3, 4, 6, dtype=torch.bfloat16), [2, 0, 5]
    given = {0: [2, 2, 7], 1: sizes, 2: [[0, 2], [2, 5], [1, 0]]}[kind]
    weights = [weight] if stacked else list(weight)
    options = {"group_list": torch.tensor(given), "group_list_type": kind, "split_item": 3, "group_type": 0}
    (kernel,) = check("npu_grouped_matmul", ([x], weights), ([_expected(x, weight, sizes)],)[0], **options)
    assert (kernel.op_type, kernel.task_type, kernel.cube_flops) == ("GroupedMatmul", TaskType.MIX_AIC, 2 * 7 * 4 * 6)
    assert [t.dtype for t in kernel.inputs][:2] == ["DT_BF16", "DT_BF16"]
    # The weights of the expert without rows are not read.
    rest = x.numel() * 2 + torch.tensor(given).numel() * 8
    assert kernel.bytes_read == rest + 2 * 4 * 6 * 2


def test_groups_as_numbers(check: Check) -> None:
    x, weight = torch.randn(7, 4), torch.randn(2, 4, 6)
    expected = [_expected(x, weight, [3, 4])]
    check("npu_grouped_matmul", ([x], [weight]), expected, group_list=[3, 7], split_item=2, group_type=0)


def test_pairs_and_activation(check: Check) -> None:
    xs, weights = [torch.randn(2, 4), torch.randn(5, 3)], [torch.randn(4, 6), torch.randn(3, 2)]
    bias = [torch.randn(6), torch.randn(2)]
    expected = [(x.double() @ w.double() + b).clamp(min=0) for x, w, b in zip(xs, weights, bias, strict=True)]
    check("npu_grouped_matmul", (xs, weights), expected, bias=bias, group_type=-1, act_type=1)


def test_gradient_of_weights(check: Check) -> None:
    x, dy, ends = torch.randn(7, 4), torch.randn(7, 6), torch.tensor([3, 3, 7])
    expected = torch.stack([x[a:b].double().t() @ dy[a:b].double() for a, b in ((0, 3), (3, 3), (3, 7))])
    options = {"group_list": ends, "split_item": 3, "group_type": 2}
    check("npu_grouped_matmul", ([x.t()], [dy]), [expected], **options)
    total = torch.ones(3, 4, 6)
    assert npu.npu_grouped_matmul_add_(total, x, dy, ends) is total
    torch.testing.assert_close(total.double(), 1 + expected, rtol=0, atol=1e-5)


def test_quantised_groups(check: Check) -> None:
    x, weight, ends = _eight(7, 16), _eight(2, 16, 6), torch.tensor([3, 7])
    scale, rows = torch.rand(2, 6) / 1000, torch.rand(7)
    columns = torch.cat((scale[0].expand(3, 6), scale[1].expand(4, 6)))
    expected = [_expected(x, weight, [3, 4]) * columns * rows[:, None]]
    options = {"scale": [scale], "per_token_scale": [rows], "group_list": ends, "split_item": 2, "group_type": 0}
    check("npu_grouped_matmul", ([x], [weight]), expected, output_dtype=torch.bfloat16, **options)


def test_groups_with_quantised_weights(check: Check) -> None:
    x, weight, ends = (
        torch.randn(7, 16, dtype=torch.bfloat16),
        torch.randint(-8, 8, (2, 16, 8), dtype=torch.int32),
        [3, 7],
    )
    packed = npu.npu_convert_weight_to_int4pack(weight)
    scale, offset = torch.rand(2, 8).bfloat16(), torch.randn(2, 8).bfloat16()
    real = ((weight.float() + offset.float().unsqueeze(1)) * scale.float().unsqueeze(1)).bfloat16()
    options = {"antiquant_scale": [scale], "antiquant_offset": [offset], "group_list": torch.tensor(ends)}
    expected = [_expected(x, real, [3, 4])]
    check("npu_grouped_matmul", ([x], [packed]), expected, split_item=2, group_type=0, **options)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "Requires manual passing group_type, current is None."),
        ({"group_type": 1}, r"The group type must be -1, 0 or 2, but now is \[1\]"),
        ({"group_type": 0, "split_item": 4}, r"Invalid value of split_item \[4\], which should only be one of 0/1/2/3"),
        ({"group_type": 0, "group_list": torch.tensor([3, 1]), "split_item": 3}, "or equal to 0, but now is -2"),
    ],
)
def test_misuse(options: dict[str, Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        npu.npu_grouped_matmul([torch.ones(3, 4)], [torch.ones(2, 4, 5)], **options)
    with pytest.raises(RuntimeError, match="call aclnnQuantMatmulV5 failed, error code is 161002"):
        npu.npu_quant_matmul(_eight(2, 3), _eight(4, 5), torch.ones(1))
