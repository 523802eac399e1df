"""Counters of the example obey the identities of measured kernels (device_and_cost_model.md 3.1)."""

from __future__ import annotations

from typing import Any

import pytest

MHZ, CORES = 1800, 24  # Ascend910B2
CUBE = ("mac", "scalar", "mte1", "mte2", "fixpipe")
VECTOR = ("vec", "scalar", "mte2", "mte3")


@pytest.fixture(scope="module")
def kernels(demo: Any) -> list[dict[str, str]]:
    rows: list[dict[str, str]] = demo.rows("kernel_details.csv")
    assert {row["Accelerator Core"] for row in rows} >= {"AI_CORE", "AI_VECTOR_CORE"}
    return rows


def test_columns_in_order(demo: Any) -> None:
    columns = demo.columns("kernel_details.csv")
    expected = ["aicore_time(us)", "aic_total_cycles"]
    expected += [f"aic_{pipe}_{what}" for pipe in CUBE for what in ("time(us)", "ratio")]
    expected += ["aic_icache_miss_rate", "aiv_time(us)", "aiv_total_cycles"]
    expected += [f"aiv_{pipe}_{what}" for pipe in VECTOR for what in ("time(us)", "ratio")]
    expected += ["aiv_icache_miss_rate", "cube_utilization(%)"]
    assert columns[columns.index("Context ID") + 1 :] == expected


def test_a_pipes_time_is_its_share_of_the_engines_time(kernels: list[dict[str, str]]) -> None:
    for row in kernels:
        for prefix, engine, pipes in (("aic", "aicore_time(us)", CUBE), ("aiv", "aiv_time(us)", VECTOR)):
            whole = float(row[engine])
            for pipe in pipes:
                ratio, time = float(row[f"{prefix}_{pipe}_ratio"]), float(row[f"{prefix}_{pipe}_time(us)"])
                assert 0 <= ratio <= 1
                assert time == pytest.approx(ratio * whole, abs=0.0006 * whole + 0.0011)


def test_an_engine_is_no_longer_busy_than_its_kernel(kernels: list[dict[str, str]]) -> None:
    for row in kernels:
        duration = float(row["Duration(us)"])
        assert 0 <= float(row["aicore_time(us)"]) <= duration
        assert 0 <= float(row["aiv_time(us)"]) <= duration
        assert float(row["aicore_time(us)"]) + float(row["aiv_time(us)"]) > 0


def test_cycles_are_time_by_clock_by_blocks(kernels: list[dict[str, str]]) -> None:
    for row in kernels:
        blocks = int(row["Block Num"])
        for cycles, engine in (("aic_total_cycles", "aicore_time(us)"), ("aiv_total_cycles", "aiv_time(us)")):
            per_us = MHZ * blocks * (2 if row["Accelerator Core"] == "MIX_AIC" and engine == "aiv_time(us)" else 1)
            assert int(row[cycles]) == pytest.approx(float(row[engine]) * per_us, abs=0.0006 * per_us + 1)


def test_cube_utilization_is_occupied_core_time(kernels: list[dict[str, str]]) -> None:
    shares = []
    for row in kernels:
        share = 100 * int(row["aic_total_cycles"]) / (MHZ * CORES * float(row["Duration(us)"]))
        assert float(row["cube_utilization(%)"]) == pytest.approx(share, abs=0.02)
        assert float(row["cube_utilization(%)"]) <= 100 * int(row["Block Num"]) / CORES + 0.01 or share == 0
        shares.append(share)
    assert max(shares) > 0


def test_an_idle_engine_counts_nothing(kernels: list[dict[str, str]]) -> None:
    for row in kernels:
        idle = {"AI_CORE": "aiv", "AI_VECTOR_CORE": "aic", "MIX_AIV": "aic"}.get(row["Accelerator Core"])
        if idle:
            counted = [value for name, value in row.items() if name.startswith(idle) and name != "aicore_time(us)"]
            assert {float(value) for value in counted} == {0.0}
        if idle == "aic":
            assert float(row["aicore_time(us)"]) == 0
            assert float(row["cube_utilization(%)"]) == 0
