"""Edges of the product that a kernel computes, and the ways of cutting one, worked out by hand."""

from __future__ import annotations

import math

import pytest

from drynpu.kernels import KernelSpec, TaskType, TensorDesc, Tuning
from drynpu.kernels._products import _cores_of_batch, cuts, edges_of
from drynpu.kernels._shapes_of_work import Edges
from drynpu.platforms import load_chip

CHIP, TUNING = load_chip("910B2"), Tuning()


def tensor(*shape: int, layout: str = "ND") -> TensorDesc:
    return TensorDesc(shape, "FLOAT16", layout)


def spec(op_type: str, inputs: tuple[TensorDesc, ...], outputs: tuple[TensorDesc, ...], flops: int) -> KernelSpec:
    return KernelSpec(
        name="k", op_type=op_type, task_type=TaskType.AI_CORE, inputs=inputs, outputs=outputs, cube_flops=flops
    )


@pytest.mark.parametrize(("times", "is_told"), [(0.5, True), (0.49, False), (1.0, True), (2.0, True), (2.01, False)])
def test_operands_tell_the_edges_unless_the_work_is_another_by_more_than_twice(times: float, is_told: bool) -> None:
    work = 2 * 100 * 40 * 60
    product = spec("MatMulV2", (tensor(100, 40), tensor(40, 60)), (tensor(100, 60),), round(work * times))
    inner = 40 if is_told else round(40 * times)
    assert edges_of(product) == Edges(1, 100, inner, 60)


@pytest.mark.parametrize(("op_type", "out", "rows", "columns"), [
    ("Conv2DBackpropInput", tensor(2, 6, 5, 7, 16, layout="NC1HWC0"), 2 * 5 * 7, 6 * 16),
    ("Conv2DBackpropInput", tensor(2, 33, 5, 7, layout="NCHW"), 2 * 5 * 7, 33),
    ("Conv3D", tensor(2, 33, 3, 5, 7, layout="NCDHW"), 2 * 3 * 5 * 7, 33),
    ("Conv2D", tensor(20, 33, 7, layout="NCHW"), 20 * 7, 33),
    ("Conv2D", tensor(20, 33, layout="NCHW"), 20, 33),
    ("Conv2DBackpropInput", tensor(2, 5, 7, 33, layout="NHWC"), 2 * 5 * 7, 33),
    ("Conv2DBackpropFilterD", tensor(9, 4, 16, 16, layout="FRACTAL_Z"), 9 * 16, 4 * 16),
    ("FlashAttentionScore", tensor(3, 50, 512), 3 * 50 * 4, 128),
    ("FlashAttentionScore", tensor(3, 50, 64), 3 * 50, 64),
])  # fmt: skip
def test_an_image_is_a_matrix_with_a_row_for_each_position(
    op_type: str, out: TensorDesc, rows: int, columns: int
) -> None:
    inner = 37
    found = edges_of(spec(op_type, (tensor(2),), (tensor(1), out), 2 * out.elements * inner))
    assert found == Edges(1, rows, inner, columns)


def test_without_results_a_product_is_square() -> None:
    edge = 48
    assert edges_of(spec("Odd", (), (), 2 * 256 * edge * edge)) == Edges(1, edge, 256, edge)
    assert edges_of(spec("Odd", (), (), 0)) == Edges(1, 1, 256, 1)
    assert edges_of(spec("Odd", (), (tensor(),), 10)) == Edges(1, 1, 5, 1)


@pytest.mark.parametrize(("batch", "cores"), [(32, 16), (23, 24), (24, 24), (48, 24), (50, 10), (29, 1)])
def test_images_of_a_batch_are_dealt_out_evenly(batch: int, cores: int) -> None:
    image = (tensor(batch, 3, 8, 8, layout="NCHW"),)
    assert _cores_of_batch(spec("Conv2D", image, image, 1), 24) == cores
    assert _cores_of_batch(spec("MatMulV2", image, image, 1), 24) == 24
    assert _cores_of_batch(spec("Conv2D", (), image, 1), 24) == 24


def test_a_way_of_cutting_is_timed_by_its_tiles() -> None:
    """
    Of [100, 300] by [300, 70] tiles of 64 x 64 are two by two, the inner edge is padded to 304.

    In two parts it is 150 long, padded to 160 and at least 256, and both parts are summed up in memory.
    """
    product = spec("MatMulV2", (tensor(100, 300), tensor(300, 70)), (tensor(100, 70),), 2 * 100 * 300 * 70)
    found = list(cuts(Edges(1, 100, 300, 70), product, CHIP, TUNING, rate=1000.0, size=2))
    assert len(found) == 10 * 5
    whole, halves = found[7 * 5], found[7 * 5 + 1]
    assert (whole.blocks, halves.blocks) == (4, 8)
    assert (whole.share, halves.share) == pytest.approx((64 * 64 / 7000,) * 2)
    assert whole.mac_ns == pytest.approx(2 * 64 * 64 * 304 / 1000 * TUNING.cube.mac_factor)
    assert halves.mac_ns == pytest.approx(2 * 64 * 64 * 256 / 1000 * TUNING.cube.mac_factor)
    # Rows of 300 and of 70 numbers of 32 bits are no whole lines, and come in apart.
    whole_in = (64 * 600 / 304 + 64 * 2) * 304
    halves_in = (64 * 300 / 256 + 64 * 2) * 256
    assert halves.load_ns / whole.load_ns == pytest.approx(halves_in / whole_in)
    assert whole.draw_ns == pytest.approx(64 * 304 * 2 / (TUNING.cube.memory_bytes_per_cycle * CHIP.aic_mhz / 1000))
    stored = 64 * 64 * 2 / (TUNING.cube.fixpipe_bytes_per_cycle * CHIP.aic_mhz / 1000)
    assert whole.store_ns == pytest.approx(stored)
    assert halves.store_ns == pytest.approx(stored + 100 * 70 * 8 / (CHIP.l2_write_gbs * TUNING.l2.efficiency))
    # Small results take tiles no larger than they are, and every core has at most one of a wave.
    first = found[0]
    assert first.blocks == 1
    assert first.mac_ns == pytest.approx(2 * 112 * 80 * 304 / 1000 * TUNING.cube.mac_factor)
    many = next(iter(cuts(Edges(3, 1280, 256, 2560), product, CHIP, TUNING, rate=1000.0, size=2)))
    tiles = 3 * 10 * 10
    assert many.blocks == CHIP.cube_cores
    assert many.mac_ns == pytest.approx(
        math.ceil(tiles / CHIP.cube_cores) * 2 * 128 * 256 * 256 / 1000 * TUNING.cube.mac_factor
    )
    assert many.draw_ns == pytest.approx(
        math.ceil(30 / CHIP.cube_cores) * 256 * 256 * 2 / (TUNING.cube.memory_bytes_per_cycle * CHIP.aic_mhz / 1000)
    )
