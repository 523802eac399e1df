"""Each rule finds what it is for, with the numbers that show it, and nothing just below its threshold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from attrs import evolve
from tests.core.analysis.conftest import make_profile

from drynpu.analysis import STEP_TRACE, Summary, summarise
from drynpu.analysis.hints import (
    Finding,
    _remedies,
    communication_findings,
    find_all,
    host_findings,
    kernel_findings,
    memory_findings,
    rank_findings,
)
from drynpu.analysis.hints._communication import _REMEDIES, _small, _waiting
from drynpu.analysis.hints._remedies import framework_of, remedy_for
from drynpu.analysis.hints._waits import Parts
from drynpu.products import load_profile
from drynpu.tables import API, GC, KERNELS, Profile


@pytest.fixture
def plain(profile: Callable[[Path], Path], tmp_path: Path) -> Profile:
    return load_profile(profile(tmp_path / "host_77_20250109074803000_ascend_pt"))


def steps(*rows: tuple[float, float, float]) -> pl.DataFrame:
    """Computing, communication that is not overlapped, and free, us."""
    names = ("computing_us", "communication_not_overlapped_us", "free_us")
    frame = pl.DataFrame(rows, schema=list(names), orient="row").with_columns(pl.lit("1").alias("step"))
    missing = [pl.lit(0).cast(dtype).alias(name) for name, dtype in STEP_TRACE.items() if name not in frame.columns]
    return frame.with_columns(missing).select(pl.col(name).cast(dtype) for name, dtype in STEP_TRACE.items())


def kernels(*rows: tuple[str, str, int]) -> pl.DataFrame:
    """Type, core and duration in ns, one after the other."""
    given = pl.DataFrame(rows, schema=["op_type", "task_type", "duration_ns"], orient="row")
    given = given.with_columns(pl.col("op_type").alias("name"), pl.col("duration_ns").cum_sum().alias("start_ns"))
    missing = [pl.lit(None).cast(dtype).alias(name) for name, dtype in KERNELS.items() if name not in given.columns]
    return given.with_columns(missing).select(pl.col(name).cast(dtype) for name, dtype in KERNELS.items())


def named(found: Any) -> dict[str, Finding]:
    return {finding.name: finding for finding in found}


def test_a_device_that_waits(plain: Profile) -> None:
    found = named(host_findings(plain, steps((60.0, 0.0, 40.0), (62.0, 0.0, 38.0))))["device-waits-for-host"]
    assert found.cost_us == 39.0
    assert found.evidence.startswith("39% of the time is free: 3 kernels a step")
    assert "device-waits-for-host" not in named(host_findings(plain, steps((71.0, 0.0, 29.0))))
    assert "device-waits-for-host" in named(host_findings(plain, steps((70.0, 0.0, 30.0))))


def test_without_marked_steps_numbers_are_of_the_recording(plain: Profile) -> None:
    whole = steps((60.0, 30.0, 70.0)).with_columns(pl.lit("").alias("step"))
    found = named([*host_findings(plain, whole), *communication_findings(plain, whole)])
    assert found["device-waits-for-host"].evidence.startswith("44% of the time is free: 6 kernels in the recording")
    assert found["exposed-communication"].evidence == "33% of busy time, 0.03 ms in the recording."
    assert {each.per for each in found.values() if each.name != "step-interval"} == {"in the recording"}
    assert found["step-interval"].per == "a step"


def test_calls_that_synchronise(plain: Profile) -> None:
    def profile(duration_ns: int) -> Profile:
        row = {"level": "runtime", "item": "", "pid": 1, "tid": 2, "connection_id": 1}
        calls = [("aclrtSynchronizeStream", 1000, 1000 + duration_ns), ("aclrtMalloc", 5000, 900_000)]
        rows = [{**row, "name": name, "start_ns": start, "end_ns": end} for name, start, end in calls]
        return evolve(plain, api=pl.DataFrame(rows, schema=API))

    found = named(host_findings(profile(6_000), steps((100.0, 0.0, 0.0))))["synchronising-calls"]
    assert (found.cost_us, found.evidence) == (6.0, "1 synchronising calls a step take 0.01 ms.")
    assert "synchronising-calls" not in named(host_findings(profile(5_000), steps((100.0, 0.0, 0.0))))
    found = named(host_findings(profile(26_000), steps((100.0, 0.0, 0.0), (90.0, 0.0, 10.0))))["synchronising-calls"]
    assert (found.cost_us, found.evidence) == (13.0, "0 synchronising calls a step take 0.01 ms.")


def test_the_garbage_collector(plain: Profile) -> None:
    collected = evolve(plain, gc=pl.DataFrame({"pid": [1], "start_ns": [10], "end_ns": [3010]}, schema=GC))
    assert named(host_findings(collected, steps((100.0, 0.0, 0.0))))["garbage-collector"].cost_us == 3.0
    assert "garbage-collector" not in named(host_findings(collected, steps((400.0, 0.0, 0.0))))
    assert "garbage-collector" not in named(host_findings(collected, steps((300.0, 0.0, 0.0))))
    long = evolve(plain, gc=pl.DataFrame({"pid": [1], "start_ns": [10], "end_ns": [30_000_010]}, schema=GC))
    found = named(host_findings(long, steps((100.0, 0.0, 0.0), (90.0, 0.0, 0.0))))["garbage-collector"]
    assert (found.cost_us, found.evidence) == (15_000.0, "1 collections take 15.00 ms a step.")


def test_the_ai_cpu_and_conversions_and_their_shares(plain: Profile) -> None:
    rows = [("Unique", "AI_CPU", 2_000), ("TransData", "AI_VECTOR_CORE", 20_000), ("MatMulV2", "AI_CORE", 78_000)]
    found = named(kernel_findings(evolve(plain, kernels=kernels(*rows)), steps((100.0, 0.0, 0.0), (1.0, 0.0, 0.0))))
    assert (found["ai-cpu"].cost_us, found["ai-cpu"].evidence) == (1.0, "2.0% of the kernel time: Unique x1.")
    assert (found["conversions"].cost_us, found["conversions"].evidence) == (
        10.0,
        "20.0% of the kernel time: TransData x1.",
    )
    rows = [("Unique", "AI_CPU", 1_000), ("TransData", "AI_VECTOR_CORE", 10_000), ("MatMulV2", "AI_CORE", 89_000)]
    assert not named(kernel_findings(evolve(plain, kernels=kernels(*rows)), steps((100.0, 0.0, 0.0))))


@pytest.mark.parametrize(("count", "is_named"), [(200, True), (199, False)])
def test_tiny_kernels(plain: Profile, count: int, is_named: bool) -> None:
    rows = [("Mul", "AI_VECTOR_CORE", 4_999)] * count + [("Big", "AI_CORE", 5_000)] * 40
    found = named(kernel_findings(evolve(plain, kernels=kernels(*rows)), steps((100.0, 0.0, 0.0))))
    assert ("tiny-kernels" in found) == is_named
    if is_named:
        assert found["tiny-kernels"].cost_us == 200 * 4.999
        assert found["tiny-kernels"].evidence == "200 kernels a step last less than 5 us: Mul x200."


def test_kernels_whose_time_is_not_known_are_neither_tiny_nor_median(plain: Profile) -> None:
    rows = [("MatMulV2", "AI_CORE", 0)] * 400 + [("Mul", "AI_VECTOR_CORE", 4_000)] * 100 + [("Big", "AI_CORE", 9_000)]
    profile = evolve(plain, kernels=kernels(*rows))
    assert "tiny-kernels" not in named(kernel_findings(profile, steps((100.0, 0.0, 0.0))))
    found = named(host_findings(profile, steps((10.0, 0.0, 90.0))))["device-waits-for-host"]
    assert "501 kernels a step; the median kernel takes 4.0 us" in found.evidence


def test_matrix_kernels_are_weighed_by_their_time(plain: Profile) -> None:
    use = pl.Series("cube_utilization(%)", [10.0, 30.0, 90.0])
    rows = [("MatMulV2", "AI_CORE", 30_000), ("Conv2D", "MIX_AIC", 10_000), ("MatMulV2", "AI_CORE", 60_000)]
    counted = kernels(*rows).with_columns(use)
    found = named(kernel_findings(evolve(plain, kernels=counted), steps((100.0, 0.0, 0.0))))["cube-use"]
    assert found.evidence == "40.0% of the kernel time at 15 % cube use: MatMulV2 x1, Conv2D x1."
    assert found.cost_us == pytest.approx(34.0)


def test_costs_and_numbers_are_of_one_step(plain: Profile) -> None:
    two = steps((60.0, 30.0, 10.0), (50.0, 20.0, 30.0))
    rows = [("Mul", "AI_VECTOR_CORE", 4_000)] * 400 + [("MatMulV2", "AI_CORE", 400_000)]
    use = pl.Series("cube_utilization(%)", [None] * 400 + [25.0])
    found = named(kernel_findings(evolve(plain, kernels=kernels(*rows).with_columns(use)), two))
    assert found["tiny-kernels"].cost_us == 800.0
    assert found["tiny-kernels"].evidence == "200 kernels a step last less than 5 us: Mul x400."
    assert found["cube-use"].cost_us == pytest.approx(150.0)
    exposed = named(communication_findings(plain, two))["exposed-communication"]
    assert (exposed.cost_us, exposed.evidence) == (25.0, "31% of busy time, 0.03 ms a step.")


def test_shares_have_to_be_exceeded(plain: Profile) -> None:
    """Just the share is not more than it: tiny 30 %, matrix kernels 10 % at less than 40 % use."""
    tiny = [("Mul", "AI_VECTOR_CORE", 3_000)] * 200
    for rest, is_named in ((1_400_000, False), (1_399_000, True)):
        profile = evolve(plain, kernels=kernels(*tiny, ("Big", "AI_VECTOR_CORE", rest)))
        assert ("tiny-kernels" in named(kernel_findings(profile, steps((1.0, 0.0, 0.0))))) == is_named
    for took, use, is_named in ((10_000, 39.0, False), (10_010, 39.0, True), (10_010, 40.0, False)):
        rows = kernels(("MatMulV2", "AI_CORE", took), ("Add", "AI_VECTOR_CORE", 100_000 - took))
        profile = evolve(plain, kernels=rows.with_columns(pl.Series("cube_utilization(%)", [use, 1.0])))
        assert ("cube-use" in named(kernel_findings(profile, steps((1.0, 0.0, 0.0))))) == is_named


@pytest.mark.parametrize(("small", "large", "local", "is_named"), [
    (100, 99, 0, True), (100, 100, 0, False), (99, 0, 0, False), (100, 0, 300, True),
])  # fmt: skip
def test_small_transfers_are_named_where_they_are_many_and_most(
    small: int, large: int, local: int, is_named: bool
) -> None:
    mib = 1 << 20
    moved = [(mib - 1, "SDMA")] * small + [(mib, "SDMA")] * large + [(5, "LOCAL")] * local
    rows = pl.DataFrame({"size_bytes": [size for size, _ in moved], "transport": [link for _, link in moved]})
    found = named(_small(rows, 2, "a step"))
    assert ("small-transfers" in found) == is_named
    if is_named:
        expected = f"50 of {(small + large) / 2:.0f} transfers a step move less than 1 MiB."
        assert found["small-transfers"].evidence == expected


def test_ranks_wait_where_more_than_half_of_the_time_is_waiting() -> None:
    for waited, is_named in ((5_000, False), (5_002, True)):
        times = pl.DataFrame({"elapse_ns": [4_000, 6_000], "wait_ns": [1_000, waited - 1_000]})
        found = named(_waiting(times, 2, "a step"))
        assert ("waiting-ranks" in found) == is_named
        if is_named:
            assert (found["waiting-ranks"].cost_us, found["waiting-ranks"].evidence) == (
                2.501, "50% of their time is waiting.",
            )  # fmt: skip


def test_exposed_communication(plain: Profile) -> None:
    exposed = named(communication_findings(plain, steps((80.0, 20.0, 900.0))))["exposed-communication"]
    assert (exposed.cost_us, exposed.page) == (20.0, "cluster")
    assert not named(communication_findings(plain, steps((90.0, 10.0, 0.0))))


def test_memory_that_is_reserved_and_not_used() -> None:
    gib = 1 << 30
    found = named(memory_findings(4 * gib, 6 * gib))["fragmentation"]
    assert found.evidence == "6.0 GiB reserved for a peak of 4.0 GiB."
    assert not named(memory_findings(5 * gib, 6 * gib))
    assert not named(memory_findings(gib // 4, gib))
    assert not named(memory_findings(2 * gib, 3 * gib))  # the least difference has to be exceeded
    assert named(memory_findings(2 * gib, 3 * gib + 1))
    assert not named(memory_findings(None, gib))


def test_what_costs_most_stands_first_and_what_nobody_knows_last(plain: Profile) -> None:
    summary: Summary = evolve(summarise(plain), steps=steps((10.0, 30.0, 60.0)))
    findings = find_all(plain, summary)
    costs = [finding.cost_us for finding in findings]
    assert costs == sorted(costs, key=lambda cost: -1.0 if cost is None else cost, reverse=True)
    assert [finding.name for finding in findings] == [
        "step-interval",
        "exposed-communication",
        "unmapped",
    ]
    assert "In the same time: The device waits for the host. 60% of the time is free" in findings[0].evidence
    assert findings[-1].evidence == "2 kernels stand for them: Thing x2."


MS = 1_000_000


def collective() -> Profile:
    """A collective of 100 ms: 5 of waiting for rank 3, a pause of 80, 10 of transfer to rank 2; 20 ms of computing."""
    task = {"connection_id": 7, "plane_id": 1, "is_master": True, "link": "HCCS", "transport": "SDMA", "src_rank": 0}
    tasks = [
        {**task, "name": "Notify_Wait", "start_ns": 0, "duration_ns": 5 * MS, "dst_rank": 3},
        {**task, "name": "Memcpy", "start_ns": 85 * MS, "duration_ns": 10 * MS, "dst_rank": 2,
         "transfer_ns": 10 * MS, "transfer_bytes": 1 << 20},
    ]  # fmt: skip
    tasks[0]["transfer_ns"] = None
    return make_profile(
        communication_ops=[{"connection_id": 7, "name": "hcom_allReduce__1", "start_ns": 0, "duration_ns": 100 * MS}],
        communication_tasks=tasks,
        kernels=[{"name": "k", "op_type": "Add", "start_ns": 0, "duration_ns": 20 * MS}],
        api=[{"name": "aclrtSynchronizeStream", "start_ns": 30 * MS, "end_ns": 99 * MS}],
    )


def test_communication_is_split_and_says_what_it_waited_for_and_what_moving_less_wins() -> None:
    findings = named(communication_findings(collective(), steps((20_000.0, 80_000.0, 0.0))))["exposed-communication"]
    assert "transit 10.00 ms (10%), wait 5.00 ms (5%), idle 85.00 ms (85%)" in findings.evidence
    assert (
        "80.00 ms in hcom_allReduce__1, ends with Memcpy with rank 2; the device computes for 15.00 ms"
        in findings.evidence
    )
    assert findings.remedy.startswith("Moving less wins nothing")


@pytest.mark.parametrize(
    ("parts", "word"), [((60, 20, 20), "Overlap"), ((20, 60, 20), "slow rank"), ((1, 2, 90), "Moving")]
)
def test_the_remedy_is_for_the_largest_part(parts: tuple[int, int, int], word: str) -> None:
    transit, wait, idle = parts
    assert word in _REMEDIES[Parts(elapsed=sum(parts), transit=transit, wait=wait, idle=idle).largest]


def test_time_that_two_conditions_share_is_counted_once() -> None:
    profile = collective()
    findings = find_all(profile, evolve(summarise(profile), steps=steps((20_000.0, 80_000.0, 0.0))))
    assert [finding.name for finding in findings] == ["exposed-communication"]
    assert (
        "In the same time: The host waits for the device. 1 synchronising calls a step take 69.00 ms"
        in findings[0].evidence
    )
    assert ".item()" not in findings[0].remedy


@pytest.mark.parametrize("slow", [None, 0, 54])
def test_all_ranks_of_a_run_are_looked_at(plain: Profile, slow: int | None) -> None:
    usual = evolve(summarise(plain), steps=steps((60_000.0, 30_000.0, 10_000.0)))
    late = evolve(usual, steps=steps((95_000.0, 1_000.0, 10_000.0)))
    findings = named(rank_findings([(str(rank), plain, late if rank == slow else usual) for rank in range(64)]))
    assert ("slow-ranks" in findings) == (slow is not None)
    if slow is not None:
        assert findings["slow-ranks"].title == f"Rank {slow} of 64 ranks holds the others up"
        assert findings["slow-ranks"].rank == str(slow)
        assert f"{slow} (+49%)" in findings["slow-ranks"].evidence
    assert not list(rank_findings([("0", plain, late)]))


@pytest.mark.parametrize("framework", ["", "torch", "mindspore"])
def test_remedies_are_in_the_words_of_the_framework(framework: str) -> None:
    words = " ".join(remedy_for(name, framework) for name in _remedies._REMEDIES)
    torch_words = ("TASK_QUEUE_ENABLE", "npu_format_cast", "empty_cache", ".item()", "bucket_cap_mb", "NpuFused")
    assert [word in words for word in torch_words] == [framework == "torch"] * len(torch_words)
    assert ("jit_level" in words) == (framework == "mindspore")


@pytest.mark.parametrize(("more", "framework"), [
    ({"product": "mindspore", "profiler_info": {"a": 1}}, "mindspore"),
    ({"profiler_info": {"a": 1}}, "torch"),
    ({}, ""),
])  # fmt: skip
def test_the_framework_is_known_where_its_profiler_left_something(more: dict[str, Any], framework: str) -> None:
    assert framework_of(make_profile(**more)) == framework
