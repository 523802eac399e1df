"""Rotary position embedding against complex rotations in FP64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

npu = torch.ops.npu
Check = Callable[..., Any]


def _angles(*shape: int) -> torch.Tensor:
    torch.manual_seed(5)
    return torch.rand(shape, dtype=torch.double) * 6


def _rotated(x: torch.Tensor, angles: torch.Tensor, mode: str) -> torch.Tensor:
    """Rotate the pairs of the last axis, as complex numbers, by *angles*: one for each pair."""
    half = x.shape[-1] // 2
    first, second = (x[..., :half], x[..., half:]) if mode == "half" else (x[..., 0::2], x[..., 1::2])
    turned = torch.complex(first.double(), second.double()) * torch.polar(torch.ones_like(angles), angles)
    pair = (turned.real, turned.imag)
    return torch.cat(pair, -1) if mode == "half" else torch.stack(pair, -1).flatten(-2)


def _factors(angles: torch.Tensor, mode: str) -> tuple[torch.Tensor, torch.Tensor]:
    each = torch.cat((angles, angles), -1) if mode == "half" else angles.repeat_interleave(2, -1)
    return each.cos(), each.sin()


@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_rotary_mul(check: Check, mode: str, dtype: torch.dtype) -> None:
    x, angles = torch.randn(2, 5, 3, 8).to(dtype), _angles(1, 5, 1, 4)
    cos, sin = (t.float() for t in _factors(angles, mode))
    launched = check("npu_rotary_mul", (x, cos, sin, mode), _rotated(x, angles, mode))
    casts = [] if dtype is torch.float32 else ["Cast", "Cast"]
    assert [k.op_type for k in launched] == [*casts, "RotaryPositionEmbedding"]


@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_gradient(mode: str, kernels: Check) -> None:
    shapes = (2, 3, 2, 4), (1, 3, 1, 4), (1, 3, 1, 4)
    x, cos, sin = (torch.randn(s, dtype=torch.double, requires_grad=True) for s in shapes)
    assert torch.autograd.gradcheck(lambda *a: npu.npu_rotary_mul(*a, mode), (x, cos, sin))
    y = npu.npu_rotary_mul(x.float(), cos.float(), sin.float(), mode).sum()
    assert [k.op_type for k in kernels(y.backward)] == ["RotaryPositionEmbeddingGrad"]


def test_a_matrix_may_turn(check: Check) -> None:
    x, cos, sin, rotate = torch.randn(2, 3, 2, 4), torch.rand(1, 3, 1, 4), torch.rand(1, 3, 1, 4), torch.randn(4, 4)
    expected = x.double() * cos + x.double() @ rotate.double() * sin
    check("npu_rotary_mul", (x, cos, sin, "half", rotate), expected)


def test_pairs_come_out_as_halves(check: Check) -> None:
    x, angles = torch.randn(2, 3, 5, 64), _angles(2, 1, 5, 32)
    cos, sin = (t.float() for t in _factors(angles, "half"))
    in_pairs = _rotated(x, angles, "interleave")
    expected = torch.cat((in_pairs[..., ::2], in_pairs[..., 1::2]), -1)
    (kernel,) = check("npu_interleave_rope", (x, cos, sin), expected)
    assert kernel.op_type == "InterleaveRope"


def test_query_and_key_at_once(check: Check) -> None:
    query, key, angles = torch.randn(2, 5, 4, 8), torch.randn(2, 5, 1, 8), _angles(2, 5, 1, 4)
    cos, sin = (t.float() for t in _factors(angles, "half"))
    expected = _rotated(query, angles, "half"), _rotated(key, angles, "half")
    (kernel,) = check("npu_apply_rotary_pos_emb", (query, key, cos, sin), expected)
    assert kernel.op_type == "ApplyRotaryPosEmb"


@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.parametrize("cache_mode", ["default", "interleave"])
def test_three_positions(check: Check, mode: str, cache_mode: str) -> None:
    angles, sections = _angles(20, 6), [2, 2, 2]
    positions = torch.randint(20, (3, 7))
    query, key = torch.randn(7, 2 * 16), torch.randn(7, 16)
    axes = [0, 0, 1, 1, 2, 2] if cache_mode == "default" else [0, 1, 2, 0, 1, 2]
    chosen = torch.stack([angles[positions[axis], column] for column, axis in enumerate(axes)], -1)

    def expected(x: torch.Tensor) -> torch.Tensor:
        heads = x.reshape(7, -1, 16).double()
        turned = _rotated(heads[..., :12], chosen.unsqueeze(1), mode)
        return torch.cat((turned, heads[..., 12:]), -1).reshape(x.shape)

    cache = torch.cat((angles.cos(), angles.sin()), -1).float()
    options = {"mrope_section": sections, "rotary_mode": mode, "cache_mode": cache_mode}
    (kernel,) = check("npu_mrope", (positions, query, key, cache, 16), (expected(query), expected(key)), **options)
    assert kernel.op_type == "RopeWithSinCosCache"


@pytest.mark.parametrize("neox", [True, False])
def test_query_and_key_in_place(neox: bool) -> None:
    angles, positions, query, key = _angles(9, 4), torch.tensor([8, 0, 3]), torch.randn(3, 16), torch.randn(3, 8)
    mode = "half" if neox else "interleave"
    rows = angles[positions].unsqueeze(1)
    expected = [_rotated(x.reshape(3, -1, 8), rows, mode).reshape(x.shape).float() for x in (query, key)]
    npu._npu_rotary_embedding(positions, query, key, 8, torch.cat((angles.cos(), angles.sin()), -1).float(), neox)
    torch.testing.assert_close([query, key], expected)


def test_misuse() -> None:
    x = torch.randn(1, 2, 1, 4)
    with pytest.raises(RuntimeError, match="rotary_mode of npu_rotary_mul should be half or interleave, but got x"):
        npu.npu_rotary_mul(x, x, x, "x")
    with pytest.raises(RuntimeError, match="161002"):
        npu.npu_interleave_rope(x, x, x)


def test_a_mode_of_the_cache_that_is_unknown() -> None:
    x, cache = torch.ones(3, 16), torch.ones(3, 16)
    with pytest.raises(RuntimeError, match="cache_mode only support default or interleave, but got other"):
        npu.npu_mrope(torch.arange(3), x, x, cache, 16, cache_mode="other")
