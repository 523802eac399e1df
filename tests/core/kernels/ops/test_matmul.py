"""Products, with work counted by hand and the block numbers of measured profiles."""

from __future__ import annotations

import pytest

from drynpu.kernels import NodeCall, TaskType, TensorDesc, bind, cost, node_signature
from drynpu.kernels.ops.matmul import dense, einsum, product, stacked_product, vector_product
from drynpu.platforms import load_chip

TURNED = "MatMulV2(a b turn_a turn_b)"


def tensor(*shape: int, dtype: str = "FLOAT") -> TensorDesc:
    return TensorDesc(shape, dtype)


@pytest.mark.parametrize(
    ("a", "b", "turn_a", "turn_b"),
    [
        ((3, 5), (5, 7), False, False),
        ((5, 3), (5, 7), True, False),
        ((3, 5), (7, 5), False, True),
        ((5, 3), (7, 5), True, True),
    ],
)
def test_operands_may_be_turned(ask, a, b, turn_a, turn_b) -> None:
    (kernel,) = ask(product, TURNED, tensor(*a), tensor(*b), turn_a, turn_b).kernels
    assert (kernel.op_type, kernel.cube_flops, kernel.cube_tiles) == ("MatMulV2", 210, 1)
    assert (kernel.outputs, kernel.hf32) == ((tensor(3, 7),), False)
    assert ask(product, TURNED, tensor(*a), tensor(*b), not turn_a, turn_b) is None


def test_a_bias_is_added_by_the_same_kernel(ask) -> None:
    (kernel,) = ask(product, "aclnnAddmm:(bias a b)", tensor(7), tensor(3, 5), tensor(5, 7)).kernels
    assert [t.shape for t in kernel.inputs] == [(3, 5), (5, 7), (7,)]
    assert (kernel.bytes_read, kernel.bytes_written) == (4 * (15 + 35 + 7), 4 * 21)


def test_stacks_broadcast(ask) -> None:
    plan = ask(product, "(a b)", tensor(4, 1, 2, 3, dtype="FLOAT16"), tensor(6, 3, 300, dtype="FLOAT16"))
    (kernel,) = plan.kernels
    assert (kernel.op_type, kernel.cube_flops) == ("BatchMatMulV2", 24 * 2 * 2 * 3 * 300)
    assert (kernel.outputs[0].shape, kernel.cube_tiles) == ((4, 6, 2, 300), 24 * 1 * 2)
    (single,) = ask(stacked_product, "(a b)", tensor(2, 3), tensor(3, 5)).kernels
    assert (single.op_type, single.cube_flops) == ("BatchMatMulV2", 60)


@pytest.mark.parametrize(
    ("rows", "inner", "columns", "kind"),
    [(32, 4096, 4096, "MatMulV2"), (1000, 32, 4096, "MatMulV2"), (4096, 32, 9216, "MatMulV3")],
)
def test_the_measured_products_have_their_types(ask, rows, inner, columns, kind) -> None:
    """device_and_cost_model.md 3.5: V3 from [4096, 32] x [32, 9216] on."""
    (kernel,) = ask(product, "(a b)", tensor(rows, inner), tensor(inner, columns)).kernels
    assert kernel.op_type == kind


@pytest.mark.parametrize(
    ("rows", "columns", "chip", "blocks"),
    [
        (32, 4096, "Ascend910B2", 16),
        (4096, 9216, "Ascend910B2", 24),
        (4096, 4096, "Ascend910B4", 20),
    ],
)
def test_blocks_are_tiles_as_far_as_there_are_cores(ask, rows, columns, chip, blocks) -> None:
    """device_and_cost_model.md 3.3: 20 on the chip with 20 cores, 16 or 24 on that with 24."""
    a, b = tensor(rows, 4096, dtype="DT_BF16"), tensor(4096, columns, dtype="DT_BF16")
    (kernel,) = ask(product, "(a b)", a, b).kernels
    assert cost(kernel, load_chip(chip)).block_num == blocks


def test_dense_folds_leading_dims_into_rows(ask) -> None:
    (kernel,) = ask(dense, "(x weight bias)", tensor(2, 3, 5), tensor(7, 5), tensor(7)).kernels
    assert (kernel.cube_flops, kernel.outputs[0].shape) == (2 * 6 * 5 * 7, (2, 3, 7))
    assert ask(dense, "(x weight bias)", tensor(2, 3, 4), tensor(7, 5)) is None


def node(operator, spelling, inputs, out, **attrs):
    (kernel,) = bind(operator, spelling, NodeCall)(node_signature("n", inputs, [out], attrs, node="net/n")).kernels
    return kernel


def test_vectors_are_matrices_of_one_row_or_column() -> None:
    kernel = node(vector_product, "(a b)", [tensor(5), tensor(4, 5, 7)], tensor(4, 7))
    assert (kernel.op_type, kernel.cube_flops, kernel.name) == ("BatchMatMulV2", 2 * 4 * 5 * 7, "net/n")
    assert node(vector_product, "(a b)", [tensor(3, 5), tensor(5)], tensor(3)).cube_flops == 30


@pytest.mark.parametrize(
    ("equation", "shapes", "out", "flops"),
    [
        ("bij,bjk->bik", [(2, 3, 5), (2, 5, 7)], (2, 3, 7), 2 * 2 * 3 * 5 * 7),
        ("...ij,jk->...ik", [(4, 2, 3, 5), (5, 7)], (4, 2, 3, 7), 2 * 8 * 3 * 5 * 7),
    ],
)
def test_einsum_counts_every_label_once(equation, shapes, out, flops) -> None:
    kernel = node(einsum, "()", [tensor(*shape) for shape in shapes], tensor(*out), equation=equation)
    assert (kernel.op_type, kernel.cube_flops) == ("BatchMatMulV2", flops)


def test_einsum_has_the_tiles_of_its_result_for_every_matrix() -> None:
    """A tile is 128 rows by 256 columns: 3 x 2 of them for each of 4 matrices, and one for a single number."""
    shapes = [(4, 300, 5), (4, 5, 257)]
    kernel = node(einsum, "()", [tensor(*s) for s in shapes], tensor(4, 300, 257), equation="bij,bjk->bik")
    assert kernel.cube_tiles == 24
    flat = node(einsum, "()", [tensor(5, 300), tensor(5)], tensor(300), equation="ij,i->j")
    assert (flat.cube_tiles, flat.cube_flops) == (2, 2 * 5 * 300)
    assert node(einsum, "()", [tensor(5), tensor(5)], tensor(), equation="i,i->").cube_tiles == 1


def test_what_no_core_computes_goes_to_the_ai_cpu(ask) -> None:
    (kernel,) = ask(product, "(a b)", tensor(2, 3, dtype="DOUBLE"), tensor(3, 5, dtype="DOUBLE")).kernels
    assert kernel.task_type is TaskType.AI_CPU
