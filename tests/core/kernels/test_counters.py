from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.kernels import (
    CoreCounters,
    CostTable,
    CounterValues,
    KernelSpec,
    TaskType,
    TensorDesc,
    counter_values,
    event_codes,
    jitter,
    metric_columns,
    occurrences,
)
from drynpu.platforms import Chip, find_platform, known_chips, load_chip
from drynpu.tables._schemas import PMU_COLUMNS_SPLIT

CUBE = (0x416, 0x417, 0x9, 0x302, 0xC, 0x303, 0x54, 0x55)
PIPES = (0x8, 0xA, 0x9, 0xB, 0xC, 0xD, 0x54, 0x55)
CHIPS = known_chips()

amounts = st.one_of(st.integers(0, 10**4), st.integers(0, 10**7), st.integers(0, 10**11))
specs = st.builds(
    KernelSpec,
    name=st.sampled_from(["a", "b"]),
    op_type=st.just("K"),
    task_type=st.sampled_from(TaskType),
    inputs=st.sampled_from(["FLOAT", "DT_BF16", "INT8"]).map(lambda d: (TensorDesc((128,), d),)),
    cube_flops=amounts,
    vector_ops=amounts,
    bytes_read=amounts,
    bytes_written=amounts,
    cube_tiles=st.integers(0, 100),
)


def launches(kernels: list[KernelSpec], chip: Chip) -> CostTable:
    """Return a few noisy launches of each kernel."""
    table = CostTable.build(kernels, chip)
    index = np.tile(np.arange(len(kernels)), 3)
    return table.take(index, jitter(index, occurrences(index), table.duration_ns, 3, kernels))


def counters(events: CounterValues, table: CostTable) -> tuple[CoreCounters, CoreCounters | None]:
    chip = table.chip
    cube, vector = event_codes("PipeUtilization", chip)
    core = CoreCounters(
        total_cycles=events.aic_total_cycles,
        pmu=events.aic_pmu,
        block_num=table.block_num,
        mhz=chip.aic_mhz,
        cores=chip.cube_cores,
        events=cube,
    )
    if not chip.split:
        return core, None
    return core, CoreCounters(
        total_cycles=events.aiv_total_cycles,
        pmu=events.aiv_pmu,
        block_num=table.aiv_blocks,
        mhz=chip.aiv_mhz,
        cores=chip.vector_cores,
        events=vector,
    )


def columns(table: CostTable) -> dict[str, np.ndarray]:
    core, vector = counters(counter_values(table, "PipeUtilization"), table)
    return metric_columns("PipeUtilization", core, vector, table.duration_ns / 1000, table.chip.platform)


def test_event_order_is_the_vendors() -> None:
    assert event_codes("PipeUtilization", load_chip("910B2")) == (CUBE, PIPES)
    assert event_codes("PipeUtilization", load_chip("910A")) == (PIPES, ())


def test_unknown_group_names_what_there_is() -> None:
    with pytest.raises(OptionError, match=r"'PipeUtilisation'.*PipeUtilization.*Did you mean 'PipeUtilization'\?"):
        counter_values(CostTable.build((), load_chip("910B2")), "PipeUtilisation")


@given(st.lists(specs, min_size=1, max_size=4), st.sampled_from(CHIPS))
def test_no_event_exceeds_the_total(kernels: list[KernelSpec], chip: Chip) -> None:
    events = counter_values(launches(kernels, chip), "PipeUtilization")
    for total, pmu in ((events.aic_total_cycles, events.aic_pmu), (events.aiv_total_cycles, events.aiv_pmu)):
        assert pmu.shape == (len(total), chip.platform.counters.slots)
        assert (pmu >= 0).all()
        assert (pmu <= total[:, None]).all()
        assert (pmu[:, 7] <= pmu[:, 6]).all()


@given(st.lists(specs, min_size=1, max_size=4), st.sampled_from(CHIPS))
def test_columns_of_the_counters_obey_the_identities(kernels: list[KernelSpec], chip: Chip) -> None:
    table = launches(kernels, chip)
    found = columns(table)
    ratios = [name for name in found if name.endswith("_ratio")]
    assert len(ratios) == (10 if chip.name == "Ascend950PR" else 9 if chip.split else 6)
    for name in ratios:
        prefix = name[:4] if chip.split else ""
        engine = found["aiv_time(us)" if prefix == "aiv_" else "aicore_time(us)"]
        assert (found[name] >= 0).all()
        assert (found[name] <= 1).all()
        np.testing.assert_allclose(found[name.replace("_ratio", "_time(us)")], found[name] * engine, rtol=1e-12)
    half_cycle_us = 1 / chip.aic_mhz
    np.testing.assert_allclose(found["aicore_time(us)"] * 1000, table.cube.time_ns, atol=1000 * half_cycle_us)
    total = found["aic_total_cycles" if chip.split else "total_cycles"]
    np.testing.assert_allclose(total, found["aicore_time(us)"] * chip.aic_mhz * table.block_num, rtol=1e-12)
    limit = 100 * table.block_num / chip.cube_cores
    used = np.isin(np.asarray(total), 0, invert=True)
    assert (found["cube_utilization(%)"][used] <= limit[used] * (1 + 1e-3)).all()
    assert (found["cube_utilization(%)"][~used] == 0).all()


@given(st.lists(specs, min_size=1, max_size=4), st.sampled_from([c for c in CHIPS if c.split]))
def test_times_come_back_from_the_counters(kernels: list[KernelSpec], chip: Chip) -> None:
    table = launches(kernels, chip)
    found = columns(table)
    for name, account in (
        ("aic_mac_time(us)", table.cube.mac_ns),
        ("aic_fixpipe_time(us)", table.cube.fixpipe_ns),
        ("aiv_time(us)", table.vector.time_ns),
        ("aiv_vec_time(us)", table.vector.vec_ns),
        ("aiv_mte3_time(us)", table.vector.mte3_ns),
    ):
        np.testing.assert_allclose(found[name] * 1000, account, atol=1.0)


def test_columns_are_those_of_the_table_in_order() -> None:
    found = columns(CostTable.build((), load_chip("910B2")))
    assert tuple(found) == PMU_COLUMNS_SPLIT["PipeUtilization"]


def test_unified_columns_have_no_prefix() -> None:
    kernel = KernelSpec(
        name="m", op_type="MatMul", task_type=TaskType.AI_CORE, cube_flops=10**10, vector_ops=10**6, bytes_read=10**7
    )
    found = columns(CostTable.build([kernel], load_chip("910A")))
    assert tuple(found)[:6] == (
        "aicore_time(us)",
        "total_cycles",
        "vec_time(us)",
        "vec_ratio",
        "mac_time(us)",
        "mac_ratio",
    )
    assert tuple(found)[-3:] == ("icache_miss_rate", "memory_bound", "cube_utilization(%)")
    # From the ratios as they are stored (Ascend/msprof analysis/viewer/runtime_report.py, add_mem_bound).
    mte2, mac, vec = (round(float(found[f"{pipe}_ratio"][0]), 3) for pipe in ("mte2", "mac", "vec"))
    assert found["memory_bound"][0] == pytest.approx(mte2 / max(mac, vec))


def test_memory_bound_and_cube_utilization_of_a_kernel_without_matrix_work() -> None:
    """Ascend/msprof analysis/viewer/runtime_report.py: one engine is enough for the first, the second is then 0."""
    kernel = KernelSpec(name="m", op_type="Add", task_type=TaskType.AI_VECTOR_CORE, vector_ops=10**6, bytes_read=10**7)
    found = columns(CostTable.build([kernel], load_chip("910A")))
    mte2, vec = (round(float(found[f"{pipe}_ratio"][0]), 3) for pipe in ("mte2", "vec"))
    assert found["mac_ratio"][0] == 0 < vec
    assert found["memory_bound"][0] == pytest.approx(mte2 / vec)
    assert found["cube_utilization(%)"][0] == 0


def test_verified_figures() -> None:
    # cann_msprof.md 4.2: 100 000 cycles, 1800 MHz, 20 blocks, 24 cores, 60 us
    core = CoreCounters(
        total_cycles=np.array([100_000]),
        pmu=np.array([[40_000, 10_000, 0, 0, 25_000, 0, 1_000, 5]]),
        block_num=np.array([20]),
        mhz=1800,
        cores=24,
        events=CUBE,
    )
    idle = CoreCounters(
        total_cycles=np.array([0]), pmu=np.zeros((1, 8), int), block_num=np.array([0]), mhz=1800, cores=48, events=PIPES
    )
    found = metric_columns("PipeUtilization", core, idle, np.array([60.0]), load_chip("910B2").platform)
    assert round(float(found["aicore_time(us)"][0]), 3) == 2.778
    assert round(float(found["cube_utilization(%)"][0]), 3) == 3.858
    assert found["aic_mac_ratio"][0] == 0.5
    assert found["aic_mac_time(us)"][0] == pytest.approx(2.7778 / 2, abs=1e-4)
    assert found["aic_mte2_ratio"][0] == 0.25
    assert found["aic_icache_miss_rate"][0] == 0.005
    assert all(found[name][0] == 0 for name in found if name.startswith("aiv_"))


def test_more_blocks_than_cores_run_in_waves() -> None:
    core = CoreCounters(
        total_cycles=np.array([100_000]),
        pmu=np.zeros((1, 8), int),
        block_num=np.array([30]),
        mhz=1000,
        cores=20,
        events=CUBE,
    )
    assert core.core_time_us[0] == pytest.approx(100_000 / 1000 / 30 * 2)


def test_older_event_order_of_the_cube() -> None:
    core = CoreCounters(
        total_cycles=np.array([100]),
        pmu=np.array([[7, 50, 3, 20, 10, 0, 0, 0]]),
        block_num=np.array([1]),
        mhz=1000,
        cores=20,
        events=PIPES,
    )
    found = metric_columns("PipeUtilization", core, core, np.array([1.0]), find_platform("", split=True))
    assert (found["aic_mac_ratio"][0], found["aic_mte1_ratio"][0]) == (0.5, 0.2)


def test_eight_bit_products_have_a_counter_of_their_own() -> None:
    def kernel(dtype: str) -> KernelSpec:
        operand = TensorDesc((512, 512), dtype)
        return KernelSpec(name=dtype, op_type="M", task_type=TaskType.AI_CORE, inputs=(operand,), cube_flops=10**10)

    table = CostTable.build([kernel("FLOAT16"), kernel("INT8"), kernel("FLOAT")], load_chip("910B2"))
    pmu = counter_values(table, "PipeUtilization").aic_pmu
    assert (pmu[:, 0] > 0).tolist() == [True, False, True]
    assert (pmu[:, 1] > 0).tolist() == [False, True, False]


def test_vector_core_counts_no_cube_work() -> None:
    kernel = KernelSpec(name="v", op_type="A", task_type=TaskType.AI_VECTOR_CORE, vector_ops=10**6, bytes_read=10**6)
    events = counter_values(CostTable.build([kernel], load_chip("910B2")), "PipeUtilization")
    assert events.aiv_pmu[0, [1, 3]].tolist() == [0, 0]
    assert events.aiv_pmu[0, 0] > 0
    assert events.aic_total_cycles.tolist() == [0]
    assert not events.aic_pmu.any()
