"""What each pipe of a core does and how long that takes, by formulas written out here."""

from __future__ import annotations

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from drynpu.kernels import KernelSpec, TaskType, TensorDesc, Tuning, l2_window, overflow_share, presumed_cold
from drynpu.kernels import _pipes as pipes
from drynpu.kernels._tuning import Fixed
from drynpu.platforms import Chip, load_chip

SPLIT, UNIFIED = load_chip("910B2"), load_chip("910A")
TUNING = Tuning()


def tensor(*shape: int, dtype: str = "FLOAT16", layout: str = "ND") -> TensorDesc:
    return TensorDesc(shape, dtype, layout)


def spec(
    op_type: str, *inputs: TensorDesc, out: TensorDesc | None = None, task: TaskType = TaskType.AI_CORE, **more: object
) -> KernelSpec:
    values = {"bytes_read": sum(t.size_bytes for t in inputs), "bytes_written": out.size_bytes if out else 0} | more
    outputs = (out,) if out else ()
    return KernelSpec(name="k", op_type=op_type, task_type=task, inputs=inputs, outputs=outputs, **values)  # type: ignore[arg-type]


A, B, BIAS = tensor(40, 24), tensor(24, 56), tensor(56)
PRODUCT = spec("MatMulV2", A, B, BIAS, out=tensor(40, 56), cube_flops=2 * 40 * 24 * 56)
QUERY, CACHE = tensor(2, 3, 1, 16), tensor(2, 3, 70, 16)
DECODING = spec("FlashAttentionScore", QUERY, CACHE, CACHE, out=QUERY, task=TaskType.MIX_AIC)
TRAINING = spec("FlashAttentionScore", *[tensor(2, 3, 5, 16)] * 3, out=tensor(2, 3, 5, 16), task=TaskType.MIX_AIC)
STEP = spec("ApplyAdamW", tensor(30, 7), tensor(30, 7), out=tensor(30, 7), task=TaskType.AI_VECTOR_CORE)
SUM = spec("Add", tensor(30, 7), tensor(30, 7), out=tensor(30, 7), task=TaskType.AI_VECTOR_CORE)
FLAT = spec("Add", tensor(210), tensor(210), out=tensor(210), task=TaskType.AI_VECTOR_CORE)


@pytest.mark.parametrize(
    ("kernel", "cold"),
    [
        (PRODUCT, (False, True, True)),  # a weight and its bias
        (DECODING, (False, True, True)),  # keys and values of earlier steps
        (TRAINING, (False, False, False)),
        (STEP, (True, True)),
        (SUM, (False, False)),
        (FLAT, (True, True)),  # of one dim they are parameters
    ],
)
def test_what_is_used_once_in_a_step_is_presumed_cold(kernel: KernelSpec, cold: tuple[bool, ...]) -> None:
    assert presumed_cold(kernel) == cold


def test_the_four_weights_of_a_prolog_are_cold() -> None:
    x, weights, rest = tensor(3, 64), [tensor(64, size) for size in (16, 24, 40, 8)], tensor(9, 9)
    prolog = spec("MlaProlog", x, *weights, rest)
    assert presumed_cold(prolog) == (False, True, True, True, True, False)
    assert pipes.cold_bytes(prolog) == 2 * 64 * (16 + 24 + 40 + 8)


@pytest.mark.parametrize(
    ("kernel", "size_bytes"),
    [
        (PRODUCT, B.size_bytes),
        (evolve(PRODUCT, bytes_read=100), 100),  # no more than is read
        (DECODING, 2 * CACHE.size_bytes),
        (TRAINING, 0),
        (STEP, 3 * 2 * 210),
        (SUM, 0),
        (FLAT, 3 * 2 * 210),
    ],
)
def test_cold_bytes_are_those_of_weights_caches_and_parameters(kernel: KernelSpec, size_bytes: int) -> None:
    assert pipes.cold_bytes(kernel) == size_bytes


@pytest.mark.parametrize("chip", [SPLIT, UNIFIED])
def test_the_share_that_overflows_the_cache_grows_over_its_window(chip: Chip) -> None:
    warm, cold = l2_window(chip, TUNING)
    share = TUNING.l2.cold_share if chip.split else TUNING.l2.cold_share_unified
    assert (warm, cold) == (TUNING.l2.warm_share * chip.l2_bytes, share * chip.l2_bytes)
    for part, expected in ((-0.1, 0.0), (0.25, 0.25), (0.8, 0.8), (1.1, 1.0)):
        size = round(warm + part * (cold - warm))
        moved = evolve(SUM, bytes_read=size // 3, bytes_written=size - size // 3)
        assert overflow_share(moved, chip, TUNING) == pytest.approx(expected, abs=1e-6)


def test_shares_that_miss_the_cache_are_those_that_are_known_or_else_by_size() -> None:
    share = B.size_bytes / (PRODUCT.bytes_read + PRODUCT.bytes_written)
    assert pipes.missed_shares(PRODUCT, SPLIT, TUNING) == (pytest.approx(share), pytest.approx(share))
    assert pipes.missed_shares(evolve(SUM, read_miss=0.3), SPLIT, TUNING) == (0.3, 0.0)
    assert pipes.missed_shares(evolve(STEP, read_miss=0.3), SPLIT, TUNING) == (0.3, 0.3), "changed in place"
    empty = evolve(SUM, bytes_read=0, bytes_written=0)
    assert pipes.missed_shares(empty, SPLIT, TUNING) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("dtypes", "found"),
    [(("INT32", "DT_BF16"), "DT_BF16"), (("INT8", "FLOAT16"), "INT8"), (("INT64",), "FLOAT16"), ((), "FLOAT16")],
)
def test_the_cube_multiplies_the_first_type_that_it_can(dtypes: tuple[str, ...], found: str) -> None:
    assert pipes.cube_dtype(spec("MatMulV2", *(tensor(4, 4, dtype=dtype) for dtype in dtypes))) == found


@pytest.mark.parametrize("dtype", ["FLOAT16", "FLOAT", "INT8"])
def test_the_rate_of_a_cube_follows_from_its_clock_and_the_type(dtype: str) -> None:
    kernel = spec("MatMulV2", tensor(4, 4, dtype=dtype))
    ratio = {"FLOAT16": 1, "FLOAT": SPLIT.cube_fp32_ratio, "INT8": SPLIT.cube_int8_ratio}[dtype]
    rate = SPLIT.cube_flop_per_cycle * ratio * SPLIT.aic_mhz / 1000
    assert pipes.mac_rate(kernel, SPLIT) == pytest.approx(rate)
    hf32 = SPLIT.cube_hf32_ratio / ratio if dtype == "FLOAT" else 1
    assert pipes.mac_rate(evolve(kernel, hf32=True), SPLIT) == pytest.approx(rate * hf32)
    busy = pipes.mac_ns(evolve(kernel, cube_flops=10**6), SPLIT, TUNING, 7)
    assert busy == pytest.approx(10**6 / rate / 7 * TUNING.cube.mac_factor)


def test_bytes_between_cube_and_vector_cores() -> None:
    """Softmax of scores passes them; other products pass their sums of 4 bytes where vector cores work on them."""
    scores = evolve(TRAINING, vector_ops=900)
    assert pipes.exchanged_bytes(scores, TUNING) == 900 * TUNING.attention.exchanged_bytes
    back = evolve(scores, op_type="FlashAttentionScoreGrad")
    assert pipes.exchanged_bytes(back, TUNING) == 900 * TUNING.attention.gradient_exchanged_bytes
    assert pipes.exchanged_bytes(evolve(PRODUCT, vector_ops=1), TUNING) == 4 * 40 * 56
    assert pipes.exchanged_bytes(PRODUCT, TUNING) == 0


@pytest.mark.parametrize(
    ("shape", "dtype", "layout", "apart"),
    [
        ((300, 256), "FLOAT16", "ND", False),
        ((300, 255), "FLOAT16", "ND", True),
        ((300, 256), "INT8", "ND", True),
        ((2, 65_536), "FLOAT16", "ND", True),
        ((2, 65_280), "FLOAT16", "ND", False),
        ((300, 255), "FLOAT16", "FRACTAL_NZ", False),
        ((255,), "FLOAT16", "ND", False),
    ],
)
def test_rows_that_do_not_begin_at_lines_of_the_cache_are_brought_into_blocks(
    shape: tuple[int, ...], dtype: str, layout: str, *, apart: bool
) -> None:
    whole = SPLIT.l2_bytes * 4  # all of it comes from memory
    operand = tensor(*shape, dtype=dtype, layout=layout)
    kernel = spec("MatMulV3", operand, tensor(256, 256), cube_flops=1000, bytes_read=whole)
    rate = SPLIT.memory_gbs * TUNING.memory.read_efficiency
    expected = TUNING.mixed.reforming_passes * operand.size_bytes / rate if apart else 0.0
    assert pipes.reforming_ns(kernel, SPLIT, TUNING) == pytest.approx(expected)
    assert pipes.reforming_ns(evolve(kernel, op_type="MatMul"), SPLIT, TUNING) == 0
    assert pipes.reforming_ns(evolve(kernel, cube_flops=0), SPLIT, TUNING) == 0


def test_every_output_tile_fetches_both_operands_again() -> None:
    """A tile of m by n results needs (m + n) operands for 2 m n operations."""
    tuning = evolve(TUNING, cube=evolve(TUNING.cube, tile_m=128, tile_n=256))
    flops = 2 * 128 * 256 * 10
    assert pipes.refetch_bytes(evolve(PRODUCT, cube_flops=flops), tuning) == pytest.approx(10 * (128 + 256) * 2)


def test_bf16_is_converted_around_the_work_of_vector_cores() -> None:
    x = tensor(30, 7, dtype="DT_BF16")
    kernel = spec("Foreign", x, out=x, task=TaskType.AI_VECTOR_CORE, vector_ops=10**6)
    work = pipes.vector_work(kernel)
    assert (work.ops, work.conversions, work.dtype) == (10**6, (420 + 420) // 2, "FLOAT")
    assert pipes.vector_work(evolve(kernel, vector_ops=0)).conversions == 0
    half = pipes.vector_work(spec("Foreign", A, out=A, task=TaskType.AI_VECTOR_CORE, vector_ops=10**6))
    assert (half.conversions, half.dtype) == (0, "FLOAT16")


def test_products_of_a_task_without_a_cube_are_work_of_vector_cores() -> None:
    for task, ops in ((TaskType.AI_CORE, 0), (TaskType.MIX_AIC, 0), (TaskType.AI_VECTOR_CORE, PRODUCT.cube_flops)):
        assert pipes.vector_work(evolve(PRODUCT, task_type=task)).ops == ops


@pytest.mark.parametrize(("dtype", "share"), [("INT8", 1), ("FLOAT16", 1), ("FLOAT", 0.5), ("INT64", None)])
def test_lanes_of_a_vector_core_are_of_16_bits(dtype: str, share: float | None) -> None:
    share = TUNING.vector.wide_lanes_share if share is None else share
    assert pipes.vector_lanes(dtype, SPLIT, TUNING) == SPLIT.vector_lanes_16bit * share


def test_an_idle_pipe_has_no_latency_and_none_is_busier_than_its_engine() -> None:
    assert pipes.pipe_ns(0.0, 900.0, TUNING) == 0
    assert pipes.pipe_ns(50.0, 900_000.0, TUNING) == 50 + TUNING.pipes.latency_ns
    assert pipes.pipe_ns(890.0, 891.0, TUNING) == min(891.0, 890 + TUNING.pipes.latency_ns)


TIMES = st.floats(0, 1e6)


@given(st.tuples(TIMES, TIMES, TIMES), st.integers(1, 48), TIMES)
def test_an_engine_takes_its_start_the_slowest_pipe_and_a_part_of_the_others(
    busy: tuple[float, ...], blocks: int, limit: float
) -> None:
    fixed = Fixed(
        start_ns=700.0,
        start_per_block_ns=3.0,
        overhead_ns=900.0,
        overhead_per_block_ns=11.0,
        overhead_share=0.25,
        scalar_ns=40.0,
        scalar_share=0.125,
        icache_cold=0.5,
        static_saves_ns=90.0,
    )
    slowest, second, third = sorted(busy, reverse=True)
    work = max(slowest + TUNING.pipes.unhidden_share * (second + third), limit)
    engine = pipes.engine_ns(fixed, blocks, busy, TUNING, limit_ns=limit)
    assert engine == pytest.approx(700 + 3 * blocks + TUNING.pipes.latency_ns + work)
    assert pipes.duration_ns(fixed, blocks, engine) == pytest.approx(900 + 11 * blocks + 1.25 * engine)
    assert pipes.scalar_ns(fixed, engine) == pytest.approx(min(40 + engine / 8, engine))
    assert pipes.icache_miss_rate(fixed, engine, TUNING) == pytest.approx(
        0.5 / (1 + engine / TUNING.counters.icache_warm_ns)
    )
