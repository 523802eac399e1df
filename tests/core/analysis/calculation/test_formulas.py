"""Operations of kernels against loops over the definition of the operation, and against published networks."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu.analysis.calculation import kernel_work
from drynpu.analysis.calculation._formulas import Call, cube_operations, formula_of
from drynpu.analysis.calculation._work import call_of
from drynpu.kernels import TensorDesc, family_of
from drynpu.kernels.ops import kernel_types
from drynpu.products import load_profile

SIZES = st.integers(1, 5)
GENUINE = Path(os.environ.get("GENUINE_PROFILES", Path(__file__).parents[5] / "shared" / "data")) / "genuine"


def call(inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]], form: str = "ND", out: str = "ND") -> Call:
    return Call([TensorDesc(each, "FLOAT16", form) for each in inputs],
                [TensorDesc(each, "FLOAT16", out) for each in outputs])  # fmt: skip


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


A, B, C, BIAS = (4, 8), (8, 16), (4, 16), (16,)
IMAGE, WEIGHTS, RESULT = (2, 3, 8, 8), (5, 3, 3, 3), (2, 5, 6, 6)
CONVOLUTION = 2 * (2 * 6 * 6) * (5 * 3 * 3 * 3)
SPACE, WINDOWS, SPACE_RESULT = (2, 3, 4, 8, 8), (5, 3, 3, 3, 3), (2, 5, 2, 6, 6)
CONVOLUTION_3D = 2 * (2 * 2 * 6 * 6) * (5 * 3 * 27)
PRODUCTS = ("MatMul", "MatMulV2", "MatMulV3", "Gemm", "GemmV2", "GemmV3", "FusionOp_MatMul_AddN", "QuantBatchMatmulV3",
            "QuantMatmul", "WeightQuantBatchMatmulV2", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3",
            "BatchMatmulFixpipe", "TransposeBatchMatMul", "MatmulAllReduce", "MatmulAllReduceAddRmsNorm",
            "FusedMatMul", "MatMulCompress", "MatMulV2Compress", "LinearActivation")  # fmt: skip


@pytest.mark.parametrize(("names", "inputs", "outputs", "form", "operations"), [
    (PRODUCTS, [A, B, BIAS], [C], "ND", 1024),
    (PRODUCTS, [(8, 4), (16, 8)], [C], "ND", 1024),
    (("MatMulV2", "FusionOp_MatMul_GeLU"), [(3, 2, 16, 16), (4, 3, 16, 16)], [(4, 2, 16, 16)], "FRACTAL_NZ",
     2 * 32 * 48 * 64),
    (("BatchMatMulV2", "BatchMatMulV3"), [(4, 8), (3, 8, 16)], [(3, 4, 16)], "ND", 3 * 1024),
    (("BatchMatMulV2",), [(3, 1, 4, 8), (1, 2, 8, 16)], [(3, 2, 4, 16)], "ND", 6 * 1024),
    (("AllGatherMatmul", "AllGatherMatmulV2"), [A, B], [(8, 16), (8, 8)], "ND", 2 * 1024),
    (("MatmulReduceScatter", "MatmulReduceScatterV2"), [A, B], [(2, 16)], "ND", 1024),
    (("GroupedMatmul", "GroupedMatMul", "GroupedMatmulV5"), [A, (3, 8, 16)], [C], "ND", 1024),
    (("GroupedMatmulSwigluQuant", "GroupedMatmulSwigluQuantV2"), [A, (3, 8, 16)], [(4, 8), (4,)], "ND", 1024),
    (("GroupedMatmul",), [A, B, B], [C, (2, 16)], "ND", 1024 + 512),
    (("GroupedMatmulAdd",), [(8, 4), B, (3,)], [(3, 4, 16)], "ND", 1024),
    (("FFN", "MoeFFN"), [A, B, (16, 8)], [A], "ND", 2048),
    (("DynamicRNN", "DynamicRNNV2"), [(7, 2, 3), (5, 8), (8,)], [(7, 2, 2)], "ND", 2 * 14 * 40),
    (("DynamicRNNGrad",), [(7, 2, 3), (5, 8), (8,)], [(5, 8)], "ND", 4 * 14 * 40),
    (("DynamicGRUV2", "DynamicAUGRU"), [(7, 2, 3), (3, 6), (2, 6)], [(7, 2, 2)], "ND", 2 * 14 * 30),
    (("Conv2D", "Conv2DV2", "FusionOp_Conv2D_BNTrainingReduce", "Conv2DCompress", "DeformableConv2D"),
     [IMAGE, WEIGHTS], [RESULT, (5,)], "NCHW", CONVOLUTION),
    (("DepthwiseConv2D", "DepthwiseConv2d", "DepthwiseConv2DV2"), [IMAGE, (3, 1, 3, 3)], [(2, 3, 6, 6)], "NCHW",
     2 * (2 * 6 * 6) * 27),
    (("Conv2DBackpropInputD", "Conv2DBackpropInputV2", "DepthwiseConv2DBackpropInputD"),
     [WEIGHTS, RESULT], [IMAGE], "NCHW", CONVOLUTION),
    (("Conv2DBackpropInput", "FusionOp_Conv2DBackpropInput_ReluGradV2"), [(4,), WEIGHTS, RESULT], [IMAGE], "NCHW",
     CONVOLUTION),
    (("Conv2DBackpropFilterD", "Conv2DBackpropFilterV2", "DepthwiseConv2DBackpropFilterD"),
     [IMAGE, RESULT], [WEIGHTS], "NCHW", CONVOLUTION),
    (("Conv2DTransposeD", "Conv2DTransposeV2"), [RESULT, WEIGHTS], [IMAGE], "NCHW", CONVOLUTION),
    (("Conv3D", "Conv3DV2"), [SPACE, WINDOWS], [SPACE_RESULT], "NCDHW", CONVOLUTION_3D),
    (("Conv3DBackpropInputD", "Conv3DBackpropInputV2"), [WINDOWS, SPACE_RESULT], [SPACE], "NCDHW", CONVOLUTION_3D),
    (("Conv3DBackpropFilterD", "Conv3DBackpropFilterV2"), [SPACE, SPACE_RESULT], [WINDOWS], "NCDHW", CONVOLUTION_3D),
    (("Conv3DTranspose", "Conv3DTransposeD", "Conv3DTransposeV2"), [SPACE_RESULT, WINDOWS], [SPACE], "NCDHW",
     CONVOLUTION_3D),
    (("FlashAttentionScore", "PromptFlashAttention", "PromptFlashAttentionV3", "FusedInferAttentionScore",
      "FusedInferAttentionScoreV4", "UnpadFlashAttentionNdKernel", "IncreFlashAttentionV4"),
     [(2, 8, 32, 64), (2, 2, 16, 64), (2, 2, 16, 64)], [(2, 8, 32, 64)], "ND", 4 * (2 * 8 * 32 * 16) * 64),
    (("FlashAttentionScoreGrad", "FlashAttentionScoreGradV2"), [*[(2, 8, 32, 64)] * 4], [*[(2, 8, 32, 64)] * 3], "ND",
     10 * (2 * 8 * 32 * 32) * 64),
])  # fmt: skip
def test_a_formula_is_for_all_spellings_of_a_family(
    names: tuple[str, ...],
    inputs: list[tuple[int, ...]],
    outputs: list[tuple[int, ...]],
    form: str,
    operations: int,
) -> None:
    counted = {name: cube_operations(name, call(inputs, outputs, form, form)) for name in names}
    assert counted == dict.fromkeys(names, operations)


@pytest.mark.parametrize(("inputs", "formats"), [
    ("2,1,8,8,16;9,1,16,16", "NC1HWC0;FRACTAL_Z"), ("9,1,16,16;2,1,8,8,16;2,1,8,8,2", "FracZ;NC1HWC0;ND"),
])  # fmt: skip
def test_weights_are_found_by_their_format_wherever_they_stand(inputs: str, formats: str) -> None:
    texts = (inputs, "FLOAT16;FLOAT16", formats, "2,1,16,16,16", "FLOAT16", "NC1HWC0")
    assert cube_operations("Conv2DBackpropInputD", call_of(*texts)) == 2 * (2 * 64) * (9 * 256)


def test_lengths_that_no_shape_states_are_not_guessed() -> None:
    paged = call_of("4,1,16,128;9,128,1024;9,128,1024;4,3", "FLOAT16;FLOAT16;FLOAT16;INT32", "", "4,1,16,128", "", "")
    packed = call_of("64,16,128;64,2,128;64,2,128;3", "FLOAT16;FLOAT16;FLOAT16;INT64", "", "64,16,128", "", "")
    assert [cube_operations("FusedInferAttentionScore", each) for each in (paged, packed)] == [None, None]


def test_every_kernel_of_the_cube_that_a_rule_launches_has_a_formula() -> None:
    none = {"DeformableOffsets", "DeformableOffsetsGrad", "Im2col", "MultiScaleDeformableAttnFunction",
            "MultiScaleDeformableAttnGrad", "RingAttentionUpdate"}  # fmt: skip
    cube = {kind for kind in kernel_types() if family_of(kind).name in {"matmul", "conv", "attention"}}
    assert {kind for kind in cube if formula_of(kind) is None} == none & cube


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
