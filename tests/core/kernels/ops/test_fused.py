"""Fused operators of MindSpore: kernel types, operations and bytes, counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu.kernels import Signature, TaskType, TensorDesc, ops
from drynpu.kernels._call import OperatorCall


class Launch(OperatorCall):
    """A call of which results and values are known, as MindSpore's are."""

    guesses = False
    outputs_at, attrs_at, arguments_at = 0, 1, 2


RULES = ops.rules_of("mindspore", Launch)


def tensor(*shape: int, dtype: str = "FLOAT16") -> TensorDesc:
    return TensorDesc(shape, dtype)


def kernels(name: str, inputs: list[TensorDesc | None], outputs: list[TensorDesc], values: dict[int, Any]) -> Any:
    """Return the kernels of a call whose arguments at some places are values."""
    arguments = tuple(values.get(place) for place in range(40))
    plan = RULES[name](Signature(name, tuple(inputs), (tuple(outputs), (), arguments)))
    assert plan is not None
    return plan.kernels


def test_attention_counts_pairs_of_the_layout() -> None:
    q, k = tensor(2, 5, 12), tensor(2, 7, 12)
    (kernel,) = kernels("FlashAttentionScore", [q, k, k], [tensor(2, 3, 5, 8), q], {10: 3, 16: 0, 17: 0})
    assert (kernel.op_type, kernel.task_type) == ("FlashAttentionScore", TaskType.MIX_AIC)
    assert kernel.cube_flops == 4 * 2 * 5 * 7 * 12
    shared = tensor(2, 1, 7, 4)
    q = tensor(2, 3, 5, 4)
    (kernel,) = kernels("PromptFlashAttention", [q, shared, shared], [q], {12: 3, 16: 1, 17: 1, 18: 0})
    assert kernel.cube_flops == 4 * 2 * 3 * 5 * 7 * 4


def test_attention_over_a_cache_reaches_as_far_as_the_table() -> None:
    q, cache, table = tensor(2, 1, 12), tensor(9, 16, 3, 4), tensor(2, 5, dtype="INT32")
    (kernel,) = kernels("PagedAttention", [q, cache, cache, table], [q], {10: 3})
    assert kernel.cube_flops == 4 * 2 * 3 * (5 * 16) * 4


def test_a_paged_cache_has_as_many_keys_as_its_table_lists() -> None:
    """A cache of three dims has its block size second, one of four has the heads before it."""
    query, table = tensor(2, 3, 1, 4), tensor(2, 5, dtype="INT32")
    for cache in (tensor(9, 16, 12), tensor(9, 3, 16, 4)):
        inputs = [query, cache, cache, *[None] * 10, table]
        (kernel,) = kernels("IncreFlashAttention", inputs, [query], {15: 3, 16: 1, 18: 3})
        assert kernel.cube_flops == 4 * 2 * 3 * (5 * 16) * 4


def test_the_gradient_of_attention_has_five_products_and_a_tile_for_each_block_of_keys() -> None:
    q, k = tensor(2, 5, 12), tensor(2, 700, 12)
    (kernel,) = kernels("FlashAttentionScoreGrad", [q, k, k], [q, k, k], {15: 3, 21: 0, 22: 0})
    assert kernel.cube_flops == 2 * (2 * 3 * 5 * 700) * 5 * 4
    forward = [q, k, k]
    (forth,) = kernels("FlashAttentionScore", forward, [tensor(2, 3, 5, 8), q], {10: 3, 16: 0, 17: 0})
    # Two samples of three heads: forward they have a block of queries each, backward six of keys.
    assert (forth.cube_tiles, kernel.cube_tiles) == (2 * 3, 2 * 3 * 6)


@pytest.mark.parametrize(
    ("x", "weight", "out"),
    [((8, 4), (3, 4, 5), (8, 5)), ((4, 8), (8, 5), (3, 4, 5))],
)
def test_a_product_of_groups_multiplies_every_row_once(x: Any, weight: Any, out: Any) -> None:
    (kernel,) = kernels("GroupedMatmulV4", [tensor(*x), tensor(*weight)], [tensor(*out)], {})
    assert kernel.op_type == "GroupedMatmul"
    assert kernel.cube_flops == 2 * 8 * 4 * 5


def test_a_result_for_each_group_has_the_tiles_of_each() -> None:
    """Tiles of 128 by 256: three by three of each of five results, and of a second output two."""
    outputs = [tensor(5, 300, 520), tensor(130, 9)]
    (kernel,) = kernels("GroupedMatmulV4", [tensor(40, 6), tensor(6, 520)], outputs, {})
    assert kernel.cube_tiles == 5 * 9 + 2
    assert kernel.cube_flops == 2 * 6 * (300 * 520 + 130 * 9)


def test_what_is_no_product_of_groups_is_left_to_others() -> None:
    signature = Signature("GroupedMatmulV4", (tensor(2, 3, 4), tensor(4, 5)), ((tensor(2, 3, 5),), (), ()))
    assert RULES["GroupedMatmulV4"](signature) is None


def test_experts_multiply_every_row_twice() -> None:
    x, first, second = tensor(2, 150, 6), tensor(4, 6, 700), tensor(4, 700, 6)
    (kernel,) = kernels("FFNExt", [x, first, second], [x], {})
    assert (kernel.op_type, kernel.cube_flops) == ("FFN", 2 * (2 * 150 * 6 * 700 * 2))
    assert kernel.cube_tiles == 3 * 3 + 3 * 1, "rows by the columns of each matrix"


@pytest.mark.parametrize(("mode", "pairs"), [(0, 5 * 7), (1, 5 * 7), (2, (5 * 7 + 5) // 2), (3, (5 * 7 + 5) // 2)])
def test_a_causal_mask_skips_half_of_the_pairs(mode: int, pairs: int) -> None:
    q, k = tensor(2, 5, 12), tensor(2, 7, 12)
    (kernel,) = kernels("FlashAttentionScore", [q, k, k], [q], {10: 3, 16: 0, 17: mode})
    assert kernel.cube_flops == 2 * (2 * 3 * pairs) * (4 + 4)
    (back,) = kernels("FlashAttentionScoreGrad", [q, k, k], [q, k, k], {15: 3, 21: 0, 22: mode})
    assert back.cube_flops == 2 * (2 * 3 * pairs) * (3 * 4 + 2 * 4)


def test_keys_of_fewer_heads_and_values_of_another_width_count_as_they_are() -> None:
    """Hidden sizes: six heads of 4 for queries, two for keys; values are half as wide."""
    q, k, v = tensor(2, 5, 24), tensor(2, 7, 8), tensor(2, 7, 4)
    (kernel,) = kernels("FlashAttentionScore", [q, k, v], [q], {10: 6, 16: 0, 17: 0})
    assert kernel.cube_flops == 2 * (2 * 6 * 5 * 7) * (4 + 2)


def test_packed_sequences_count_as_one() -> None:
    q, k = tensor(9, 3, 4), tensor(11, 3, 4)
    (kernel,) = kernels("FlashAttentionScore", [q, k, k], [q], {10: 3, 16: 4, 17: 0})
    assert kernel.cube_flops == 2 * (3 * 9 * 11) * (4 + 4)


@pytest.mark.parametrize("values", [{10: 0, 16: 0}, {10: 3, 16: 9}, {10: 3, 16: -1}, {10: 3, 16: 1}])
def test_attention_of_an_unknown_layout_is_left_to_others(values: dict[int, int]) -> None:
    """No heads; no such number; a layout of four dims for tensors of three."""
    q = tensor(2, 5, 12)
    arguments = tuple(values.get(place) for place in range(40))
    assert RULES["FlashAttentionScore"](Signature("FlashAttentionScore", (q, q, q), ((q,), (), arguments))) is None


def test_attention_over_a_cache_has_blocks_of_queries_for_each_sequence() -> None:
    """Two sequences of 300 tokens each by three heads: blocks hold 128 queries."""
    q, cache, table = tensor(600, 1, 12), tensor(9, 16, 3, 4), tensor(2, 5, dtype="INT32")
    (kernel,) = kernels("PagedAttention", [q, cache, cache, table], [q], {10: 3})
    assert kernel.cube_tiles == (3 * 2) * 3
    assert kernel.vector_ops == 4 * 600 * 3 * (5 * 16)


def test_rows_of_a_cache_are_all_that_is_read_and_written() -> None:
    rows, cache = tensor(3, 2, 8), tensor(50, 2, 8)
    (kernel,) = kernels("ReshapeAndCache", [rows, rows, cache, cache], [cache], {})
    assert (kernel.bytes_read, kernel.bytes_written) == (2 * 96, 2 * 96)


def test_dropout_draws_bits_and_applies_them() -> None:
    x, mask = tensor(16, 10), tensor(20, dtype="UINT8")
    draw, use = kernels("DropoutExt", [x], [x, mask], {})
    assert (draw.op_type, draw.task_type, draw.bytes_written) == ("DSAGenBitMask", TaskType.DSA, 20)
    assert (use.op_type, use.vector_ops, use.bytes_read) == ("DropOutDoMaskV3", 2 * 160, 320 + 20)


def test_quantised_products_bear_their_own_type() -> None:
    x, weight, scale = tensor(4, 6, dtype="INT8"), tensor(3, 6, dtype="INT8"), tensor(3, dtype="UINT64")
    values = {6: False, 7: True}
    (kernel,) = kernels("QuantBatchMatmul", [x, weight, scale], [tensor(4, 3)], values)
    assert (kernel.op_type, kernel.cube_flops) == ("QuantBatchMatmulV3", 2 * 4 * 6 * 3)


def test_routing_reads_the_rows_that_it_writes() -> None:
    x, index = tensor(100, 16), tensor(3, 2, dtype="INT32")
    (kernel,) = kernels("MoeTokenPermute", [x, index], [tensor(6, 16), tensor(6, dtype="INT32")], {})
    assert kernel.bytes_read == 6 * 16 * 2 + 6 * 4
    assert kernel.bytes_written == 6 * 16 * 2 + 6 * 4


def test_the_gradient_of_a_convolution_is_a_kernel_for_each_operand() -> None:
    dy, x, weight = tensor(1, 4, 3, 3), tensor(1, 2, 3, 3), tensor(4, 2, 1, 1)
    found = kernels("ConvolutionGrad", [dy, x, weight], [x, weight, tensor(4)], {7: False, 9: 1})
    names = [kernel.op_type for kernel in found]
    assert [name for name in names if name != "MemSet"] == [
        "Conv2DBackpropInput",
        "Conv2DBackpropFilter",
        "BiasAddGrad",
    ]
