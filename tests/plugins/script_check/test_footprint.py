"""What recording costs per second and per step."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu import OptionError
from drynpu.options import (
    Activity,
    HostSystem,
    HostUsage,
    Level,
    MetricGroup,
    ProfilingRequest,
    Sampling,
    Switches,
    msprof_cli,
    parse_request,
)
from drynpu.platforms import known_series
from drynpu_script_check._explanations import explain
from drynpu_script_check._footprint import Footprint, estimate_footprint


def sampled(chip: str = "A2", *, level: Level = Level.NONE, **keywords: Any) -> Footprint:
    request = ProfilingRequest(
        level=level,
        activities=(Activity.DEVICE,),
        switches=Switches(acl_api=False),
        sampling=Sampling(**keywords),
    )
    return estimate_footprint(request, chip)


def per_second(chip: str = "A2", **keywords: Any) -> dict[str, float]:
    return {part.record: part.bytes for part in sampled(chip, **keywords).parts if part.per == "second"}


def test_nothing_sampled_costs_nothing_per_second() -> None:
    assert sampled().bytes_per_second == 0
    assert sampled(level=Level.L1).bytes_per_second == 0


def test_a_rate_multiplies_the_records_of_an_item() -> None:
    # 2 x 4 units of 24 bytes; 2 x 32; 20 modules of 24; 2 x 64; 64.
    assert per_second(hardware_memory_hz=50) == {
        "hbm": 50 * 192,
        "llc": 50 * 192,
        "npu_mem": 50 * 64,
        "npu_module_mem": 50 * 480,
        "stars_soc_profile": 50 * 128,
        "qos": 50 * 64,
    }
    assert per_second(interconnection_hz=10) == {"pcie": 960, "hccs": 1200, "stars_soc_profile": 640}
    assert per_second(io_hz=100) == {"nic": 12_000, "roce": 12_000}
    assert per_second(cpu_hz=10) == {"ai_ctrl_cpu": 9_600, "tscpu": 1_200}
    assert per_second("950", cpu_hz=10) == {"ai_ctrl_cpu": 9_600}
    assert per_second(dvpp_hz=10) == {"dvpp": 7_200}
    assert per_second(device_system_hz=10) == {"SystemCpuUsage": 20_480}
    assert per_second(device_process_hz=10) == {"CpuUsage": 400_000}
    assert per_second(ai_core_hz=100) == {"aicore": 100 * 24 * 128}


@pytest.mark.parametrize(
    ("chip", "io", "links"),
    [
        ("310", {"nic"}, set()),
        ("310B", {"nic"}, set()),
        ("310P", set(), {"pcie"}),
        ("910", {"nic", "roce"}, {"pcie", "hccs"}),
        ("A2", {"nic", "roce"}, {"pcie", "hccs", "stars_soc_profile"}),
        ("A3", {"nic", "roce"}, {"pcie", "hccs", "stars_soc_profile"}),
        ("950", {"ub"}, {"pcie", "stars_soc_profile"}),
    ],
)
def test_a_chip_samples_what_it_has(chip: str, io: set[str], links: set[str]) -> None:
    assert set(per_second(chip, io_hz=10)) == io
    assert set(per_second(chip, interconnection_hz=10)) == links


def test_high_memory_rates_count_for_quality_of_service_only() -> None:
    slow, fast = per_second("950", hardware_memory_hz=100), per_second("950", hardware_memory_hz=10_000)
    assert fast.pop("qos") == 100 * slow.pop("qos")
    assert fast == slow


def test_counters_cost_per_task_or_per_second() -> None:
    by_task = sampled(level=Level.L1)
    by_time = sampled(level=Level.L1, ai_core_hz=100)
    assert by_task.bytes_per_kernel - by_time.bytes_per_kernel == 128
    assert by_time.of_option("sampling.ai_core_hz", "second") == by_time.bytes_per_second == 307_200
    off = ProfilingRequest(aic_metrics=MetricGroup.NONE, sampling=Sampling(ai_core_hz=100))
    assert estimate_footprint(off).bytes_per_second == 0


def test_the_host_is_sampled_without_the_device() -> None:
    host = ProfilingRequest(
        activities=(Activity.HOST,),
        sampling=Sampling(
            hardware_memory_hz=100,
            host_systems=(HostSystem.CPU, HostSystem.DISK),
            host_usage=(HostUsage.CPU,),
            host_usage_hz=10,
        ),
    )
    found = {part.record: part.bytes for part in estimate_footprint(host).parts if part.per == "second"}
    assert found == {
        "host_cpu": 50 * 1024,
        "host_disk": 50 * 1024,
        "host_sys_cpu": 10 * 21_024,
    }


def test_bytes_per_kernel_step_and_second() -> None:
    request = ProfilingRequest(
        level=Level.L0,
        activities=(Activity.DEVICE,),
        switches=Switches(acl_api=False, training_trace=True),
        sampling=Sampling(io_hz=100),
    )
    footprint = estimate_footprint(request, "A2")
    assert footprint.bytes_per_kernel == 272
    assert footprint.bytes_per_second == 24_000
    # Five key points of 40 bytes.
    assert footprint.of_option("switches.training_trace", "step") == 200


def test_level_two_cache_counters_have_a_record_per_kernel() -> None:
    plain = ProfilingRequest(activities=(Activity.DEVICE,))
    cached = ProfilingRequest(activities=(Activity.DEVICE,), switches=Switches(l2_cache=True))
    assert estimate_footprint(cached).bytes_per_kernel - estimate_footprint(plain).bytes_per_kernel == 72
    assert estimate_footprint(cached).of_option("switches.l2_cache", "kernel") == 72


def test_explanations_share_out_seconds_and_steps() -> None:
    flags = {"output": "/o", "sys-hardware-mem": "on", "sys-io-profiling": "on", "host-sys": "cpu"}
    parsed = msprof_cli.parse(flags, application=["./a"], environ={}, cwd="/")
    footprint = estimate_footprint(parsed.request, "5")
    rows = explain(parsed, chip="5")
    assert math.isclose(sum(row.bytes_per_second for row in rows), footprint.bytes_per_second)
    assert sum(row.bytes_per_step for row in rows) == 200
    (memory,) = [row for row in rows if row.path == "sampling.hardware_memory_hz"]
    assert memory.bytes_per_second == 50 * (192 + 192 + 64 + 480 + 128 + 64)


def test_unknown_chip() -> None:
    with pytest.raises(OptionError):
        estimate_footprint(ProfilingRequest(), "none of them")


RATES = ("io_hz", "interconnection_hz", "dvpp_hz", "low_power_hz", "ai_core_hz", "hardware_memory_hz")


@given(st.dictionaries(st.sampled_from(RATES), st.integers(1, 50)), st.sampled_from(known_series()))
def test_a_second_is_the_sum_of_its_options(rates: dict[str, int], chip: str) -> None:
    footprint = sampled(chip, level=Level.L1, **rates)
    assert all(part.bytes > 0 for part in footprint.parts)
    shares = {part.option: footprint.of_option(part.option, "second") for part in footprint.parts}
    assert math.isclose(sum(shares.values()), footprint.bytes_per_second)


def test_a_document_of_the_neutral_model_has_a_price() -> None:
    parsed = parse_request({"sampling": {"io_hz": 10}, "activities": ["device"]})
    assert estimate_footprint(parsed.request, "Ascend910B2").bytes_per_second == 2_400
