"""Training attention against softmax in FP64, written out with loops over heads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from drynpu.kernels import TaskType

npu = torch.ops.npu
Check = Callable[..., Any]
PATTERN = torch.triu(torch.ones(2048, 2048), diagonal=1).bool()
LAYOUTS = {"BNSD": "bnsd", "BSND": "bsnd", "BSH": "bsh", "SBH": "sbh"}


def _operands(queries: int = 5, keys: int = 7, kv_heads: int = 2, value_width: int = 4) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(11)
    shapes = (2, 4, queries, 8), (2, kv_heads, keys, 8), (2, kv_heads, keys, value_width)
    return tuple(torch.randn(shape) for shape in shapes)


def _in_layout(x: torch.Tensor, layout: str) -> torch.Tensor:
    if layout == "BNSD":
        return x
    rows = x.permute(0, 2, 1, 3)
    return {"BSND": rows, "BSH": rows.flatten(2), "SBH": rows.flatten(2).transpose(0, 1)}[layout].contiguous()


def _formula(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    scale: float,
    kept: Callable[[int, int, int], bool] = lambda b, i, j: True,
    pse: torch.Tensor | None = None,
    sink: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Attend row by row; statistics are [batch, heads, queries]."""
    batch, heads, queries, _ = query.shape
    keys, shared = key.shape[2], heads // key.shape[1]
    out = torch.zeros(batch, heads, queries, value.shape[3], dtype=torch.double)
    maximum = torch.full((batch, heads, queries), -math.inf, dtype=torch.double)
    total = torch.zeros(batch, heads, queries, dtype=torch.double)
    for b in range(batch):
        for h in range(heads):
            for i in range(queries):
                js = [j for j in range(keys) if kept(b, i, j)]
                if not js:
                    continue
                scores = key[b, h // shared, js].double() @ query[b, h, i].double()
                if pse is not None:
                    scores = scores + pse[b, h, min(i, pse.shape[2] - 1), js].double()
                scores = scores * scale
                maximum[b, h, i] = scores.max()
                weights = (scores - scores.max()).exp()
                total[b, h, i] = weights.sum()
                if sink is not None:
                    total[b, h, i] += math.exp(float(sink[h]) - float(scores.max()))
                out[b, h, i] = weights / total[b, h, i] @ value[b, h // shared, js].double()
    return out, maximum, total


def _eight(x: torch.Tensor) -> torch.Tensor:
    return x.unsqueeze(-1).expand(*x.shape, 8)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_layouts(check: Check, layout: str, dtype: torch.dtype) -> None:
    operands = [x.to(dtype) for x in _operands()]
    out, maximum, total = _formula(*operands, 0.3)
    expected = _in_layout(out, layout), _eight(maximum), _eight(total), (dtype, (0,)), 0, 0, 2 * 4 * 5 * 7
    args = (*(_in_layout(x, layout) for x in operands), 4, layout.lower())
    (kernel,) = check("npu_fusion_attention", args, expected, scale=0.3)
    assert (kernel.op_type, kernel.task_type) == ("FlashAttentionScore", TaskType.MIX_AIC)
    assert kernel.cube_flops == 2 * 2 * 4 * 5 * 7 * (8 + 4)


MODES = {
    0: (
        torch.zeros(5, 7, dtype=torch.bool),
        {"pre_tockens": 2, "next_tockens": 1},
        lambda b, i, j: i - 2 <= j <= i + 1,
    ),
    1: (torch.arange(35).reshape(5, 7) % 3 == 1, {}, lambda b, i, j: (i * 7 + j) % 3 != 1),
    2: (PATTERN, {}, lambda b, i, j: j <= i),
    3: (PATTERN, {}, lambda b, i, j: j <= i + 2),
    4: (PATTERN, {"pre_tockens": 1, "next_tockens": 0}, lambda b, i, j: i + 1 <= j <= i + 2),
    6: (PATTERN, {"prefix": [4, 0]}, lambda b, i, j: j <= i + 2 or j < [4, 0][b]),
}


@pytest.mark.parametrize("mode", MODES)
def test_sparse_modes(check: Check, mode: int) -> None:
    mask, options, kept = MODES[mode]
    operands = _operands()
    out, maximum, total = _formula(*operands, 0.3, kept)
    expected = out, _eight(maximum), _eight(total), (torch.float32, (0,)), 0, 0, 280
    options = {"scale": 0.3, "atten_mask": mask, "sparse_mode": mode, **options}
    (kernel,) = check("npu_fusion_attention", (*operands, 4, "BNSD"), expected, **options)
    pairs = 280 if mode == 1 else 4 * sum(kept(b, i, j) for b in range(2) for i in range(5) for j in range(7))
    assert kernel.cube_flops == 2 * pairs * (8 + 4)


def test_a_mask_for_each_batch(check: Check) -> None:
    operands, mask = _operands(), torch.rand(2, 1, 5, 7) < 0.4
    mask[..., 0] = False
    out, maximum, total = _formula(*operands, 0.5, lambda b, i, j: not mask[b, 0, i, j])
    expected = out, _eight(maximum), _eight(total), (torch.float32, (0,)), 0, 0, 280
    check("npu_fusion_attention", (*operands, 4, "BNSD"), expected, scale=0.5, atten_mask=mask.to(torch.uint8))


def test_rows_without_a_key_are_zero() -> None:
    operands = _operands(queries=7, keys=5)
    out = npu.npu_fusion_attention(*operands, 4, "BNSD", atten_mask=PATTERN, sparse_mode=3)[0]
    assert not out[:, :, :2].any()
    assert out[:, :, 2:].all()


@pytest.mark.parametrize("rows", [5, 1])
def test_position_shift_and_sink(check: Check, rows: int) -> None:
    operands, pse, sink = _operands(), torch.randn(2, 4, rows, 7), torch.randn(4)
    out, maximum, total = _formula(*operands, 0.3, pse=pse, sink=sink)
    expected = out, _eight(maximum), _eight(total), (torch.float32, (0,)), 0, 0, 280
    check("npu_fusion_attention", (*operands, 4, "BNSD"), expected, scale=0.3, pse=pse, sink=sink)


@pytest.mark.parametrize("by_token", [False, True])
def test_packed_sequences(check: Check, by_token: bool) -> None:
    torch.manual_seed(7)
    query, key, value = torch.randn(9, 4, 8), torch.randn(8, 2, 8), torch.randn(8, 2, 8)
    lengths, outs, maxima, totals = [(0, 3, 0, 2), (3, 3, 2, 2), (3, 9, 2, 8)], [], [], []
    for q0, q1, k0, k1 in lengths:
        parts = (x.transpose(0, 1).unsqueeze(0) for x in (query[q0:q1], key[k0:k1], value[k0:k1]))
        out, maximum, total = _formula(*parts, 0.3, lambda b, i, j, d=k1 - k0 - q1 + q0: j <= i + d)
        outs.append(out[0].transpose(0, 1))
        for found, into in ((maximum, maxima), (total, totals)):
            into.append((found[0].T if by_token else found[0]).reshape(-1))
    statistics = [_eight(torch.cat(parts).reshape(9, 4)) for parts in (maxima, totals)]
    expected = torch.cat(outs), *statistics, (torch.float32, (0,)), 0, 0, 4 * (3 * 2 + 6 * 6)
    options: dict[str, Any] = {"actual_seq_qlen": (3, 3, 9), "actual_seq_kvlen": (2, 2, 8)}
    if by_token:
        options["softmax_layout"] = "TND"
    options |= {"scale": 0.3, "atten_mask": PATTERN, "sparse_mode": 3}
    (kernel,) = check("npu_fusion_attention", (query, key, value, 4, "TND"), expected, **options)
    assert kernel.name.startswith("aclnnFlashAttentionVarLenScore_")


@pytest.mark.parametrize("layout", [*LAYOUTS, "TND"])
def test_gradients(layout: str) -> None:
    query, key, value = (x.double() for x in _operands(3, 4, value_width=8))
    pse = torch.randn(2, 4, 3, 4, dtype=torch.double).requires_grad_()
    options: dict[str, Any] = {"scale": 0.4, "atten_mask": PATTERN, "sparse_mode": 3, "pse": pse}
    if layout == "TND":
        operands = [x.transpose(1, 2).flatten(0, 1) for x in (query, key, value)]
        options |= {"actual_seq_qlen": [1, 6], "actual_seq_kvlen": [4, 8], "pse": None}
    else:
        operands = [_in_layout(x, layout) for x in (query, key, value)]
    inputs = tuple(x.contiguous().requires_grad_() for x in operands)
    extra = () if layout == "TND" else (pse,)

    def run(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, *pse: torch.Tensor) -> torch.Tensor:
        given = options | ({"pse": pse[0]} if pse else {})
        return npu.npu_fusion_attention(query, key, value, 4, layout, **given)[0]

    assert torch.autograd.gradcheck(run, (*inputs, *extra), atol=1e-4)


def test_gradient_of_the_sink_and_its_kernel(kernels: Check) -> None:
    operands = tuple(x.double().requires_grad_() for x in _operands(3, 4))
    sink = torch.randn(4, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(
        lambda *a: npu.npu_fusion_attention(*a[:3], 4, "BNSD", sink=a[3])[0], (*operands, sink)
    )
    out = npu.npu_fusion_attention(*(x.float() for x in operands), 4, "BNSD")[0].sum()
    (kernel,) = kernels(out.backward)
    assert (kernel.op_type, kernel.task_type) == ("FlashAttentionScoreGrad", TaskType.MIX_AIC)
    assert kernel.cube_flops == 2 * 2 * 4 * 3 * 4 * (3 * 8 + 2 * 4)


def test_second_version_adds_rotary_parts(check: Check) -> None:
    query, key, value = _operands()
    ropes = torch.randn(2, 4, 5, 2), torch.randn(2, 2, 7, 2)
    whole = torch.cat((query, ropes[0]), -1), torch.cat((key, ropes[1]), -1), value
    out, maximum, total = _formula(*whole, 0.3)
    expected = out, _eight(maximum), _eight(total), (torch.float32, (0,)), 0, 0, 280
    options = {"query_rope": ropes[0], "key_rope": ropes[1], "scale": 0.3}
    check("npu_fusion_attention_v2", (query, key, value, 4, "BNSD"), expected, **options)
    inputs = tuple(x.double().requires_grad_() for x in (query, key, value, *ropes))

    def run(*a: torch.Tensor) -> torch.Tensor:
        return npu.npu_fusion_attention_v2(*a[:3], 4, "BNSD", query_rope=a[3], key_rope=a[4], scale=0.3)[0]

    assert torch.autograd.gradcheck(run, inputs, atol=1e-4)


def test_dropout_is_replayed_from_its_seed(kernels: Check) -> None:
    operands = tuple(x.double().requires_grad_() for x in _operands(16, 16))

    def run(*a: torch.Tensor) -> torch.Tensor:
        torch.manual_seed(5)
        return npu.npu_fusion_attention(*a, 4, "BNSD", keep_prob=0.75)[0]

    assert torch.autograd.gradcheck(run, operands, fast_mode=True)
    plain = tuple(x.detach() for x in operands)
    torch.manual_seed(6)
    first, second = (npu.npu_fusion_attention(*plain, 4, "BNSD", keep_prob=0.75) for _ in range(2))
    # The seed is the generator's; the offset begins at 0 and moves on.
    assert first[4] == second[4] == 6
    assert first[5] == 0 != second[5]
    assert first[6] == 2 * 4 * 16 * 16
    assert not torch.equal(first[0], second[0])
    # Weights of ones: the sum of each row's factors over 16 keys has the mean 1.
    ones = npu.npu_fusion_attention(plain[0] * 0, plain[1], torch.ones_like(plain[2]), 4, "BNSD", keep_prob=0.75)[0]
    assert ones.mean().item() == pytest.approx(1, abs=0.05)
    launched = kernels(lambda: npu.npu_fusion_attention(*plain, 4, "BNSD", keep_prob=0.75))
    assert [(k.op_type, k.task_type) for k in launched] == [
        ("DSAGenBitMask", TaskType.DSA),
        ("FlashAttentionScore", TaskType.MIX_AIC),
    ]


def test_partial_keys_with_final_statistics() -> None:
    """Ring attention: the gradient of a part of the keys follows from the output and statistics of all of them."""
    query, key, value = (x.double() for x in _operands(3, 6, value_width=8))
    whole = npu.npu_fusion_attention(query, key, value, 4, "BNSD", scale=0.3)
    dy = torch.randn_like(whole[0])
    options = {"softmax_max": whole[1], "softmax_sum": whole[2], "attention_in": whole[0], "scale_value": 0.3}
    full = npu.npu_fusion_attention_grad(query, key, value, dy, 4, "BNSD", **options)
    halves = [
        npu.npu_fusion_attention_grad(query, key[:, :, part], value[:, :, part], dy, 4, "BNSD", **options)
        for part in (slice(0, 2), slice(2, 6))
    ]
    torch.testing.assert_close(halves[0][0] + halves[1][0], full[0])
    torch.testing.assert_close(torch.cat([half[1] for half in halves], 2), full[1])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"head_num": 0}, "head_num must > 0, but got 0"),
        ({"query": torch.ones(2, 2)}, "input query should be 3 or 4 dimensional, but got 2-dimensional"),
        ({"keep_prob": 1.5}, r"keep_prob value must be in range of \(0, 1\], but got 1.5"),
        ({"input_layout": ""}, "input_layout is empty"),
        ({"input_layout": "NBSD"}, r"should be BSH/SBH/BNSD/BSND/TND\(case-insensitive\), but got NBSD"),
        ({"sparse_mode": 7}, r"sparse_mode value must be in range of \[0,6\], but got 7"),
        ({"softmax_layout": "TND"}, "softmax_layout=TND only supported when input_layout_str=TND"),
        ({"key": torch.ones(2, 2, 7, 8).half()}, "error code is 161002"),
    ],
)
def test_misuse(change: dict[str, Any], text: str) -> None:
    query, key, value = _operands()
    arguments = {"query": query, "key": key, "value": value, "head_num": 4, "input_layout": "BNSD"} | change
    with pytest.raises(RuntimeError, match=text):
        npu.npu_fusion_attention(**arguments)


@pytest.mark.parametrize(
    ("lengths", "options", "text"),
    [
        (([3], [3, 4]), {}, "the size of actual_seq_qlen and actual_seq_kvlen must be the same and cannot be empty."),
        (([4], [4]), {"sparse_mode": 5}, r"in range of \[0,5\) or \(5,8\], but got 5"),
        (([4], [4]), {"softmax_layout": "BSH"}, "only supported softmax_layout=TND"),
    ],
)
def test_misuse_of_packed_sequences(lengths: tuple[list[int], list[int]], options: dict[str, Any], text: str) -> None:
    x = torch.ones(4, 2, 8)
    with pytest.raises(RuntimeError, match=text):
        npu.npu_fusion_attention(x, x, x, 2, "TND", actual_seq_qlen=lengths[0], actual_seq_kvlen=lengths[1], **options)


def test_third_version_takes_and_returns_tensors(kernels: Check) -> None:
    torch.manual_seed(2)
    operands = [torch.randn(n, 2, 4, dtype=torch.double, requires_grad=True) for n in (5, 7, 7)]
    ends = torch.tensor([2, 5]), torch.tensor([3, 7])
    plain = {"actual_seq_qlen": [2, 5], "actual_seq_kvlen": [3, 7], "scale": 0.5}
    tensors = {"actual_seq_qlen": ends[0], "actual_seq_kvlen": ends[1], "scale": 0.5}
    first = npu.npu_fusion_attention(*operands, 2, "TND", **plain)
    launched = kernels(lambda: npu.npu_fusion_attention_v3(*operands, 2, "TND", **tensors)[0].sum().backward())
    third = npu.npu_fusion_attention_v3(*operands, 2, "TND", **tensors)
    assert all(torch.equal(one, other) for one, other in zip(third[:3], first[:3], strict=True))
    assert [t.dtype for t in third[4:]] == [torch.int64] * 2
    wanted = torch.autograd.grad(first[0].sum(), operands)
    assert all(torch.equal(one.grad, other) for one, other in zip(operands, wanted, strict=True))
    assert [k.op_type for k in launched] == ["FlashAttentionScore", "FlashAttentionScoreGrad"]


def test_third_version_replays_its_dropout() -> None:
    operands = [torch.randn(1, 3, 2, 4, requires_grad=True) for _ in range(3)]
    options = {"keep_prob": 0.5, "scale": 1.0}
    torch.manual_seed(9)
    first = npu.npu_fusion_attention(*operands, 2, "BSND", **options)
    torch.manual_seed(9)
    third = npu.npu_fusion_attention_v3(*operands, 2, "BSND", **options)
    assert torch.equal(first[0], third[0])
    assert (third[4].item(), third[5].item()) == (first[4], first[5])
    wanted, found = (torch.autograd.grad(each[0].sum(), operands) for each in (first, third))
    assert all(torch.equal(one, other) for one, other in zip(found, wanted, strict=True))
