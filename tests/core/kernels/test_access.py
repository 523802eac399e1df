"""Accesses that wait, counted by hand: rows by an index, runs of a changed layout, rows and chains of norms."""

from __future__ import annotations

import pytest
from attrs import evolve

from drynpu.kernels import KernelSpec, TaskType, TensorDesc
from drynpu.kernels._access import access_ns, chain_ns, dealt_rows, has_short_rows

ROW, ROW_UNIFIED, RUN, NORMALISED, STEP, OUTER = 290, 100, 18, 15, 60, 250
ELEMENT, REPEATED, STATIC_RUN, POOLED_ROW = 32.5, 0.12, 4, 1200


def tensor(*shape: int, dtype: str = "FLOAT", layout: str = "ND") -> TensorDesc:
    return TensorDesc(shape, dtype, layout)


def spec(op_type: str, inputs: list[TensorDesc], outputs: list[TensorDesc]) -> KernelSpec:
    return KernelSpec(
        name=op_type, op_type=op_type, task_type=TaskType.AI_VECTOR_CORE, inputs=tuple(inputs), outputs=tuple(outputs)
    )


def index(*shape: int) -> TensorDesc:
    return tensor(*shape, dtype="INT64")


@pytest.mark.parametrize(("inputs", "output", "rows"), [
    ([tensor(50, 8), index(7)], tensor(7, 8), 7),  # each index names a row
    ([tensor(50, 8), index(90, 2)], tensor(13), 13),  # no more than there are results
    ([index(50, 8), index(7)], index(7, 8), 7),  # the data may be whole numbers
    ([tensor(50, 8)], tensor(16, 64), 4),  # an index that is not known: one for 256 elements
    ([tensor(50, 8), index(0)], tensor(16, 64), 4),
])  # fmt: skip
def test_each_row_that_an_index_names_is_waited_for(inputs: list[TensorDesc], output: TensorDesc, rows: float) -> None:
    gather = spec("Index", inputs, [output])
    assert access_ns(gather) == rows * ROW
    assert access_ns(gather, split=False) == rows * ROW_UNIFIED


@pytest.mark.parametrize(("table", "width", "expected"), [
    (500, 1024, 4096 * 0.033),  # L2 holds it
    (500, 8, 20),  # never less than one access after the other
    (200_000, 1024, 4096 * 0.25),  # from memory
    (20_000_000, 1, ROW),
])  # fmt: skip
def test_rows_of_a_table_come_from_where_it_lies(table: int, width: int, expected: float) -> None:
    gather = spec("GatherV2", [tensor(table, width), index(7)], [tensor(7, width)])
    assert access_ns(evolve(gather, bytes_written=7 * width * 4)) == pytest.approx(7 * expected)


def test_a_masked_scatter_counts_its_elements_one_by_one() -> None:
    x = tensor(30, 40)
    assert access_ns(spec("MaskedScatter", [x, tensor(30, 40, dtype="BOOL"), tensor(9, 40)], [x])) == 1200 * ELEMENT


def test_a_pooling_with_places_works_row_by_row_of_the_smaller_image() -> None:
    image, pooled = tensor(2, 3, 27, 27, 16, layout="NC1HWC0"), tensor(2, 3, 13, 13, 16, layout="NC1HWC0")
    mask = tensor(2, 48, 9, 9, 12, 16, dtype="UINT16", layout="NC1HWC0")
    forward = spec("MaxPoolWithArgmaxV1", [image], [pooled, tensor(2, 3, 9, 12, 16, dtype="UINT16")])
    gradient = spec("MaxPoolGradWithArgmaxV1", [image, pooled, mask], [image])
    assert access_ns(forward) == access_ns(gradient) == 2 * 3 * 13 * POOLED_ROW
    assert access_ns(forward, split=False) == 0


@pytest.mark.parametrize(("operand", "repeated"), [
    (tensor(30, 1), 1), (tensor(1, 40), 0), (tensor(40), 0), (tensor(1), 0), (tensor(30, 40), 0),
    (tensor(30, 1, dtype="INT64"), 2),
])  # fmt: skip
def test_what_is_repeated_inside_rows_is_laid_out_first(operand: TensorDesc, repeated: int) -> None:
    product = spec("Mul", [tensor(30, 40), operand], [tensor(30, 40)])
    assert access_ns(product) == pytest.approx(repeated * 1200 * REPEATED)
    assert access_ns(evolve(product, static=True)) == 0, "a static graph reads it in place"


def test_rows_keep_together_in_a_static_transpose() -> None:
    turned = spec("Transpose", [tensor(6, 10, 40)], [tensor(10, 6, 40)])
    assert access_ns(turned) == 60 * RUN
    assert access_ns(evolve(turned, static=True)) == 60 * STATIC_RUN


@pytest.mark.parametrize(("columns", "is_short"), [(100, True), (128, False), (96, False), (72, True)])
def test_halves_that_are_no_whole_lines_are_copied_apart(columns: int, *, is_short: bool) -> None:
    x, y = tensor(9, columns, dtype="FLOAT16"), tensor(9, columns // 2, dtype="FLOAT16")
    assert has_short_rows(spec("SwiGlu", [x], [y])) == is_short
    assert not has_short_rows(spec("Mul", [x], [y]))


def test_a_scatter_has_its_index_first_where_its_data_come_last() -> None:
    assert access_ns(spec("ScatterNd", [index(9, 1), tensor(9, 4), index(2)], [tensor(30, 4)])) == 9 * ROW
    assert access_ns(spec("ScatterNdUpdate", [tensor(30, 4), index(5, 1), tensor(5, 4)], [tensor(30, 4)])) == 5 * ROW


@pytest.mark.parametrize(("source", "result", "run"), [
    (tensor(6, 10, 40), tensor(10, 6, 40), 40),  # the last dim stays
    (tensor(6, 10, 5, 4), tensor(10, 6, 5, 4), 20),  # the last two
    (tensor(6, 10, 4), tensor(10, 6, 4), 8),  # shorter than what is turned at once
    (tensor(6, 10), tensor(10, 6), 8),  # nothing stays
    (tensor(24, 24), tensor(24, 24), 8),  # two dims of one length changed places
    (tensor(6, 1, 40), tensor(6, 40), 240),  # dims of 1 are none: nothing changes its place
    (tensor(24, 40, dtype="FLOAT16"), tensor(40, 24, dtype="FLOAT16"), 64 * 24 / 32 * 40 / 48),  # squares of 16 x 16
    (tensor(7, 9, 1, 1, layout="NCHW"), tensor(7, 1, 1, 1, 16, layout="NC1HWC0"), 112),  # one position: a copy
    (tensor(64, 48), tensor(3, 4, 16, 16, layout="FRACTAL_NZ"), 128),  # 16 rows of 32 bytes
    (tensor(64, 48, dtype="FLOAT16"), tensor(3, 4, 16, 16, dtype="FLOAT16", layout="FRACTAL_NZ"), 256),
    (tensor(2, 3, 5, 7, layout="NCHW"), tensor(2, 1, 5, 7, 16, layout="NC1HWC0"), 35),  # a plane
    (tensor(2, 1, 5, 7, 16, layout="NC1HWC0"), tensor(2, 3, 5, 7, layout="NCHW"), 35),
    (tensor(2, 3, 2, 3, layout="NCHW"), tensor(2, 1, 2, 3, 16, layout="NC1HWC0"), 8),
    (tensor(2, 5, 7, 3, layout="NHWC"), tensor(2, 1, 5, 7, 16, layout="NC1HWC0"), 8),  # three channels
    (tensor(2, 5, 7, 30, layout="NHWC"), tensor(2, 2, 5, 7, 16, layout="NC1HWC0"), 30),
    (tensor(2, 5, 7, 1, layout="NHWC"), tensor(2, 1, 5, 7, 16, layout="NC1HWC0"), 35),  # one: as channels first
    (tensor(2, 5, 7, 1, 1, layout="NDHWC"), tensor(2, 5, 1, 7, 1, 16, layout="NDC1HWC0"), 35),
    (tensor(9, 3), tensor(1, 9, 1, 1, 16, layout="NC1HWC0"), 3),
])  # fmt: skip
def test_a_change_of_layout_copies_run_by_run(source: TensorDesc, result: TensorDesc, run: float) -> None:
    elements = max(source.elements, result.elements)
    assert access_ns(spec("TransData", [source], [result])) == pytest.approx(elements / run * RUN)


def test_a_change_of_layout_without_tensors_copies_nothing() -> None:
    assert access_ns(spec("TransData", [], [tensor(3)])) == access_ns(spec("TransData", [tensor(3)], [])) == 0.0


@pytest.mark.parametrize(("x", "rows"), [
    (tensor(4, 7, 33), 28), (tensor(5), 1), (tensor(3, 5, 32, 32, layout="FRACTAL_NZ"), 15),
])  # fmt: skip
def test_norms_wait_for_each_row(x: TensorDesc, rows: int) -> None:
    norm = spec("RmsNorm", [x, tensor(2)], [x])
    assert access_ns(norm) == rows * NORMALISED
    assert dealt_rows(norm) == rows
    assert access_ns(spec("RmsNorm", [tensor()], [tensor()])) == 0
    assert dealt_rows(spec("Add", [x], [x])) == access_ns(spec("Add", [x], [x])) == 0


def test_a_layer_norm_joins_the_lanes_of_each_row_and_goes_through_it_element_by_element() -> None:
    x = tensor(4, 7, 33)
    norm = spec("LayerNormV3", [x, tensor(33)], [x])
    assert access_ns(norm) == pytest.approx(28 * 300 + 28 * 33 * 0.25)
    assert access_ns(norm, split=False) == 28 * NORMALISED


@pytest.mark.parametrize(("op_type", "x", "output", "expected"), [
    ("LayerNormV3", tensor(4, 7), tensor(4, 7), 28 * STEP),
    ("LayerNormV3", tensor(40, 70), tensor(40, 70), 32 * STEP),
    ("RmsNorm", tensor(40, 70), tensor(40, 70), 32 * STEP + 2500),  # what its scalar unit computes first
    ("InplaceAddRmsNorm", tensor(40, 70), tensor(40, 70), 32 * 20),
    ("ReduceSum", tensor(5, 4), tensor(5), 20 * STEP),  # the rows are summed up
    ("ReduceSum", tensor(5, 4), tensor(4), 20 * STEP + 5 * OUTER),  # over the rows
    ("ReduceSum", tensor(90, 4), tensor(4), 32 * STEP + 32 * OUTER),
    ("ReduceSum", tensor(5, 1), tensor(1), 5 * STEP),
    ("ReduceSum", tensor(5), tensor(5), 5 * STEP),
    ("ReduceSum", tensor(), tensor(), 0),
    ("Add", tensor(5, 4), tensor(4), 0),
])  # fmt: skip
def test_steps_that_follow_each_other(op_type: str, x: TensorDesc, output: TensorDesc, expected: float) -> None:
    assert chain_ns(spec(op_type, [x], [output])) == expected


def test_a_sum_whose_result_is_not_known_has_no_outer_axis() -> None:
    assert chain_ns(spec("ReduceSum", [tensor(5, 4)], [])) == 20 * STEP
