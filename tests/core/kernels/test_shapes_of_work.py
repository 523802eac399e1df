"""Edges of products and positions of images in every layout, with numbers of their own; B x M x K by B x K x N."""

from __future__ import annotations

import pytest

from drynpu.kernels import TensorDesc
from drynpu.kernels._shapes_of_work import Edges, image_positions, matrix_shape, product_edges, prolog_edges

M, K, N = 33, 70, 130


def tensor(*shape: int, layout: str = "ND", dtype: str = "FLOAT16") -> TensorDesc:
    return TensorDesc(shape, dtype, layout)


@pytest.mark.parametrize(("shape", "layout", "expected"), [
    ((M, K), "ND", (1, M, K)), ((3, 5, M, K), "ND", (15, M, K)), ((K,), "ND", (1, 1, K)), ((), "ND", (1, 1, 1)),
    ((3, 5, 7, 16, 32), "FRACTAL_NZ", (3, 7 * 16, 5 * 32)), ((5, 7, 16, 32), "FRACTAL_NZ", (1, 7 * 16, 5 * 32)),
    ((6, 7, 16, 32), "FRACTAL_Z", (1, 6 * 32, 7 * 16)),
])  # fmt: skip
def test_a_matrix_in_any_format(shape: tuple[int, ...], layout: str, expected: tuple[int, int, int]) -> None:
    assert matrix_shape(tensor(*shape, layout=layout)) == expected


@pytest.mark.parametrize("left", [(M, K), (K, M)])
@pytest.mark.parametrize("right", [(K, N), (N, K)])
def test_operands_are_turned_in_the_way_that_fits(left: tuple[int, int], right: tuple[int, int]) -> None:
    assert product_edges([tensor(*left), tensor(*right)], [tensor(M, N)]) == Edges(1, M, K, N)


def test_a_square_operand_is_turned_by_what_comes_out() -> None:
    assert product_edges([tensor(K, K), tensor(K, N)], [tensor(K, N)]) == Edges(1, K, K, N)
    assert product_edges([tensor(K, M), tensor(K, K)], [tensor(M, K)]) == Edges(1, M, K, K)


@pytest.mark.parametrize(("left", "right", "out", "expected"), [
    ((4, M, K), (4, K, N), (4, M, N), Edges(4, M, K, N)),
    ((4, M, K), (K, N), (4, M, N), Edges(1, 4 * M, K, N)),  # one matrix for all
    ((4, M, K), (1, K, N), (4, M, N), Edges(1, 4 * M, K, N)),
    ((M, K), (4, K, N), (M, N), Edges(1, M, K, N, groups=4)),  # rows are dealt out to groups
    ((3, K), (4, K, N), (3, N), Edges(1, 3, K, N, groups=3)),
    ((M, K), (4, K, N), (4, M, N), Edges(4, M, K, N)),  # each matrix with all rows
    ((M, K), (K + 1, N), (M, N), Edges(1, M, K, N)),  # padded to blocks of 16: 70 and 71 are 80
    ((M, 60), (90, N), (M, N), Edges(1, M, round((M * 60 * 90 / M) ** 0.5), N)),  # by the numbers of elements
])  # fmt: skip
def test_stacks_and_groups(
    left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...], expected: Edges
) -> None:
    assert product_edges([tensor(*left), tensor(*right)], [tensor(*out)]) == expected


def test_groups_share_the_rows_rounded_up() -> None:
    assert Edges(1, 33, 5, 7, groups=4).group_rows == 9
    assert Edges(1, 32, 5, 7, groups=4).group_rows == 8


def test_scalars_and_vectors_are_no_operands_beside_matrices() -> None:
    scale = tensor(1, 1)
    assert product_edges([scale, tensor(M, K), tensor(N), tensor(K, N)], [tensor(M, N)]) == Edges(1, M, K, N)
    assert product_edges([tensor(K), tensor(K)], [tensor()]) is not None
    assert product_edges([tensor(M, K)], [tensor(M)]) is None
    assert product_edges([tensor(0, K), tensor(K, N)], []) is None


def test_without_results_operands_alone_tell() -> None:
    assert product_edges([tensor(M, K), tensor(K, N)], []) == Edges(1, M, K, N)
    odd = product_edges([tensor(M, 60), tensor(90, N)], [])
    assert odd == Edges(1, M, 60, 90 * N // 60)


def test_a_full_connection_takes_rows_of_whatever_length() -> None:
    weight = tensor(24, 5, 16, 16, layout="FRACTAL_Z")
    assert product_edges([tensor(7, 24, 4, 4, 16, layout="NC1HWC0"), weight], [tensor(7, 80)]) == Edges(
        1, 7, 24 * 16, 80
    )


@pytest.mark.parametrize(("shape", "layout", "positions"), [
    ((2, 3, 5, 7), "NCHW", 2 * 5 * 7), ((2, 5, 7, 3), "NHWC", 2 * 5 * 7), ((2, 3, 4, 5, 7), "NCDHW", 2 * 4 * 5 * 7),
    ((2, 3, 5, 7, 16), "NC1HWC0", 2 * 5 * 7), ((2, 4, 3, 5, 7, 16), "NDC1HWC0", 2 * 4 * 5 * 7), ((9,), "ND", 9),
])  # fmt: skip
def test_positions_of_an_image(shape: tuple[int, ...], layout: str, positions: int) -> None:
    assert image_positions(tensor(*shape, layout=layout)) == positions


def test_a_prolog_is_one_product_with_all_weights_side_by_side() -> None:
    weights = [tensor(K, 10), tensor(10, 40), tensor(5, 6, 7), tensor(K, 3)]
    elements = 700 + 400 + 210 + 210
    assert prolog_edges([tensor(4, 3, K), *weights, tensor(999)]) == Edges(1, 12, K, elements // K)
    assert prolog_edges([tensor(2, K), *[tensor(1)] * 4]) == Edges(1, 2, K, 1)
    assert prolog_edges([tensor(4, K), *weights[:3]]) is None
    assert prolog_edges([tensor(0, K), *weights]) is None
