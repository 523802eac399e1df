from __future__ import annotations

import math

import pytest
from attrs import asdict, evolve
from hypothesis import given
from hypothesis import strategies as st

from drynpu.kernels import Copy, KernelSpec, TaskType, TensorDesc, Tuning, cost
from drynpu.kernels._account import CubeBytes, Products, Work
from drynpu.platforms import Chip, known_chips, load_chip

CHIPS = known_chips()
B2, A5, OLD = load_chip("910B2"), load_chip("950PR"), load_chip("910A")

tensors = st.builds(
    TensorDesc,
    st.lists(st.integers(0, 4096), max_size=3).map(tuple),
    st.sampled_from(["FLOAT", "FLOAT16", "DT_BF16", "INT8", "INT32", "INT64", "BOOL", "COMPLEX64"]),
    st.sampled_from(["ND", "NCHW", "FRACTAL_NZ"]),
)
amounts = st.one_of(st.integers(0, 10**4), st.integers(0, 10**7), st.integers(0, 10**11))
specs = st.builds(
    KernelSpec,
    name=st.just("k"),
    op_type=st.sampled_from(["MatMul", "BatchMatMul"]),
    task_type=st.sampled_from(TaskType),
    inputs=st.lists(tensors, max_size=2).map(tuple),
    outputs=st.lists(tensors, max_size=1).map(tuple),
    cube_flops=amounts,
    vector_ops=amounts,
    bytes_read=amounts,
    bytes_written=amounts,
    cube_tiles=st.integers(0, 100),
    hf32=st.booleans(),
    copy=st.sampled_from(Copy),
)


def matmul(m: int, n: int, k: int, dtype: str = "FLOAT16", task: TaskType = TaskType.AI_CORE) -> KernelSpec:
    a, b = TensorDesc((m, k), dtype), TensorDesc((k, n), dtype)
    c = TensorDesc((m, n), "INT32" if dtype == "INT8" else dtype)
    return KernelSpec(
        name="m",
        op_type="MatMulV3",
        task_type=task,
        inputs=(a, b),
        outputs=(c,),
        cube_flops=2 * m * n * k,
        bytes_read=a.size_bytes + b.size_bytes,
        bytes_written=c.size_bytes,
        cube_tiles=math.ceil(m / 128) * math.ceil(n / 256),
    )


def add(elements: int, dtype: str = "FLOAT") -> KernelSpec:
    x = TensorDesc((1, elements), dtype)  # of one dim it would be a parameter, which no cache holds
    return KernelSpec(
        name="a",
        op_type="Add",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(x, x),
        outputs=(x,),
        vector_ops=elements,
        bytes_read=2 * x.size_bytes,
        bytes_written=x.size_bytes,
    )


def padded(m: int, n: int, k: int) -> int:
    return math.ceil(m / 16) * math.ceil(n / 16) * math.ceil(k / 16)


@pytest.mark.parametrize("chip", [B2, A5, OLD], ids=lambda c: c.name)
@pytest.mark.parametrize("shape", [(4096, 4096, 4096), (32, 10, 128), (1, 4096, 4096), (100, 100, 100)])
def test_products_are_padded_to_sixteen(chip: Chip, shape: tuple[int, int, int]) -> None:
    c = cost(matmul(*shape), chip)
    assert (c.work.products.float_ops, c.work.products.int8_ops) == (padded(*shape), 0)
    assert c.work.products.l0_read_bytes == padded(*shape) * 512
    assert c.work.products.l0c_bytes == padded(*shape) * 1024


def test_eight_bit_products_are_twice_as_deep() -> None:
    c = cost(matmul(64, 64, 33, "INT8"), B2)
    assert (c.work.products.float_ops, c.work.products.int8_ops) == (0, 4 * 4 * 2)
    assert c.work.products.l0_read_bytes == c.work.products.int8_ops * 512


def test_wide_operands_are_twice_as_many_bytes() -> None:
    assert cost(matmul(64, 64, 64, "FLOAT"), B2).work.products.l0_read_bytes == 64 * 1024


@pytest.mark.parametrize(
    ("output", "op_type", "rows", "columns"),
    [
        (TensorDesc((2, 33, 7, 7), "FLOAT16", "NCHW"), "Conv2D", 98, 33),
        (TensorDesc((2, 7, 7, 33), "FLOAT16", "NHWC"), "Conv2D", 98, 33),
        (TensorDesc((3, 50, 20), "FLOAT16"), "MatMulV2", 150, 20),
    ],
)
def test_edges_come_from_the_result(output: TensorDesc, op_type: str, rows: int, columns: int) -> None:
    flops = 2 * output.elements * 40
    spec = evolve(matmul(8, 8, 8), outputs=(output,), op_type=op_type, cube_flops=flops, bytes_read=10**6)
    assert cost(spec, B2).work.products.float_ops == padded(rows, columns, 40)


def test_batches_are_padded_one_by_one() -> None:
    output = TensorDesc((3, 50, 20), "FLOAT16")
    spec = evolve(matmul(8, 8, 8), outputs=(output,), op_type="BatchMatMulV2", cube_flops=2 * 3000 * 40)
    assert cost(evolve(spec, bytes_read=10**6), B2).work.products.float_ops == 3 * padded(50, 20, 40)


@pytest.mark.parametrize(
    "spec",
    [
        evolve(matmul(100, 100, 100), cube_flops=2 * 100**3 + 2),
        evolve(matmul(100, 100, 100), outputs=()),
        evolve(matmul(100, 100, 100), outputs=(TensorDesc((100, 100), "FLOAT16", "FRACTAL_NZ"),)),
    ],
)
def test_work_that_the_result_does_not_explain_is_not_padded(spec: KernelSpec) -> None:
    assert cost(spec, B2).work.products.float_ops == math.ceil(spec.cube_flops / 8192)


@pytest.mark.parametrize("batch", [10, 10**3, 10**4, 10**5, 10**6])
def test_padding_that_the_time_leaves_no_room_for_is_not_counted(batch: int) -> None:
    output = TensorDesc((batch, 1, 1), "FLOAT16")
    spec = evolve(matmul(8, 8, 8), outputs=(output,), op_type="BatchMatMul", cube_flops=2 * batch)
    c = cost(evolve(spec, bytes_read=4 * batch), B2)
    cycles = c.cube.time_ns * B2.aic_mhz / 1000 * c.block_num
    assert c.work.products.float_ops == (batch if batch <= cycles / 2 else math.ceil(2 * batch / 8192))
    assert (c.work.products.float_ops == batch) == (batch < 10**6)


@pytest.mark.parametrize(
    ("dtype", "kind", "lanes"),
    [
        ("FLOAT", "fp32", 64),
        ("FLOAT16", "fp16", 128),
        ("INT32", "int32", 64),
        ("INT8", "misc", 128),
        ("INT64", "misc", 4),
    ],
)
def test_vector_work_is_told_by_type(dtype: str, kind: str, lanes: int) -> None:
    c = cost(add(10**6, dtype), B2)
    cycles = asdict(c.work.cycles)
    assert cycles == {k: math.ceil(10**6 / lanes) if k == kind else 0 for k in cycles}
    size = TensorDesc((1,), dtype).size_bytes
    assert (c.work.vector.vector_read_bytes, c.work.vector.vector_write_bytes) == (2 * 10**6 * size, 10**6 * size)


def test_bf16_is_computed_in_32_bit_with_conversions_around() -> None:
    c = cost(add(640_000, "DT_BF16"), B2)
    assert (c.work.cycles.fp32, c.work.cycles.fp16) == (10_000, 0)
    assert c.work.cycles.misc == 3 * 10_000
    assert c.work.vector.vector_read_bytes == 640_000 * (2 * 4 + 3 * 3)


def test_a_vector_kernel_moves_its_bytes_through_ub() -> None:
    for chip in (B2, A5, OLD):
        c = cost(add(10**8), chip)
        assert (c.work.vector.gm_to_ub_bytes, c.work.vector.ub_to_gm_bytes) == (8 * 10**8, 4 * 10**8)
        assert c.work.products == Products()
        main = {"main_read_bytes": 8 * 10**8, "main_write_bytes": 4 * 10**8}
        assert c.work.cube == (CubeBytes() if chip.split else CubeBytes(**main))
        if chip.split:
            assert (c.work.vector.main_read_bytes, c.work.vector.main_write_bytes) == (8 * 10**8, 4 * 10**8)


def test_what_fits_into_l2_does_not_reach_memory() -> None:
    small = cost(add(10**6), B2)
    assert (small.work.vector.main_read_bytes, small.work.vector.main_write_bytes) == (0, 0)
    assert small.work.l2_victim_share == 0
    between = cost(add(16 * 10**6), B2)
    assert 0 < between.work.vector.main_read_bytes < between.work.vector.gm_to_ub_bytes
    huge = cost(add(10**8), B2)
    assert huge.work.l2_victim_share == pytest.approx(1 - B2.l2_bytes / (12 * 10**8))


def test_operands_are_fetched_once_per_tile_of_the_result() -> None:
    c = cost(matmul(4096, 4096, 4096), B2)
    tuning = Tuning()
    rows_of_a = 4096 / tuning.cube.tile_n * 4096 * 4096 * 2
    rows_of_b = 4096 / tuning.cube.tile_m * 4096 * 4096 * 2
    assert (c.work.cube.l1_to_l0a_bytes, c.work.cube.l1_to_l0b_bytes) == (rows_of_a, rows_of_b)
    assert c.work.cube.gm_to_l1_bytes == rows_of_a + rows_of_b
    assert c.work.cube.l0c_to_gm_bytes == 4096 * 4096 * 2
    assert cost(matmul(4096, 4096, 4096), OLD).work.cube.l0c_to_ub_bytes == 4096 * 4096 * 2


def test_small_operands_are_read_at_least_once() -> None:
    spec = matmul(16, 16, 16)
    assert cost(spec, B2).work.cube.gm_to_l1_bytes == spec.bytes_read


def test_a_mixed_kernel_hands_over_in_l2() -> None:
    c = cost(evolve(matmul(16384, 16384, 1024, task=TaskType.MIX_AIC), vector_ops=16384**2), B2)
    written = 16384**2 * 2
    assert c.work.cube.l0c_to_gm_bytes == c.work.vector.gm_to_ub_bytes == c.work.vector.ub_to_gm_bytes == written
    assert c.work.vector.main_read_bytes == c.work.cube.main_write_bytes == 0
    assert 0 < c.work.vector.main_write_bytes <= written
    assert c.work.cube.main_read_bytes > 0


def test_a_cube_kernel_without_products_leaves_l0_alone() -> None:
    c = cost(evolve(matmul(64, 64, 64), cube_flops=0), B2)
    assert c.work.cube.gm_to_l1_bytes > 0
    assert (c.work.cube.l1_to_l0a_bytes, c.work.cube.l1_to_l0b_bytes) == (0, 0)
    assert c.work.products == Products()


@pytest.mark.parametrize("task", [TaskType.AI_CPU, TaskType.DSA, TaskType.MEMCPY])
def test_nothing_is_counted_outside_the_cores(task: TaskType) -> None:
    c = cost(evolve(matmul(64, 64, 64), task_type=task, copy=Copy.DEVICE_TO_DEVICE, vector_ops=100), B2)
    assert c.work == Work()


@given(specs, st.sampled_from(CHIPS))
def test_work_fits_into_the_times(spec: KernelSpec, chip: Chip) -> None:
    c = cost(spec, chip)
    parts = [c.work.products, c.work.cube, c.work.vector, c.work.cycles]
    assert min(amount for part in parts for amount in asdict(part).values()) >= 0
    assert 0 <= c.work.l2_victim_share < 1
    cube_cycles = c.cube.time_ns * chip.aic_mhz / 1000 * c.block_num
    assert c.work.products.float_ops + c.work.products.int8_ops <= cube_cycles + 1
    assert (c.cube.mac_ns > 0) == (c.work.products.float_ops + c.work.products.int8_ops > 0)
    vector_blocks = c.mix_block_num or c.block_num
    busy = c.vector.vec_ns * chip.aiv_mhz / 1000 * vector_blocks
    assert c.work.cycles.fp32 + c.work.cycles.fp16 + c.work.cycles.int32 + c.work.cycles.misc <= busy + 2
    line = 128
    cube, vector = c.work.cube, c.work.vector
    for core, inward, outward in (
        (cube, cube.gm_to_l1_bytes, cube.l0c_to_gm_bytes),
        (vector, vector.gm_to_ub_bytes, vector.ub_to_gm_bytes),
    ):
        assert core.main_read_bytes % line == core.main_write_bytes % line == 0
        if chip.split:
            assert core.main_read_bytes < inward + line
            assert core.main_write_bytes < outward + line
    main = sum(core.main_read_bytes + core.main_write_bytes for core in (cube, vector))
    assert main <= chip.memory_gbs * max(c.cube.time_ns, c.vector.time_ns) * (1 + 1e-9) + 4 * line


def blocked(source: TensorDesc) -> KernelSpec:
    n, *area, _ = source.shape if source.format == "NHWC" else (source.shape[0], *source.shape[2:], 0)
    result = TensorDesc((n, 1, *area, 16), source.dtype, "NC1HWC0")
    return KernelSpec(
        name="trans_TransData_0",
        op_type="TransData",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(source,),
        outputs=(result,),
        bytes_read=source.size_bytes,
        bytes_written=result.size_bytes,
    )


@pytest.mark.parametrize("chip", [B2, OLD])
def test_images_of_one_channel_take_as_long_channels_first_and_last(chip: Chip) -> None:
    """Both are the same bytes; with three channels the runs are shorter, but a core copies at least a block of rows."""
    last, first, wide, eight = (
        cost(blocked(TensorDesc(shape, "FLOAT16", image)), chip).duration_ns
        for shape, image in (
            ((64, 28, 28, 1), "NHWC"),
            ((64, 1, 28, 28), "NCHW"),
            ((64, 28, 28, 3), "NHWC"),
            ((64, 28, 28, 8), "NHWC"),
        )
    )
    assert last == first < wide <= eight * 1.01
