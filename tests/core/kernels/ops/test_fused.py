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
