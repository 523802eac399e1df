"""Attention over latent rows against softmax in FP64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]
SCALE, BLOCK, HEADS, WIDTH, ROPE = 0.2, 4, 4, 6, 2
LENGTHS = [5, 0, 7]


def _operands(dtype: torch.dtype) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(2)
    shapes = ((2, HEADS, WIDTH), (2, HEADS, ROPE), (5, BLOCK, 1, WIDTH), (5, BLOCK, 1, ROPE))
    table = torch.tensor([[4, 0], [1, 1], [2, 3]], dtype=torch.int32)
    return *(torch.randn(shape, generator=generator).to(dtype) for shape in shapes), table


def _formula(
    query: torch.Tensor, rope: torch.Tensor, rows: torch.Tensor, ropes: torch.Tensor, table: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return outputs and logarithms of sums; the sequence without keys has no query."""
    out, sums = torch.zeros(2, HEADS, WIDTH, dtype=torch.double), torch.zeros(2, HEADS, 1, dtype=torch.double)
    for place, number in enumerate((0, 2)):
        tokens = [(table[number, j // BLOCK], j % BLOCK) for j in range(LENGTHS[number])]
        values = torch.stack([rows[block, slot, 0].double() for block, slot in tokens])
        turned = torch.stack([ropes[block, slot, 0].double() for block, slot in tokens])
        scores = SCALE * (query[place].double() @ values.t() + rope[place].double() @ turned.t())
        out[place] = scores.softmax(-1) @ values
        sums[place] = scores.logsumexp(-1, keepdim=True)
    return out, sums


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_outputs_and_sums(check: Check, dtype: torch.dtype) -> None:
    operands = _operands(dtype)
    call = (*operands, LENGTHS, HEADS, SCALE, 1)
    out, sums = _formula(*operands)
    (kernel,) = check("npu_multi_head_latent_attention", call, out)
    assert (kernel.op_type, kernel.cube_flops) == ("MLAKernel", 2 * HEADS * 12 * (WIDTH + ROPE + WIDTH))
    alone = torch.ones_like(operands[0])
    assert npu.npu_multi_head_latent_attention(*call, output=alone) is alone
    torch.testing.assert_close(alone.double(), out, rtol=0, atol=2e-3)
    ring = {"calc_type": "calc_type_ring"}
    check("npu_multi_head_latent_attention", (*call, True), (out, sums), **ring)
    given = {"output": torch.ones_like(operands[0]), "lse": torch.ones(2, HEADS, 1, dtype=dtype)}
    found = npu.npu_multi_head_latent_attention(*call, True, **ring, **given)
    assert found[0] is given["output"]
    assert found[1] is given["lse"]
    torch.testing.assert_close(found[1].double(), sums, rtol=0, atol=2e-3)
    assert npu.npu_multi_head_latent_attention(*call, False, **ring)[1].numel() == 0
    assert npu._npu_multi_head_latent_attention_get_workspace(*call, True, **ring).numel() == 1


def test_what_is_not_computed_is_refused() -> None:
    call = (*_operands(torch.float16), LENGTHS, HEADS, SCALE, 1)
    with pytest.raises(RuntimeError, match="drynpu computes mask_type undefined, but got mask_type_spec"):
        npu.npu_multi_head_latent_attention(*call, mask_type="mask_type_spec")
    with pytest.raises(RuntimeError, match="does not compute the argument qseqlen"):
        npu.npu_multi_head_latent_attention(*call, qseqlen=[1, 1])


def test_the_module_has_them() -> None:
    import torch_npu

    assert torch_npu.atb.npu_multi_head_latent_attention is torch.ops.atb.npu_multi_head_latent_attention
    assert torch_npu.atb._npu_paged_attention_v2.out is npu._npu_paged_attention_v2.out
