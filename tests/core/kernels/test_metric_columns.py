from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from attrs import fields, has
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.kernels import (
    CoreCounters,
    CostTable,
    KernelSpec,
    TaskType,
    TensorDesc,
    counter_values,
    event_codes,
    jitter,
    metric_column_names,
    metric_columns,
    occurrences,
)
from drynpu.platforms import Chip, find_platform, known_chips, load_chip

CHIPS = known_chips()
SPLIT = tuple(chip for chip in CHIPS if chip.split)
CACHED = tuple(chip for chip in CHIPS if chip.platform_version == "5")
GIB = 2.0**30
LINE = 128

amounts = st.one_of(st.integers(0, 10**4), st.integers(0, 10**7), st.integers(0, 10**11))
dtypes = st.sampled_from(["FLOAT", "FLOAT16", "DT_BF16", "INT8", "INT32", "INT64"])
specs = st.builds(
    KernelSpec,
    name=st.just("k"),
    op_type=st.just("MatMul"),
    task_type=st.sampled_from(TaskType),
    inputs=dtypes.map(lambda d: (TensorDesc((128,), d),)),
    outputs=st.sampled_from([(), (TensorDesc((100, 30), "FLOAT16"),)]),
    cube_flops=st.one_of(amounts, st.integers(0, 10**5).map(lambda k: 2 * 3000 * k)),
    vector_ops=amounts,
    bytes_read=amounts,
    bytes_written=amounts,
    cube_tiles=st.integers(0, 100),
)
kernels = st.lists(specs, min_size=1, max_size=4)


def noisy(specs: list[KernelSpec], chip: Chip) -> CostTable:
    table = CostTable.build(specs, chip)
    index = np.tile(np.arange(len(specs)), 3)
    return table.take(index, jitter(index, occurrences(index), table.duration_ns, 7, specs))


def work_by_row(table: CostTable, part: Any = None) -> Any:
    """Return what every launch computes and moves: one row per launch in place of one per kernel."""
    part = table.work if part is None else part
    values = {each.name: getattr(part, each.name) for each in fields(type(part))}
    rows = {name: work_by_row(table, each) if has(type(each)) else table.gather(each) for name, each in values.items()}
    return type(part)(**rows)


def columns(table: CostTable, metrics: str) -> dict[str, np.ndarray]:
    """Count, and read back what was counted."""
    chip, events = table.chip, counter_values(table, metrics)
    cube, vector = event_codes(metrics, chip)
    core = CoreCounters(
        total_cycles=events.aic_total_cycles,
        pmu=events.aic_pmu,
        block_num=table.block_num,
        mhz=chip.aic_mhz,
        cores=chip.cube_cores,
        events=cube,
    )
    other = CoreCounters(
        total_cycles=events.aiv_total_cycles,
        pmu=events.aiv_pmu,
        block_num=table.aiv_blocks,
        mhz=chip.aiv_mhz,
        cores=chip.vector_cores,
        events=vector,
    )
    duration_us = table.duration_ns / 1000
    return metric_columns(metrics, core, other if chip.split else None, duration_us, chip.platform)


def moved(found: dict[str, np.ndarray], name: str, chip: Chip) -> np.ndarray:
    """
    Bytes behind a bandwidth column: it is the rate of one core, and cycles are summed over cores.

    On the 310 it is the rate of all cores.
    """
    rate = found[f"{name}(GB/s)"] * GIB
    if chip.platform_version == MINI:
        return rate * found["aicore_time(us)"] / 1e6
    side = name[:4] if name[:4] in ("aic_", "aiv_") else ""
    return rate * found[f"{side}total_cycles"] / (chip.aic_mhz * 1e6)


MINI = "0"
"""The 310, whose parser has widths of registers of its own."""
WIDEST_REGISTER = 1024


@given(kernels, st.sampled_from(CHIPS))
def test_every_group_is_about_the_same_launches(specs: list[KernelSpec], chip: Chip) -> None:
    table, platform = noisy(specs, chip), chip.platform
    prefixes = ("aic_", "aiv_") if chip.split else ("",)
    lead = [f"{prefix}total_cycles" for prefix in prefixes] + ["aicore_time(us)"] + ["aiv_time(us)"] * chip.split
    first: dict[str, np.ndarray] = {}
    for metrics in platform.counter_groups:
        found = columns(table, metrics)
        assert tuple(found) == metric_column_names(metrics, platform)
        first = first or found
        for name in lead:
            np.testing.assert_array_equal(found[name], first[name])
        for name, values in found.items():
            assert values.shape == (len(table),)
            assert name.endswith("memory_bound") or np.isfinite(values).all(), name
            assert not (values < 0).any(), name
            if name.endswith("_ratio") and "resc" not in name:
                assert (values <= 1).all(), name
        for prefix in prefixes:
            unused = found[f"{prefix}total_cycles"] == 0
            own = [name for name in found if name.startswith(prefix) and name != "memory_bound"]
            assert not any(found[name][unused].any() for name in own)


@given(kernels, st.sampled_from(CHIPS))
def test_bandwidths_give_back_the_bytes_of_the_account(specs: list[KernelSpec], chip: Chip) -> None:
    table = noisy(specs, chip)
    found, done = columns(table, "Memory"), work_by_row(table)
    operands = done.cube.l1_to_l0a_bytes + done.cube.l1_to_l0b_bytes
    entered = done.cube.gm_to_l1_bytes / (2 if chip.platform_version == "5" else 1)
    expected: dict[str, tuple[np.ndarray, float]] = {"l1_read_bw": (operands, 512), "l1_write_bw": (entered, 256)}
    vectors = 0 if chip.platform_version == "15" else 1
    ub_write = done.vector.scalar_write_bytes + done.vector.gm_to_ub_bytes + done.cube.l0c_to_ub_bytes
    ub_read = done.vector.vector_read_bytes + done.vector.scalar_read_bytes + done.vector.ub_to_gm_bytes
    expected["ub_read_bw"] = ub_read, 160
    expected["ub_write_bw"] = ub_write + vectors * done.vector.vector_write_bytes, 128
    if chip.split:
        expected = {("aic_" if name[0] == "l" else "aiv_") + name: value for name, value in expected.items()}
        for side, core, inward, outward in (
            ("aic", done.cube, done.cube.gm_to_l1_bytes, done.cube.l0c_to_gm_bytes),
            ("aiv", done.vector, done.vector.gm_to_ub_bytes, done.vector.ub_to_gm_bytes),
        ):
            expected[f"{side}_main_mem_read_bw"] = core.main_read_bytes, 0
            expected[f"{side}_main_mem_write_bw"] = core.main_write_bytes, 0
            expected[f"{side}_l2_read_bw"] = inward, 256
            expected[f"{side}_l2_write_bw"] = outward, 256
    else:
        expected["main_mem_read_bw"] = done.cube.main_read_bytes, 0
        expected["main_mem_write_bw"] = done.cube.main_write_bytes, 0
    for name, (size, unit) in expected.items():
        if f"{name}(GB/s)" in found:
            # Counts are whole: at most half a unit of the register off.
            # The memory moves whole cache lines, which every register counts exactly but for the wider ones of the 310.
            unit = WIDEST_REGISTER if chip.platform_version == MINI else unit
            np.testing.assert_allclose(moved(found, name, chip), size, rtol=1e-9, atol=unit / 2 + 1e-3)
    assert (len(expected) - sum(f"{name}(GB/s)" in found for name in expected)) == (4 if vectors == 0 else 0)


@given(kernels, st.sampled_from(CHIPS))
def test_inner_levels_agree_with_the_outer_ones(specs: list[KernelSpec], chip: Chip) -> None:
    table = noisy(specs, chip)
    memory, l0, ub = (columns(table, metrics) for metrics in ("Memory", "MemoryL0", "MemoryUB"))
    arithmetic, done = columns(table, "ArithmeticUtilization"), work_by_row(table)
    cube, vector = ("aic_", "aiv_") if chip.split else ("", "")
    into_l0 = moved(l0, f"{cube}l0a_write_bw", chip) + moved(l0, f"{cube}l0b_write_bw", chip)
    out_of_l1 = moved(memory, f"{cube}l1_read_bw", chip)
    slack = 2 * WIDEST_REGISTER if chip.platform_version == MINI else 0
    np.testing.assert_allclose(into_l0, out_of_l1, rtol=1e-9, atol=1024 + slack)
    used = moved(l0, f"{cube}l0a_read_bw", chip)
    products = arithmetic[f"{cube}cube_fops"] / np.where(table.mac_int8, 16384, 8192)
    width = np.where(products > 0, used / np.maximum(products, 1), 512)
    all_products = done.products.float_ops + done.products.int8_ops
    assert ((width >= 511) & (width <= 1536)).all() or (products < all_products).any()
    scalar = moved(ub, f"{vector}ub_read_bw_scalar", chip)
    vectors = moved(ub, f"{vector}ub_read_bw_vector", chip)
    all_reads = moved(memory, f"{vector}ub_read_bw", chip)
    np.testing.assert_allclose(scalar + vectors + done.vector.ub_to_gm_bytes, all_reads, rtol=1e-9, atol=256 + slack)


@given(kernels, st.sampled_from(CHIPS))
def test_kinds_of_work_fit_into_their_pipes(specs: list[KernelSpec], chip: Chip) -> None:
    table = noisy(specs, chip)
    pipes, work = columns(table, "PipeUtilization"), columns(table, "ArithmeticUtilization")
    conflicts = columns(table, "ResourceConflictRatio")
    cube, vector = ("aic_", "aiv_") if chip.split else ("", "")
    kinds = [name for name in work if name.startswith(f"{vector}vec_")]
    assert len(kinds) == (0 if chip.platform_version == "15" else 4)
    assert (sum((work[name] for name in kinds), np.zeros(len(table))) <= pipes[f"{vector}vec_ratio"] * (1 + 1e-9)).all()
    lost = [values for name, values in conflicts.items() if name.endswith("_cflt_ratio") and "resc" not in name]
    assert (
        sum(lost, np.zeros(len(table)))
        <= pipes[f"{vector}vec_ratio"] * 0.02 + 2 / np.maximum(pipes[f"{vector}total_cycles"], 1)
    ).all()
    assert ((work[f"{cube}mac_int8_ratio"] > 0) <= table.mac_int8).all()
    assert ((work[f"{cube}mac_fp16_ratio"] > 0) <= ~table.mac_int8).all()


@given(kernels, st.sampled_from(CHIPS))
def test_cube_fops_are_the_padded_products(specs: list[KernelSpec], chip: Chip) -> None:
    table = CostTable.build(specs, chip)
    found = columns(table, "ArithmeticUtilization")["aic_cube_fops" if chip.split else "cube_fops"]
    products = table.work.products
    for row, spec in enumerate(specs):
        ops = 8192 * int(products.float_ops[row]) + 16384 * int(products.int8_ops[row])
        assert found[row] == ops
        assert (ops >= spec.cube_flops) or not ops
        pipe = columns(table, "PipeUtilization")["aic_mac_ratio" if chip.split else "mac_ratio"][row]
        assert bool(ops) == (pipe > 0)


@given(kernels, st.sampled_from(CACHED))
def test_amounts_and_cache_lines_agree_with_bandwidths(specs: list[KernelSpec], chip: Chip) -> None:
    table = noisy(specs, chip)
    memory, access, cache = (columns(table, metrics) for metrics in ("Memory", "MemoryAccess", "L2Cache"))
    done = work_by_row(table)
    for side, inward, outward in (
        ("aic", done.cube.gm_to_l1_bytes, done.cube.l0c_to_gm_bytes),
        ("aiv", done.vector.gm_to_ub_bytes, done.vector.ub_to_gm_bytes),
    ):
        for way in ("read", "write"):
            amount = access[f"{side}_{way}_main_memory_datas(KB)"] * 1024
            np.testing.assert_allclose(amount, moved(memory, f"{side}_main_mem_{way}_bw", chip), rtol=1e-9)
        misses = {
            "read": cache[f"{side}_r0_read_cache_miss_allocate"] + cache[f"{side}_r1_read_cache_miss_allocate"],
            "write": cache[f"{side}_write_cache_miss_allocate"],
        }
        hits = {
            "read": cache[f"{side}_r0_read_cache_hit"] + cache[f"{side}_r1_read_cache_hit"],
            "write": cache[f"{side}_write_cache_hit"],
        }
        for way, size in (("read", inward), ("write", outward)):
            np.testing.assert_array_equal(hits[way] + misses[way], np.ceil(size / LINE))
            np.testing.assert_array_equal(misses[way] * LINE, access[f"{side}_{way}_main_memory_datas(KB)"] * 1024)
    np.testing.assert_allclose(access["aic_GM_to_L1_datas(KB)"] * 1024, done.cube.gm_to_l1_bytes, atol=128)
    np.testing.assert_allclose(access["aic_L0C_to_GM_datas(KB)"] * 1024, done.cube.l0c_to_gm_bytes, atol=64)
    np.testing.assert_allclose(access["aiv_GM_to_UB_datas(KB)"] * 1024, done.vector.gm_to_ub_bytes, atol=64)
    np.testing.assert_allclose(access["aiv_UB_to_GM_datas(KB)"] * 1024, done.vector.ub_to_gm_bytes, atol=64)
    assert not access["aic_L0C_to_L1_datas(KB)"].any()
    assert not access["aic_GM_to_UB_datas(KB)"].any()
    assert not access["aiv_GM_to_L1_datas(KB)"].any()


@given(kernels)
def test_lines_of_the_950(specs: list[KernelSpec]) -> None:
    table = noisy(specs, load_chip("950PR"))
    cache, memory, done = columns(table, "L2Cache"), columns(table, "Memory"), work_by_row(table)
    for side, inward, outward in (
        ("aic", done.cube.gm_to_l1_bytes, done.cube.l0c_to_gm_bytes),
        ("aiv", done.vector.gm_to_ub_bytes, done.vector.ub_to_gm_bytes),
    ):
        for way, size in (("read", inward), ("write", outward)):
            hit, miss, victim = (cache[f"{side}_{way}_local_l2_{what}"] for what in ("hit", "miss", "victim"))
            np.testing.assert_array_equal(hit + miss, np.ceil(size / LINE))
            assert (victim <= miss).all()
            behind = moved(memory, f"{side}_main_mem_{way}_bw", table.chip)
            np.testing.assert_allclose(miss * LINE, behind, rtol=1e-9)


@given(kernels, st.sampled_from(CHIPS))
def test_rates_stay_under_the_peaks(specs: list[KernelSpec], chip: Chip) -> None:
    # Without noise: it shortens a launch, but not what the launch moves.
    table = CostTable.build(specs, chip)
    memory, l0, ub = (columns(table, metrics) for metrics in ("Memory", "MemoryL0", "MemoryUB"))
    chipwide = {"main_mem_read_bw": chip.memory_gbs, "main_mem_write_bw": chip.memory_gbs}
    chipwide |= {"l2_read_bw": chip.l2_read_gbs, "l2_write_bw": chip.l2_write_gbs}
    sides = {"aic_": table.cube.time_ns, "aiv_": table.vector.time_ns} if chip.split else {"": table.cube.time_ns}
    for prefix, time_ns in sides.items():
        for name, gbs in chipwide.items():
            if f"{prefix}{name}(GB/s)" in memory:
                assert (moved(memory, prefix + name, chip) <= gbs * time_ns * (1 + 1e-6) + 2 * LINE).all()
    # Per core and cycle: 512 bytes out of L1, L0A and L0B, two vectors out of UB and one into it.
    cycle = chip.aic_mhz * 1e6 / GIB
    vector_bytes = 2 * chip.vector_lanes_16bit
    limits = {"l1_read_bw": (memory, 512.0), "l0a_read_bw": (l0, 520.0), "l0b_read_bw": (l0, 520.0)}
    limits |= {"ub_read_bw_vector": (ub, 2 * vector_bytes), "ub_write_bw_vector": (ub, 1.5 * vector_bytes)}
    for name, (found, size) in limits.items():
        side = "" if not chip.split else "aiv_" if name.startswith("ub") else "aic_"
        total = found[f"{side}total_cycles"]
        assert (found[f"{side}{name}(GB/s)"] <= size * cycle * (1 + 4 / np.maximum(total, 1))).all(), name


@given(kernels, st.sampled_from(CHIPS), st.data())
def test_custom_events_count_as_in_their_groups(specs: list[KernelSpec], chip: Chip, data: st.DataObject) -> None:
    table = noisy(specs, chip)
    metrics = data.draw(st.sampled_from(sorted(chip.platform.counter_groups)))
    cube, vector = event_codes(metrics, chip)
    picked = data.draw(st.lists(st.sampled_from(sorted({*cube, *vector})), min_size=1, max_size=8, unique=True))
    custom = "Custom:" + ",".join(f"{code:#x}" for code in picked)
    group, own, named = counter_values(table, metrics), counter_values(table, custom), columns(table, custom)
    assert tuple(named) == metric_column_names(custom, chip.platform)
    for slot, code in enumerate(picked):
        for side, codes, prefix in (("aic", cube, "aic_" if chip.split else ""), ("aiv", vector, "aiv_")):
            if code in codes:
                counted = getattr(own, f"{side}_pmu")[:, slot]
                np.testing.assert_array_equal(counted, getattr(group, f"{side}_pmu")[:, codes.index(code)])
                np.testing.assert_array_equal(named[f"{prefix}r{code:x}"], counted)


def test_requests_of_both_directions_are_sums() -> None:
    spec = KernelSpec(
        name="a", op_type="Add", task_type=TaskType.AI_VECTOR_CORE, vector_ops=999, bytes_read=10**6, bytes_written=77
    )
    pmu = counter_values(CostTable.build([spec], load_chip("910B2")), "Custom:0x11,0xf,0x10,0x3f,0x3d,0x3e").aiv_pmu[0]
    assert pmu[0] == pmu[1] + pmu[2] > 0
    assert pmu[3] == pmu[4] + pmu[5] > 0


def test_formulas_of_the_reference() -> None:
    # cann_msprof.md 4.2: pmu x pipe x scale / (cycles / Hz) / 2^33
    def core(events: tuple[int, ...], *counts: int) -> CoreCounters:
        return CoreCounters(
            total_cycles=np.array([10**6]),
            pmu=np.array([counts]),
            block_num=np.array([4]),
            mhz=1000.0,
            cores=24,
            events=events,
        )

    idle = CoreCounters.idle(1, mhz=1000.0, events=(0xF,))
    a2, us = find_platform("5"), np.array([300.0])
    found = metric_columns("Memory", core((0x31, 0x32, 0x12, 0x13, 0xF, 0x10), 5, 7, 11, 13, 17, 19), idle, us, a2)
    per_ms = 1000 / 2**33
    assert found["aicore_time(us)"][0] == 250.0
    assert found["aic_l1_read_bw(GB/s)"][0] == pytest.approx(5 * 256 * 16 * per_ms)
    assert found["aic_l1_write_bw(GB/s)"][0] == pytest.approx(7 * 128 * 8 * per_ms)
    assert found["aic_main_mem_read_bw(GB/s)"][0] == pytest.approx(11 * 8 * 8 * per_ms)
    assert found["aic_main_mem_write_bw(GB/s)"][0] == pytest.approx(13 * 8 * 8 * per_ms)
    assert found["aic_l2_read_bw(GB/s)"][0] == pytest.approx(17 * 256 * 8 * per_ms)
    assert found["aiv_l2_read_bw(GB/s)"][0] == 0
    assert np.isnan(found["aiv_ub_read_bw(GB/s)"][0])  # not recorded
    access = core((0x32, 0x206, 0x20C, 0x50C, 0x50D, 0x50E, 0x3D, 0x3E), 100, 10, 60, 8, 16, 24, 0, 0)
    found = metric_columns("MemoryAccess", access, None, us, a2)
    assert found["aic_GM_to_L1_datas(KB)"][0] == 0.25 * 90
    assert found["aic_L0C_to_L1_datas(KB)"][0] == 1.25
    assert found["aic_L0C_to_GM_datas(KB)"][0] == 0.125 * 50
    assert found["aic_read_main_memory_datas(KB)"][0] == 0.125 * 40
    work = core((0x49, 0x4A, 0x4B, 0x4C, 0x4D, 0x4E, 0x4F), 1, 2, 3, 4, 5, 6, 7)
    fops = metric_columns("ArithmeticUtilization", work, None, us, find_platform("1"))
    assert fops["cube_fops"][0] == 8192 + 2 * 16384
    assert fops["vector_fops"][0] == 4 * 128 + 5 * 64 + 3 * 64 + 6 * 64 + 7 * 32
    assert fops["vec_fp16_ratio"][0] == pytest.approx(9e-6)
    older = metric_columns("ArithmeticUtilization", work, None, us, find_platform("4"))
    assert older["vector_fops"][0] == 4 * 128 + 5 * 64 + 3 * 64 + 6 * 16 + 7 * 16


def test_newer_registers_of_the_950_count_more() -> None:
    def read(code: int) -> float:
        core = CoreCounters(
            total_cycles=np.array([10**6]),
            pmu=np.array([[16]]),
            block_num=np.array([1]),
            mhz=1000.0,
            cores=32,
            events=(code,),
        )
        found = metric_columns("Memory", core, None, np.array([1.0]), find_platform("15"))
        return float(found["aic_main_mem_read_bw(GB/s)"][0])

    assert read(0x422) == 16 * read(0x400) > 0


def test_quotients_of_the_950() -> None:
    core = CoreCounters(
        total_cycles=np.array([1000]),
        pmu=np.array([[10, 30, 200, 50]]),
        block_num=np.array([1]),
        mhz=1000.0,
        cores=64,
        events=(0x540, 0x556, 0x502, 0x528),
    )
    found = metric_columns("ResourceConflictRatio", None, core, np.array([1.0]), find_platform("15"))
    assert found["aiv_vec_bank_cflt_ratio"][0] == 0.04
    assert found["aiv_vec_resc_cflt_ratio"][0] == 0.25
    assert found["aic_total_cycles"][0] == 0


def test_what_the_310b_does_not_have_is_not_available() -> None:
    events = (0x8, 0xA, 0x9, 0xB, 0xC, 0xD, 0x54, 0x55)
    core = CoreCounters(
        total_cycles=np.array([100]),
        pmu=np.array([[10, 20, 30, 40, 50, 60, 70, 7]]),
        block_num=np.array([1]),
        mhz=1000.0,
        cores=1,
        events=events,
    )
    found = metric_columns("PipeUtilization", core, None, np.array([1.0]), find_platform("7"))
    assert np.isnan([found["vec_ratio"][0], found["vec_time(us)"][0]]).all()
    assert found["mac_ratio"][0] == 0.2
    execute = CoreCounters(
        total_cycles=np.array([100]),
        pmu=np.array([[40, 10, 20, 30, 35, 80, 50, 60]]),
        block_num=np.array([1]),
        mhz=1000.0,
        cores=1,
        events=(0x12C, 0x49, 0x4A, 0x9, 0x302, 0xC, 0xD, 0x303),
    )
    found = metric_columns("PipelineExecuteUtilization", execute, None, np.array([1.0]), find_platform("7"))
    assert (found["mac_exe_ratio"][0], found["fixpipe_exe_ratio"][0], found["vec_exe_ratio"][0]) == (0.3, 0.6, 0.4)
    assert found["memory_bound"][0] == pytest.approx(2.0)


def test_a_core_that_nobody_used_is_zero() -> None:
    found = metric_columns("Memory", None, None, np.array([1.0, 2.0]), find_platform("5"))
    assert tuple(found) == metric_column_names("Memory", find_platform("5"))
    assert not any(values.any() for values in found.values())


def test_unknown_groups_are_refused() -> None:
    with pytest.raises(OptionError, match=r"Ascend910 has no counters for 'Memroy'.*Did you mean 'Memory'\?"):
        metric_columns("Memroy", None, None, np.zeros(0), find_platform("1"))
