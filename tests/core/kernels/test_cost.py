from __future__ import annotations

import math

import pytest
from attrs import asdict, evolve
from hypothesis import given
from hypothesis import strategies as st

from drynpu.kernels import Copy, KernelCost, KernelSpec, TaskType, TensorDesc, Tuning, cost, task_type_on
from drynpu.kernels._calibration import Factors
from drynpu.kernels._pipes import vector_blocks
from drynpu.platforms import Chip, known_chips, load_chip

CHIPS = known_chips()
SPLIT = tuple(chip for chip in CHIPS if chip.split)
UNIFIED = tuple(chip for chip in CHIPS if not chip.split)
MOVING = {TaskType.MEMCPY, TaskType.DSA, TaskType.AI_CPU}

tensors = st.builds(
    TensorDesc,
    st.lists(st.integers(0, 4096), max_size=3).map(tuple),
    st.sampled_from(["FLOAT", "FLOAT16", "DT_BF16", "INT8", "INT32", "INT64", "BOOL", "COMPLEX64"]),
)
amounts = st.one_of(st.integers(0, 10**4), st.integers(0, 10**7), st.integers(0, 10**11))
specs = st.builds(
    KernelSpec,
    name=st.just("k"),
    op_type=st.just("K"),
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
chips = st.sampled_from(CHIPS)


def vector(elements: int, dtype: str = "FLOAT", *, inputs: int = 1) -> KernelSpec:
    tensor = TensorDesc((1, elements), dtype)  # of one dim it would be a parameter, which no cache holds
    return KernelSpec(
        name="aclnnAdd_AddAiCore_Add",
        op_type="Add",
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(tensor,) * inputs,
        outputs=(tensor,),
        vector_ops=elements,
        bytes_read=inputs * tensor.size_bytes,
        bytes_written=tensor.size_bytes,
    )


def matmul(m: int, n: int, k: int, dtype: str = "DT_BF16", task_type: TaskType = TaskType.AI_CORE) -> KernelSpec:
    a, b, c = TensorDesc((m, k), dtype), TensorDesc((k, n), dtype), TensorDesc((m, n), dtype)
    return KernelSpec(
        name="aclnnMatmul_MatMulV3Common_MatMulV3",
        op_type="MatMulV3",
        task_type=task_type,
        inputs=(a, b),
        outputs=(c,),
        cube_flops=2 * m * n * k,
        bytes_read=a.size_bytes + b.size_bytes,
        bytes_written=c.size_bytes,
        cube_tiles=math.ceil(m / 128) * math.ceil(n / 256),
    )


@given(specs, chips)
def test_pipes_lie_in_their_engine_and_engines_in_the_duration(spec: KernelSpec, chip: Chip) -> None:
    c = cost(spec, chip)
    assert math.isfinite(c.duration_ns)
    assert 0 <= c.cube.time_ns < c.duration_ns
    assert 0 <= c.vector.time_ns < c.duration_ns
    for engine in (c.cube, c.vector):
        pipes = [value for name, value in asdict(engine).items() if name.endswith("_ns")]
        assert len(pipes) in {5, 6}
        assert all(0 <= busy <= engine.time_ns for busy in pipes)
        assert 0 <= engine.icache_miss_rate <= 1


@given(specs, chips)
def test_block_numbers_fit_the_chip(spec: KernelSpec, chip: Chip) -> None:
    c = cost(spec, chip)
    kind = task_type_on(spec.task_type, chip)
    cores = chip.cube_cores if kind in {TaskType.AI_CORE, TaskType.MIX_AIC} else chip.vector_cores
    assert 0 <= c.block_num <= cores
    assert (c.block_num == 0) is (kind in {TaskType.MEMCPY, TaskType.DSA})
    assert c.mix_block_num == (2 * c.block_num if kind is TaskType.MIX_AIC else 0)
    assert c.mix_block_num <= chip.vector_cores


@given(specs, chips)
def test_only_the_engines_of_the_task_type_run(spec: KernelSpec, chip: Chip) -> None:
    c = cost(spec, chip)
    runs_cube = spec.task_type not in MOVING and (not chip.split or spec.task_type.value in {"AI_CORE", "MIX_AIC"})
    runs_vector = spec.task_type not in MOVING and (not chip.split or spec.task_type is not TaskType.AI_CORE)
    assert (c.cube.time_ns > 0) is runs_cube
    assert (c.vector.time_ns > 0) is runs_vector


@pytest.mark.parametrize("work", ["cube_flops", "vector_ops", "bytes_read", "bytes_written"])
@given(spec=specs, chip=chips, more=amounts)
def test_more_work_is_never_faster(work: str, spec: KernelSpec, chip: Chip, more: int) -> None:
    # Whether a unified kernel has products decides its layout, as its kind does on split chips.
    if work == "cube_flops" and spec.cube_flops == 0:
        spec = evolve(spec, cube_flops=1)
    larger = evolve(spec, **{work: getattr(spec, work) + more})
    before, after = cost(spec, chip), cost(larger, chip)
    tiny = 1 - 1e-12
    assert after.duration_ns >= before.duration_ns * tiny
    # A product is cut anew for every problem: it may go to fewer cores, or to more that end sooner and start later.
    assert after.block_num >= before.block_num or spec.cube_flops
    assert after.cube.time_ns >= before.cube.time_ns * tiny or after.block_num > before.block_num
    assert after.vector.time_ns >= before.vector.time_ns * tiny


@given(specs, st.sampled_from(UNIFIED))
def test_unified_chips_have_one_engine(spec: KernelSpec, chip: Chip) -> None:
    c = cost(spec, chip)
    assert c.cube.time_ns == c.vector.time_ns
    assert (c.cube.fixpipe_ns, c.vector.scalar_ns, c.vector.mte2_ns, c.vector.icache_miss_rate) == (0, 0, 0, 0)
    assert task_type_on(spec.task_type, chip) in {TaskType.AI_CORE, *MOVING}


@pytest.mark.parametrize("chip", SPLIT, ids=lambda c: c.name)
def test_split_chips_report_the_task_type_as_it_is(chip: Chip) -> None:
    assert [task_type_on(t, chip) for t in TaskType] == list(TaskType)


def test_mac_time_is_arithmetic() -> None:
    spec = matmul(4096, 2048, 1024)
    c = cost(spec, load_chip("910B4"))
    floor_ns = spec.cube_flops / (8192 * 1.650 * 20)
    assert 1.01 <= c.cube.mac_ns / floor_ns <= 1.06
    assert c.block_num == 20
    # device_and_cost_model.md 3.2, p5 .. max of AI_CORE
    assert 0.56 <= c.cube.mac_ns / c.cube.time_ns <= 0.90
    assert 0.34 <= c.cube.scalar_ns / c.cube.time_ns <= 0.58
    assert 0.42 <= c.cube.mte1_ns / c.cube.time_ns <= 0.75
    assert 0.46 <= c.cube.mte2_ns / c.cube.time_ns <= 0.97


def test_few_tiles_use_few_cores() -> None:
    chip = load_chip("910B2")
    assert [cost(matmul(rows, 512, 64), chip).block_num for rows in (16, 256, 4096)] == [2, 4, 24]


@pytest.mark.parametrize(
    ("dtype", "hf32", "slower"),
    [
        ("FLOAT16", False, 1.0),
        ("DT_BF16", False, 1.0),
        ("FLOAT", True, 2.0),
        ("FLOAT", False, 4.0),
        ("INT8", False, 0.5),
    ],
)
def test_operand_type_sets_the_cube_rate(dtype: str, hf32: bool, slower: float) -> None:
    chip = load_chip("910B2")
    base = cost(matmul(8192, 8192, 8192), chip).cube.mac_ns
    other = cost(evolve(matmul(8192, 8192, 8192, dtype), hf32=hf32), chip).cube.mac_ns
    assert other / base == pytest.approx(slower, rel=0.001)


def test_shape_operands_do_not_set_the_cube_rate() -> None:
    chip, spec = load_chip("910B2"), matmul(4096, 4096, 4096)
    led = evolve(spec, inputs=(TensorDesc((4,), "INT32"), *spec.inputs))
    assert cost(led, chip) == cost(spec, chip)


def test_smallest_vector_kernel() -> None:
    c = cost(vector(1), load_chip("910B2"))
    assert c.block_num == 1
    assert 1_200 <= c.duration_ns <= 2_000


def test_fixed_cost_of_a_cube_kernel() -> None:
    assert 2_000 <= cost(matmul(16, 16, 16), load_chip("910B2")).duration_ns <= 7_000


@pytest.mark.parametrize(("elements", "blocks"), [(1, 1), (1024, 1), (4096, 4), (23232, 23), (10**6, 48)])
def test_vector_blocks_follow_the_traffic(elements: int, blocks: int) -> None:
    # Scalar times a FLOAT vector: measured 1, 1, 4, 23, 48 blocks on 48 cores.
    assert cost(vector(elements), load_chip("910B2")).block_num == blocks


def test_large_copy_reaches_the_measured_share_of_memory() -> None:
    chip = load_chip("910B4")
    spec = evolve(vector(400_000_000), vector_ops=0)
    reached = (spec.bytes_read + spec.bytes_written) / cost(spec, chip).duration_ns
    assert 0.77 <= reached / chip.memory_gbs <= 0.83
    fill = evolve(spec, bytes_read=0)
    assert 0.95 <= fill.bytes_written / cost(fill, chip).duration_ns / chip.memory_gbs <= 0.99


def test_cache_serves_what_fits() -> None:
    chip = load_chip("910B2")
    inside, outside = vector(5_000_000), vector(100_000_000)
    rate_in, rate_out = ((s.bytes_read + s.bytes_written) / cost(s, chip).duration_ns for s in (inside, outside))
    assert rate_in > chip.memory_gbs > rate_out


def test_copy_and_fill_show_their_pipes() -> None:
    chip = load_chip("910B4")
    copy = cost(evolve(vector(400_000_000), vector_ops=0), chip)
    assert 0.4 <= copy.vector.mte2_ns / copy.vector.time_ns <= 0.65
    assert 0.4 <= copy.vector.mte3_ns / copy.vector.time_ns <= 0.65
    fill = cost(evolve(vector(400_000_000), vector_ops=0, bytes_read=0), chip)
    assert fill.vector.mte3_ns / fill.vector.time_ns > 0.98
    assert fill.vector.mte2_ns == 0


def test_half_precision_computes_twice_as_wide() -> None:
    chip, physics = load_chip("910B2"), Tuning(uniform=Factors())
    wide, narrow = (
        cost(evolve(vector(10**8, d), bytes_read=0, bytes_written=0), chip, physics).vector.vec_ns
        for d in ("FLOAT", "FLOAT16")
    )
    assert wide / narrow == pytest.approx(2, rel=0.01)


def test_bf16_pays_for_its_conversion() -> None:
    chip = load_chip("910B2")
    f32, bf16 = (cost(vector(10**8, d, inputs=2), chip).vector.vec_ns for d in ("FLOAT", "DT_BF16"))
    assert bf16 / f32 == pytest.approx(4, rel=0.01)


def test_mixed_kernel_is_bounded_by_its_vector_side() -> None:
    chip = load_chip("910B4")
    spec = evolve(matmul(4096, 2048, 1024, task_type=TaskType.MIX_AIC), vector_ops=3 * 10**9)
    c = cost(spec, chip)
    assert (c.block_num, c.mix_block_num) == (20, 40)
    assert c.vector.vec_ns > 0.9 * c.vector.time_ns
    assert 0.8 <= c.cube.time_ns / c.vector.time_ns <= 0.9
    assert c.cube.mac_ns == pytest.approx(cost(matmul(4096, 2048, 1024), chip).cube.mac_ns)


def test_vector_work_of_a_mixed_kernel_is_shared_by_two_vector_cores_for_each_cube() -> None:
    """Nobody knows the rows of a kernel without results: it has all cores."""
    chip, x = load_chip("910B2"), TensorDesc((64, 64), "FLOAT16")
    spec = KernelSpec(name="k", op_type="Foreign", task_type=TaskType.MIX_AIC, inputs=(x,), outputs=())
    spec = evolve(spec, cube_flops=10**6, vector_ops=10**9, bytes_read=x.size_bytes)
    found, tuning = cost(spec, chip), Tuning()
    rate = chip.vector_lanes_16bit * chip.aiv_mhz / 1000 * 2 * found.block_num * tuning.vector.efficiency
    assert (found.block_num, found.mix_block_num) == (chip.cube_cores, 2 * chip.cube_cores)
    assert found.vector.vec_ns == pytest.approx(10**9 / rate + tuning.pipes.latency_ns)


def test_mixed_kernel_without_vector_work_waits_for_its_cube() -> None:
    c = cost(matmul(4096, 2048, 1024, task_type=TaskType.MIX_AIC), load_chip("910B4"))
    assert c.vector.time_ns == c.cube.time_ns


def test_vector_bias_on_a_cube_kernel_is_free_on_split_chips_only() -> None:
    plain, biased = matmul(4096, 4096, 64), evolve(matmul(4096, 4096, 64), vector_ops=4096 * 4096)
    assert cost(plain, load_chip("910B2")) == cost(biased, load_chip("910B2"))
    assert cost(biased, load_chip("910A")).vector.vec_ns > cost(plain, load_chip("910A")).vector.vec_ns


def test_aicpu_takes_tens_of_microseconds() -> None:
    c = cost(evolve(vector(1000), task_type=TaskType.AI_CPU), load_chip("910B2"))
    assert 10_000 <= c.duration_ns <= 100_000
    assert (c.block_num, c.cube.time_ns, c.vector.time_ns) == (1, 0.0, 0.0)


@pytest.mark.parametrize(("mask_bytes", "measured_ns"), [(16384, 2120), (36864, 3380)])
def test_random_masks_as_measured(mask_bytes: int, measured_ns: float) -> None:
    spec = KernelSpec(name="d", op_type="DSAGenBitMask", task_type=TaskType.DSA, bytes_written=mask_bytes)
    assert cost(spec, load_chip("910B2")).duration_ns == pytest.approx(measured_ns, rel=0.01)


def test_copies_over_the_bus_and_in_memory() -> None:
    chip, size = load_chip("910B2"), 10**8
    base = KernelSpec(name="c", op_type="c", task_type=TaskType.MEMCPY, bytes_read=size, bytes_written=size)
    up, down, inside = (cost(evolve(base, copy=kind), chip).duration_ns for kind in Copy)
    assert up == down == pytest.approx(size / (chip.pcie_gbs * 0.7), rel=0.01)
    assert inside == pytest.approx(2 * size / (chip.memory_gbs * 0.7), rel=0.02)
    assert cost(evolve(base, copy=Copy.HOST_TO_DEVICE, bytes_read=0, bytes_written=0), chip).duration_ns > 1_000


def test_a_faster_chip_is_faster() -> None:
    big = matmul(8192, 8192, 8192)
    assert cost(big, load_chip("910B1")).duration_ns < cost(big, load_chip("910B4-1")).duration_ns
    assert cost(vector(10**9), load_chip("910B4")).duration_ns > cost(vector(10**9), load_chip("910B2")).duration_ns


def test_tuning_is_a_parameter() -> None:
    usual = Tuning(uniform=Factors())
    slow_start = evolve(usual.vector.fixed, start_ns=usual.vector.fixed.start_ns + 5_000.0)
    slow = evolve(usual, vector=evolve(usual.vector, fixed=slow_start))
    c, d = cost(vector(1), load_chip("910B2"), usual), cost(vector(1), load_chip("910B2"), slow)
    assert d.vector.time_ns == pytest.approx(c.vector.time_ns + 5_000)


def test_cost_is_a_value() -> None:
    assert isinstance(cost(vector(5), load_chip("910B2")), KernelCost)
    assert cost(vector(5), load_chip("910B2")) == cost(vector(5), load_chip("910B2"))


def test_one_block_moves_at_the_pace_of_one_core() -> None:
    chip, tuning = load_chip("910B2"), Tuning()
    one_core_gbs = chip.l2_read_gbs * tuning.l2.efficiency / chip.vector_cores
    c = cost(vector(1024), chip)
    assert c.vector.mte2_ns - tuning.pipes.latency_ns == pytest.approx(4096 / one_core_gbs)
    assert c.vector.vec_ns - tuning.pipes.latency_ns == pytest.approx(1024 / (64 * 1.8 * tuning.vector.efficiency))


def test_blocks_of_a_vector_kernel_round_up() -> None:
    tuning = Tuning()
    ops = int(tuning.vector.block_ops)
    scalar = evolve(vector(1), vector_ops=0)
    assert vector_blocks(evolve(scalar, vector_ops=2 * ops + 1), 48, tuning) == 3
    assert vector_blocks(evolve(scalar, vector_ops=2 * ops), 48, tuning) == 2
    assert vector_blocks(evolve(scalar, vector_ops=ops, cube_flops=ops + 1), 48, tuning) == 3
    assert vector_blocks(evolve(scalar, vector_ops=100 * ops), 48, tuning) == 48


@pytest.mark.parametrize("op_type", ["Index", "GatherV2", "ScatterElements", "InplaceIndexAdd"])
def test_whole_numbers_take_the_time_of_other_data_that_an_index_finds(op_type: str) -> None:
    """The data are not an index, whatever their type: the times differ by the few more bytes alone."""
    times = []
    for dtype in ("FLOAT", "INT32"):
        data, index = TensorDesc((4096, 2048), dtype), TensorDesc((7,), "INT64")
        result = TensorDesc((7, 2048), dtype)
        kernel = KernelSpec(
            name=op_type,
            op_type=op_type,
            task_type=TaskType.AI_VECTOR_CORE,
            inputs=(data, index),
            outputs=(result,),
            bytes_read=result.size_bytes,
            bytes_written=result.size_bytes,
        )
        times.append(cost(kernel, load_chip("Ascend910B2")).duration_ns)
    assert times[0] == times[1] < 100_000
