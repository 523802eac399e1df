"""Operations of kernels against loops over the definition of the operation, and against published networks."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis.calculation import kernel_work
from drynpu.analysis.calculation._formulas import Call, cube_operations
from drynpu.products import load_profile

SIZES = st.integers(1, 5)
GENUINE = Path(os.environ.get("GENUINE_PROFILES", Path(__file__).parents[5] / "shared" / "data")) / "genuine"


def call(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], form: str = "ND", out: str = "ND") -> Call:
    return Call(inputs, outputs, [form] * len(inputs), [out] * len(outputs))


@given(SIZES, SIZES, SIZES, st.booleans(), st.booleans())
def test_a_matrix_product_however_it_is_transposed(m: int, n: int, k: int, first: bool, second: bool) -> None:
    a, b = ((k, m) if first else (m, k)), ((n, k) if second else (k, n))
    counted = sum(2 for _ in itertools.product(range(m), range(n), range(k)))
    assert cube_operations("MatMulV2", call([a, b, (n,)], [(m, n)])) == counted


@given(SIZES, SIZES, SIZES, SIZES, st.booleans())
def test_a_batched_product_with_and_without_a_shared_operand(b: int, m: int, n: int, k: int, shared: bool) -> None:
    second = (k, n) if shared else (b, k, n)
    assert cube_operations("BatchMatMulV2", call([(b, m, k), second], [(b, m, n)])) == 2 * b * m * n * k


@given(SIZES, SIZES, SIZES, SIZES, SIZES, SIZES)
def test_a_convolution_and_its_gradients(n: int, c: int, h: int, w: int, out: int, kernel: int) -> None:
    places = [0] * (n * h * w)
    expected = sum(2 * out * c * kernel * kernel for _ in places)
    image, weights, result = (n, c, h + kernel, w + kernel), (out, c, kernel, kernel), (n, out, h, w)
    form = "NCHW"
    assert cube_operations("Conv2D", call([image, weights, (out,)], [result], form, form)) == expected
    back = call([(4,), weights, result], [image], form, form)
    assert cube_operations("Conv2DBackpropInput", back) == expected
    assert cube_operations("Conv2DBackpropFilter", call([image, (4,), result], [weights], form, form)) == expected


@given(SIZES, SIZES, SIZES, SIZES, SIZES)
def test_attention_is_two_products_and_its_gradient_five(b: int, heads: int, s: int, keys: int, d: int) -> None:
    query, key, softmax = (b, heads, s, d), (b, heads, keys, d), (b, heads, s, 8)
    product = 2 * b * heads * s * keys * d
    forward = call([query, key, key], [softmax, softmax, query])
    assert cube_operations("FlashAttentionScore", forward) == 2 * product
    if d != 8:
        backward = call([query, key, key, query, softmax, softmax, query], [query, key, key])
        assert cube_operations("FlashAttentionScoreGrad", backward) == 5 * product


def test_what_is_not_known_is_not_guessed() -> None:
    assert cube_operations("Add", call([(3,)], [(3,)])) is None
    assert cube_operations("MatMulV2", call([(3, 4)], [])) is None
    assert cube_operations("MatMulV2", call([(3, 5), (4, 6)], [(3, 6)])) is None
    assert cube_operations("Conv2D", call([(1, 2, 3, 4), (2, 2, 3, 3)], [(1, 2, 1, 2)])) is None


@pytest.mark.skipif(not GENUINE.is_dir(), reason="no genuine profiles")
def test_the_convolutions_of_alexnet() -> None:
    """AlexNet of torchvision at 224 x 224, batch 32; channels are padded to 8, so the first layer has 8 for 3."""
    profile = load_profile(next((GENUINE / "torch_text_level1").glob("*_ascend_pt")))
    layers = [(8, 64, 11, 55), (64, 192, 5, 27), (192, 384, 3, 13), (384, 256, 3, 13), (256, 256, 3, 13)]
    expected = {2.0 * 32 * size**2 * out * kernel**2 * channels
                for channels, out, kernel, size in layers}  # fmt: skip
    work = kernel_work(profile)
    found = work.filter(work["op_type"] == "Conv2D")
    assert set(found["cube_flops"]) == expected
    assert set(found["source"]) == {"shapes"}
