"""Work of kernels that are known by their type and tensors: counted by hand from what the operators compute."""

from __future__ import annotations

import pytest
from attrs import evolve

from drynpu.kernels import TaskType, TensorDesc, cost
from drynpu.platforms import load_chip
from drynpu_calibration import described_kernel

VECTOR, MIX = TaskType.AI_VECTOR_CORE, TaskType.MIX_AIC


def tensor(*shape: int, dtype: str = "DT_BF16", form: str = "ND") -> TensorDesc:
    return TensorDesc(shape, dtype, form)


# ------------------------------------------------------------------------------------------------------- caches


@pytest.mark.parametrize("with_outputs", [True, False])
def test_a_cache_gets_the_rows_of_its_tokens_and_nothing_else(with_outputs: bool) -> None:
    key, cache, slots = tensor(32, 8, 128), tensor(500, 128, 8, 128), tensor(32, dtype="INT32")
    outputs = [cache, cache] if with_outputs else []
    spec = described_kernel("ReshapeAndCacheNdKernel", VECTOR, [key, key, cache, cache, slots], outputs)
    rows = 2 * 32 * 8 * 128 * 2
    assert spec.bytes_read == rows + 32 * 4
    assert rows <= spec.bytes_written <= rows + 32 * 4
    # 131 MB of cache would take 164 us on this chip; a few rows take less than 10.
    assert cost(spec, load_chip("Ascend910B2")).duration_ns < 10_000


def test_a_fused_norm_and_cache_reads_its_rows_and_works_on_them_alone() -> None:
    tokens = 32
    rows, rotated = tensor(tokens, 1, 1, 576), tensor(tokens, 1, 1, 64)
    keys, latent = tensor(500, 128, 1, 64), tensor(500, 128, 1, 512)
    index = tensor(tokens, dtype="INT64")
    inputs = [rows, tensor(512), rotated, rotated, index, keys, latent]
    spec = described_kernel("KvRmsNormRopeCache", VECTOR, inputs, [keys, latent, rotated, tensor(tokens, 1, 1, 512)])
    assert spec.bytes_read == (tokens * (576 + 64 + 64) + 512) * 2 + tokens * 8
    # Once into the caches, once as results.
    assert tokens * (576 + 576) * 2 <= spec.bytes_written <= spec.bytes_read + tokens * 576 * 2
    assert spec.vector_ops <= 10 * tokens * 576


def test_a_scatter_into_a_large_tensor_moves_the_values() -> None:
    target, values = tensor(500, 128, 8, 128), tensor(32, 8, 128)
    spec = described_kernel("ScatterNdUpdate", VECTOR, [target, tensor(32, 1, dtype="INT32"), values], [target])
    assert spec.bytes_read == 32 * 8 * 128 * 2 + 32 * 4


def test_a_copy_into_a_view_reads_its_source_once() -> None:
    target, numbers = tensor(8192, 4096), [tensor(2, dtype="INT64")] * 2 + [tensor(1, dtype="INT64")]
    spec = described_kernel("ViewCopy", VECTOR, [target, *numbers, tensor(16, 4096), *numbers], [target])
    assert spec.bytes_read == pytest.approx(16 * 4096 * 2, rel=0.01)
    assert spec.bytes_written == spec.bytes_read


# --------------------------------------------------------------------------------------------------- operations


def test_vector_work_is_that_of_the_largest_tensor() -> None:
    spec = described_kernel("Add", None, [tensor(7), tensor(100, 7)], [tensor(100, 7)])
    assert (spec.task_type, spec.vector_ops, spec.cube_flops) == (VECTOR, 700, 0)
    assert described_kernel("Add", None, [], []).vector_ops == 0
    assert described_kernel("LayerNormV3", None, [tensor(100, 7), tensor(7)], [tensor(100, 7)]).vector_ops == 9 * 700


def test_a_product_has_cube_work_alone_unless_something_is_fused_behind_it() -> None:
    x, w, out = tensor(30, 50), tensor(50, 20), tensor(30, 20)
    spec = described_kernel("MatMulV2", None, [x, w], [out])
    assert (spec.task_type, spec.cube_flops, spec.vector_ops) == (TaskType.AI_CORE, 2 * 30 * 50 * 20, 0)
    assert described_kernel("FusionOp_MatMul_Relu", None, [x, w], [out, tensor(20)]).vector_ops == 600
    small = [tensor(30, 50, dtype="INT8"), tensor(50, 20, dtype="INT8")]
    assert described_kernel("QuantBatchMatmulV3", MIX, small, [out]).vector_ops == 4 * 600
    assert described_kernel("QuantBatchMatmulV3", TaskType.AI_CORE, small, [out]).vector_ops == 0
    assert described_kernel("MatMulV2", TaskType.AI_CPU, [x, w], [out]).cube_flops == 0


def test_a_gather_works_on_what_it_writes() -> None:
    spec = described_kernel("GatherV2", None, [tensor(5000, 7), tensor(3, dtype="INT64")], [tensor(3, 7)])
    assert spec.vector_ops == spec.bytes_written == 3 * 7 * 2


# ---------------------------------------------------------------------------------------------------- attention

HEADS, KEY_HEADS, WIDTH = 32, 8, 128
DENSE = 32, 1024
"""Sequences and keys of each."""


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ((32, HEADS, 1, WIDTH), (32, KEY_HEADS, 1024, WIDTH)),
        ((32, 1, HEADS * WIDTH), (32, 1024, KEY_HEADS * WIDTH)),
        ((1, 32, HEADS * WIDTH), (1024, 32, KEY_HEADS * WIDTH)),
    ],
    ids=["BNSD", "BSH", "SBH"],
)
def test_decoding_computes_the_same_in_every_layout(query: tuple[int, ...], key: tuple[int, ...]) -> None:
    spec = described_kernel("IncreFlashAttention", MIX, [tensor(*query), tensor(*key), tensor(*key)], [tensor(*query)])
    sequences, keys = DENSE
    assert spec.cube_flops == 2 * 2 * sequences * HEADS * keys * WIDTH
    # Keys and values were written in earlier steps: they come from memory, at 1.6 TB/s at best.
    cached = 2 * sequences * keys * KEY_HEADS * WIDTH * 2
    assert cost(spec, load_chip("Ascend910B2")).duration_ns >= cached / 1600


@pytest.mark.parametrize("query", [(32, HEADS, 1, WIDTH), (32, 1, HEADS * WIDTH), (32, HEADS, WIDTH)])
@pytest.mark.parametrize("page", [(128, KEY_HEADS * WIDTH), (KEY_HEADS, 128, WIDTH)])
def test_a_paged_cache_is_read_as_far_as_the_root_of_its_table(query: tuple[int, ...], page: tuple[int, ...]) -> None:
    cache, table = tensor(2000, *page), tensor(32, 25, dtype="INT32")
    spec = described_kernel("FusedInferAttentionScore", MIX, [tensor(*query), cache, cache, table], [tensor(*query)])
    pages = 32 * 5
    assert spec.cube_flops == 2 * 2 * HEADS * pages * 128 * WIDTH
    assert spec.bytes_read == pages * 128 * KEY_HEADS * WIDTH * 2 * 2 + 32 * HEADS * WIDTH * 2


def test_the_time_of_a_paged_attention_follows_the_lengths_that_its_launch_knows() -> None:
    """A table may name far more pages than the sequences have: 128 to 32768 keys take 20 us to 1 ms."""
    query, cache, table = tensor(8, 32, 128), tensor(2048, 128, 8, 128), tensor(8, 256, dtype="INT32")
    spec = described_kernel("PagedAttentionMaskNdKernel", MIX, [query, cache, cache, table], [query])

    def time(keys: int) -> float:
        pairs, moved = 8 * 32 * keys, 2 * 8 * keys * 8 * 128 * 2
        known = evolve(spec, cube_flops=4 * 128 * pairs, vector_ops=4 * pairs, bytes_read=moved + query.size_bytes)
        return cost(known, load_chip("Ascend910B2")).duration_ns

    assert time(16 * 128) == pytest.approx(cost(spec, load_chip("Ascend910B2")).duration_ns)
    assert time(128) < 25_000
    assert time(32768) > 40 * time(128)


@pytest.mark.parametrize("dtype", ["INT32", "INT64"])
def test_packed_sequences_are_told_by_their_lengths(dtype: str) -> None:
    query, key = tensor(4096, HEADS, WIDTH), tensor(4096, KEY_HEADS, WIDTH)
    mask, lengths = tensor(2048, 2048, dtype="INT8"), tensor(4, dtype=dtype)
    spec = described_kernel("UnpadFlashAttention", MIX, [query, key, key, mask, lengths], [query])
    pairs = 4 * HEADS * 1024 * 1025 // 2
    assert spec.cube_flops == 2 * 2 * pairs * WIDTH


@pytest.mark.parametrize("vendor", ["fused", "atb"])
def test_latent_attention_reads_its_cache_once_and_adds_the_rotated_part(vendor: str) -> None:
    tokens, heads, blocks = 32, 128, 40
    table = tensor(tokens, 1, dtype="INT32")
    if vendor == "fused":
        query, rotated = tensor(tokens, heads, 1, 512), tensor(tokens, heads, 1, 64)
        cache, keys = tensor(blocks, 1, 128, 512), tensor(blocks, 1, 128, 64)
        inputs = [query, cache, cache, table, rotated, keys]
    else:
        query, rotated = tensor(tokens, heads, 512), tensor(tokens, heads, 64)
        cache, keys = tensor(blocks, 128, 1, 512), tensor(blocks, 128, 1, 64)
        inputs = [query, rotated, cache, keys, table]
    op_type = "MultiLatentAttention" if vendor == "atb" else "FusedInferAttentionScore"
    spec = described_kernel(op_type, MIX, inputs, [query])
    # The one page of each that the table can name.
    keys_read = 32 * 128
    assert spec.cube_flops == 2 * heads * keys_read * (512 + 64 + 512)
    assert spec.bytes_read == keys_read * (512 + 64) * 2 + tokens * heads * 512 * 2


def test_values_may_be_narrower_than_keys() -> None:
    query, value = tensor(1, 16, 512, 192), tensor(1, 16, 512, 128)
    spec = described_kernel("FlashAttentionScore", MIX, [query, query, value], [value])
    assert spec.cube_flops == 2 * 16 * 512 * 512 * (192 + 128)
    gradient = described_kernel("FlashAttentionScoreGrad", MIX, [query, query, value, value], [query, query, value])
    assert gradient.cube_flops == 2 * 16 * 512 * 512 * (3 * 192 + 2 * 128)


# ---------------------------------------------------------------------------------------------- grouped products


@pytest.mark.parametrize(("rows", "experts_read"), [(256, 64), (24, 24)])
def test_a_grouped_product_reads_the_experts_that_have_rows(rows: int, experts_read: int) -> None:
    x, weights = tensor(rows, 2048), tensor(64, 2048, 1536)
    spec = described_kernel("GroupedMatmul", MIX, [x, weights, tensor(64, dtype="INT64")], [tensor(rows, 1536)])
    assert spec.cube_flops == 2 * rows * 2048 * 1536
    assert spec.bytes_read == (rows * 2048 + experts_read * 2048 * 1536) * 2 + 64 * 8
    # Nearly all of it is one pass over the weights: at 1.6 TB/s, and not half as slow again.
    least = experts_read * 2048 * 1536 * 2 / 1600
    assert least < cost(spec, load_chip("Ascend910B2")).duration_ns < 1.5 * least + 10_000


def test_weights_of_experts_in_blocks_count_like_plain_ones() -> None:
    x, plain = tensor(512, 7168, dtype="INT8"), tensor(32, 7168, 4096, dtype="INT8")
    blocks = tensor(32, 128, 448, 16, 32, dtype="INT8", form="FRACTAL_NZ")
    specs = [described_kernel("GroupedMatmul", MIX, [x, w], [tensor(512, 4096)]) for w in (plain, blocks)]
    assert specs[0].cube_flops == specs[1].cube_flops == 2 * 512 * 7168 * 4096
    assert specs[0].bytes_read == specs[1].bytes_read


def test_the_chain_before_a_latent_attention_multiplies_four_weights() -> None:
    tokens = 32
    weights = [tensor(7168, 1536), tensor(1536, 24576), tensor(128, 128, 512), tensor(7168, 576)]
    cache = [tensor(500, 128, 1, 512), tensor(500, 128, 1, 64)]
    small = [tensor(1536), tensor(512), tensor(tokens, 1, 64), tensor(tokens, 1, 64), tensor(tokens, 1, dtype="INT64")]
    outputs = [tensor(tokens, 1, 128, 512), tensor(tokens, 1, 128, 64), *cache]
    spec = described_kernel("MlaPrologV2", MIX, [tensor(tokens, 1, 7168), *weights, *small, *cache], outputs)
    elements = sum(w.elements for w in weights)
    assert spec.cube_flops == pytest.approx(2 * tokens * elements, rel=0.001)
    assert elements * 2 < spec.bytes_read < elements * 2 + 1_000_000
    assert cost(spec, load_chip("Ascend910B2")).duration_ns >= elements * 2 / 1600


# ------------------------------------------------------------------------------------------- products and cores


def product(rows: int, inner: int, columns: int, *, task: TaskType = MIX) -> float:
    operands = tensor(rows, inner), tensor(inner, columns)
    return cost(
        described_kernel("MatMulV3", task, operands, [tensor(rows, columns)]), load_chip("Ascend910B4")
    ).duration_ns


def test_only_rows_that_the_cube_cannot_take_apart_go_through_the_vector_cores() -> None:
    aligned = product(4096, 65280, 1024)
    # 65 536 elements are more than the stride of 16 bits; the product itself grows by 0.4 %.
    assert product(4096, 65536, 1024) > 1.2 * aligned
    assert product(4096, 65280, 1024, task=TaskType.AI_CORE) == pytest.approx(aligned, rel=0.05)


@pytest.mark.parametrize(("rows", "blocks"), [(1, 1), (32, 32), (4096, 48)])
def test_what_works_on_whole_rows_has_at_most_a_block_for_each(rows: int, blocks: int) -> None:
    x = tensor(rows, 8192)
    spec = described_kernel("RmsNorm", VECTOR, [x, tensor(8192)], [x, tensor(rows, 1, dtype="FLOAT")])
    assert cost(spec, load_chip("Ascend910B2")).block_num == blocks


def test_dequantisation_is_vector_work_on_the_results_alone() -> None:
    x, weight = tensor(64, 4096, dtype="INT8"), tensor(4096, 1024, dtype="INT8")
    spec = described_kernel("QuantBatchMatmulV3", MIX, [x, weight, tensor(1024, dtype="FLOAT")], [tensor(64, 1024)])
    assert spec.vector_ops == 4 * 64 * 1024
    assert described_kernel("MatMulV3", MIX, [tensor(64, 4096), tensor(4096, 1024)], [tensor(64, 1024)]).vector_ops == 0


# ------------------------------------------------------------------------------------------------- convolutions


def blocks(*shape: int, dtype: str = "FLOAT16") -> TensorDesc:
    return tensor(*shape, dtype=dtype, form="NC1HWC0")


def weights(*shape: int) -> TensorDesc:
    return tensor(*shape, dtype="FLOAT16", form="FRACTAL_Z")


def test_sums_behind_a_convolution_are_no_images() -> None:
    image, result, sums = blocks(64, 28, 8, 8, 16), blocks(64, 24, 8, 8, 16), blocks(1, 24, 1, 1, 16, dtype="FLOAT")
    inputs = [image, weights(252, 24, 16, 16)]
    spec = described_kernel("FusionOp_Conv2D_BNTrainingReduce", TaskType.AI_CORE, inputs, [result, sums, sums])
    assert spec.cube_flops == 2 * 64 * 8 * 8 * (28 * 16 * 9) * (24 * 16)


@pytest.mark.parametrize(("area", "positions"), [(9, 56 * 56), (1, 28 * 28)], ids=["3x3", "1x1"])
def test_the_gradient_of_an_image_with_strides_multiplies_zeros(area: int, positions: int) -> None:
    coming, gradient = blocks(32, 8, 28, 28, 16), blocks(32, 4, 56, 56, 16)
    mask = tensor(32, 4, 56, 56, 2, dtype="UINT8")
    inputs = [coming, weights(4 * area, 8, 16, 16), mask]
    spec = described_kernel("FusionOp_Conv2DBackpropInput_ReluGradV2", TaskType.AI_CORE, inputs, [gradient])
    assert spec.cube_flops == 2 * 32 * positions * (4 * 16 * area) * (8 * 16)


# --------------------------------------------------------------------------------------------- cleared memory


@pytest.mark.parametrize(
    ("cleared", "size_bytes"),
    [
        (tensor(21128, 768, dtype="FLOAT"), 21128 * 768 * 4),
        (tensor(48, 1321, 16, 16, dtype="FLOAT", form="FRACTAL_NZ"), 48 * 1321 * 256 * 4),
        (blocks(64, 16, 56, 56, 16), 2 * 4 * 16 * 16),
        (tensor(256, 128, 768, dtype="FLOAT"), 2 * 4 * 768),
    ],
    ids=["matrix", "matrix in blocks", "image", "stack"],
)
def test_gradients_are_cleared_whole_and_of_images_their_sums(cleared: TensorDesc, size_bytes: int) -> None:
    spec = described_kernel("AtomicAddrClean", VECTOR, [cleared], [])
    assert (spec.bytes_read, spec.bytes_written) == (0, size_bytes)


@pytest.mark.parametrize(
    "op_type", ["ApplyAdamWV2", "ReshapeAndCache", "MatMulV3", "FlashAttentionScore", "ViewCopy", "Sort"]
)
def test_a_kernel_of_which_no_tensor_is_known_has_a_time(op_type: str) -> None:
    spec = described_kernel(op_type, None, [], [])
    assert (spec.bytes_read, spec.bytes_written) == (0, 0)
    assert cost(spec, load_chip("Ascend910B2")).duration_ns > 0


@pytest.mark.parametrize(
    ("weight", "positions"),
    [((7, 5, 1, 1), 4 * 6), ((7, 5, 1, 3), 8 * 12), ((7, 5, 3, 3), 8 * 12), ((7, 5, 3), 4 * 6)],
)
def test_the_gradient_of_an_image_meets_zeros_where_a_weight_covers_several_positions(
    weight: tuple[int, ...], positions: int
) -> None:
    """With strides of 2 there are four times as many positions as gradients."""
    filters, dy, dx = tensor(*weight, form="HWCN"), tensor(3, 7, 4, 6, form="NCHW"), tensor(3, 5, 8, 12, form="NCHW")
    spec = described_kernel("Conv2DBackpropInput", None, [filters, dy], [dx])
    assert spec.cube_flops == 2 * 3 * positions * filters.elements
