"""Inference attention against softmax in FP64, one query after the other."""

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
NAMES = {
    "npu_fused_infer_attention_score": ("num_heads", "scale", "actual_seq_lengths", "actual_seq_lengths_kv"),
    "npu_fused_infer_attention_score_v2": ("num_query_heads", "softmax_scale", "actual_seq_qlen", "actual_seq_kvlen"),
}


def _formula(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, scale: float, kept: Callable[[int, int], bool]
) -> tuple[torch.Tensor, torch.Tensor]:
    """Attend one sequence, [tokens, heads, width]; the second result is [tokens, heads]."""
    shared = query.shape[1] // key.shape[1]
    out = torch.zeros(query.shape[0], query.shape[1], value.shape[2], dtype=torch.double)
    sums = torch.full(query.shape[:2], -math.inf, dtype=torch.double)
    for i in range(query.shape[0]):
        for h in range(query.shape[1]):
            js = [j for j in range(key.shape[0]) if kept(i, j)]
            scores = scale * (key[js, h // shared].double() @ query[i, h].double())
            sums[i, h] = torch.logsumexp(scores, 0)
            out[i, h] = (scores - sums[i, h]).exp() @ value[js, h // shared].double()
    return out, sums


def _sequences(lengths: list[tuple[int, int]], width: int = 8) -> list[tuple[torch.Tensor, ...]]:
    torch.manual_seed(13)
    return [(torch.randn(q, 4, width), torch.randn(k, 2, width), torch.randn(k, 2, width)) for q, k in lengths]


def _padded(parts: list[torch.Tensor], layout: str) -> torch.Tensor:
    """Return sequences [tokens, heads, width] in a layout with a batch, padded with ones."""
    whole = torch.ones(len(parts), max(p.shape[0] for p in parts), *parts[0].shape[1:])
    for b, part in enumerate(parts):
        whole[b, : part.shape[0]] = part
    return {"BSND": whole, "BSH": whole.flatten(2), "BNSD": whole.transpose(1, 2).contiguous()}[layout]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND", "BSND_NBSD"])
def test_batches(check: Check, name: str, layout: str) -> None:
    heads, scale, q_lengths, kv_lengths = NAMES[name]
    sequences = _sequences([(3, 5), (3, 2)])
    found = [_formula(*s, 0.4, lambda i, j: True) for s in sequences]
    source, _, result = layout.partition("_")
    operands = [_padded([s[i] for s in sequences], source) for i in range(3)]
    rows = torch.stack([f[0] for f in found])
    arranged = {"BSND": rows, "BSH": rows.flatten(2), "BNSD": rows.transpose(1, 2), "NBSD": rows.permute(2, 0, 1, 3)}
    sums = torch.stack([f[1] for f in found]).transpose(1, 2).unsqueeze(-1)
    options = {heads: 4, scale: 0.4, q_lengths: [3, 3], kv_lengths: [5, 2], "num_key_value_heads": 2}
    options |= {"input_layout": layout, ("return_softmax_lse" if name.endswith("v2") else "softmax_lse_flag"): True}
    (kernel,) = check(name, operands, (arranged[result or source], sums), **options)
    assert (kernel.op_type, kernel.task_type) == ("FusedInferAttentionScore", TaskType.MIX_AIC)
    assert kernel.cube_flops == 2 * 4 * (3 * 5 + 3 * 2) * (8 + 8)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("pages", [3, 4, 5])
def test_pages(check: Check, name: str, pages: int) -> None:
    heads, scale, q_lengths, kv_lengths = NAMES[name]
    sequences = _sequences([(2, 20), (3, 5)], width=16)
    table, block = torch.tensor([[3, 0], [2, 1]], dtype=torch.int32), 16
    caches = []
    for part in (1, 2):
        cache = torch.full((4, block, 2, 16), 100.0)
        for b, sequence in enumerate(sequences):
            for token, row in enumerate(sequence[part]):
                cache[table[b, token // block], token % block] = row
        if pages == 3:
            cache = cache.flatten(2)
        elif pages == 4:
            cache = cache.transpose(1, 2).contiguous()
        else:
            cache = cache.reshape(4, block, 2, 1, 16).permute(0, 2, 3, 1, 4).contiguous()
        caches.append(cache)
    query = torch.cat([s[0] for s in sequences])
    found = [_formula(*s, 0.3, lambda i, j, d=s[1].shape[0] - s[0].shape[0]: j <= i + d) for s in sequences]
    options = {heads: 4, scale: 0.3, q_lengths: [2, 5], kv_lengths: [20, 5], "num_key_value_heads": 2}
    options |= {"input_layout": "TND", "block_table": table, "block_size": block, "atten_mask": PATTERN}
    expected = torch.cat([f[0] for f in found]), (torch.float32, (0,))
    (kernel,) = check(name, (query, *caches), expected, sparse_mode=3, **options)
    # Of the caches the tokens of the sequences are read.
    others = query.numel() * 4 + table.numel() * 4 + PATTERN.numel()
    assert kernel.bytes_read == others + (20 + 5) * 2 * (16 + 16) * 4


def test_rotary_parts_and_quantised_output(check: Check) -> None:
    ((query, key, value),) = _sequences([(3, 3)])
    ropes = torch.randn(3, 4, 2), torch.randn(3, 2, 2)
    out, _ = _formula(torch.cat((query, ropes[0]), -1), torch.cat((key, ropes[1]), -1), value, 0.5, lambda i, j: True)
    options = {"query_rope": ropes[0], "key_rope": ropes[1], "num_heads": 4, "num_key_value_heads": 2, "scale": 0.5}
    options |= {"input_layout": "TND", "actual_seq_lengths": [3], "actual_seq_lengths_kv": [3]}
    check("npu_fused_infer_attention_score", (query, key, value), (out, (torch.float32, (0,))), **options)
    quantised = torch.round(out * 20 + 3).clamp(-128, 127)
    options |= {"quant_scale2": torch.tensor(20.0), "quant_offset2": torch.tensor(3.0)}
    check("npu_fused_infer_attention_score", (query, key, value), (quantised, (torch.float32, (0,))), **options)


def test_quantised_cache(check: Check) -> None:
    torch.manual_seed(1)
    query = torch.randn(1, 4, 1, 8, dtype=torch.float16)
    key, value = (torch.randint(-20, 20, (1, 2, 6, 8), dtype=torch.int8) for _ in range(2))
    scales, offsets = torch.rand(2, 16) / 10, torch.randn(2, 16)
    real = [
        (t[0].transpose(0, 1).double() + o.reshape(2, 8)) * s.reshape(2, 8)
        for t, s, o in zip((key, value), scales, offsets, strict=True)
    ]
    out, _ = _formula(query[0].transpose(0, 1), *real, 0.3, lambda i, j: True)
    options = {"antiquant_scale": scales, "antiquant_offset": offsets, "num_heads": 4, "num_key_value_heads": 2}
    args = (query, key, value)
    expected = out.transpose(0, 1).unsqueeze(0)
    (kernel,) = check("npu_incre_flash_attention", args, expected, scale_value=0.3, input_layout="BNSD", **options)
    assert kernel.op_type == "IncreFlashAttention"


def test_prompts_are_causal_with_a_mask(check: Check) -> None:
    ((query, key, value),) = _sequences([(4, 4)])
    causal, _ = _formula(query, key, value, 0.3, lambda i, j: j <= i)
    everything, _ = _formula(query, key, value, 0.3, lambda i, j: True)
    args = tuple(t.flatten(1).unsqueeze(0) for t in (query, key, value))
    options = {"num_heads": 4, "num_key_value_heads": 2, "scale_value": 0.3}
    (kernel,) = check("npu_prompt_flash_attention", args, everything.flatten(1).unsqueeze(0), **options)
    assert kernel.op_type == "PromptFlashAttention"
    mask = torch.zeros(4, 4, dtype=torch.bool)
    check("npu_prompt_flash_attention", args, causal.flatten(1).unsqueeze(0), atten_mask=mask, **options)


@pytest.mark.parametrize("name", NAMES)
def test_results_may_be_given_as_a_list(name: str) -> None:
    from drynpu_torch_operators.operators import exported

    operator, heads = exported()[name], NAMES[name][0]
    x = torch.randn(1, 4, 3, 8)
    expected = operator(x, x, x, input_layout="BNSD", **{heads: 4})[0]
    workspace = exported()[f"_{name}_get_max_workspace"](x, x, x, input_layout="BNSD", **{heads: 4})
    for call in (operator, operator.out):
        out, sums = torch.zeros_like(x), torch.zeros(1)
        found = call(x, x, x, input_layout="BNSD", workspace=workspace, out=[out, sums], **{heads: 4})
        assert found[0] is out
        assert torch.equal(out, expected)


def test_queries_behind_the_valid_ones_are_zero() -> None:
    x = torch.randn(2, 4, 5, 8)
    out, _ = npu.npu_fused_infer_attention_score(
        x, x, x, num_heads=4, input_layout="BNSD", actual_seq_lengths=[5, 2], actual_seq_lengths_kv=[5]
    )
    assert out[0].all()
    assert not out[1, :, 2:].any()


def test_misuse() -> None:
    x = torch.randn(1, 4, 3, 8)
    with pytest.raises(RuntimeError, match="numHeads should be greater than 0, but got 0"):
        npu.npu_fused_infer_attention_score(x, x, x, num_heads=0)
    with pytest.raises(RuntimeError, match="Layout SBH is not supported in get_query_t_n_d function!"):
        npu.npu_fused_infer_attention_score(x, x, x, num_heads=4, input_layout="SBH")
