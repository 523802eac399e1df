"""Names of older releases, names of other ways in, and what the 310 lacks."""

from __future__ import annotations

from typing import Any

import pytest

from drynpu._errors import OptionError
from drynpu.options import MetricGroup, NoticeCode, Parsed, profiling_options
from drynpu.options.profiling_options import pmu_events, sample_parameters
from drynpu.platforms import known_series, named_platforms, resolve_platform, resolve_series


def parse(options: Any, **keywords: Any) -> Parsed:
    return profiling_options.parse(options, environ={}, cwd="/job", **keywords)


def problems(options: Any, **keywords: Any) -> tuple[str, ...]:
    with pytest.raises(OptionError) as caught:
        parse(options, **keywords)
    return caught.value.problems


def test_the_names_of_2020_are_read() -> None:
    parsed = parse({"result_path": "/o", "aicpu_trace": "on", "ai_core_metrics": "Memory", "scale": "opType:Add,Mul"})
    assert parsed.request.output.directory == "/o"
    assert parsed.request.switches.aicpu
    assert parsed.request.aic_metrics is MetricGroup.MEMORY
    assert parsed.request.filters.op_types == ("Add", "Mul")
    lenient = [notice for notice in parsed.notices if notice.code is NoticeCode.LENIENT]
    assert [notice.message for notice in lenient] == [
        f"{old} is an old name that the current collector refuses; it is read as {new}."
        for old, new in (
            ("result_path", "output"),
            ("aicpu_trace", "aicpu"),
            ("ai_core_metrics", "aic_metrics"),
            ("scale", "optype"),
        )
    ]


def test_strict_reading_refuses_them() -> None:
    (line,) = problems({"output": "/o", "aicpu_trace": "on"}, strict=True)
    assert line.startswith("aicpu_trace: EK0001 value 'on' refused: Ge option is not supported.")


def test_the_name_of_today_counts() -> None:
    parsed = parse({"output": "/o", "result_path": "/old"})
    assert parsed.request.output.directory == "/o"
    assert parsed.notices[0].message == (
        "result_path is an old name of output, which is given, too; result_path is left out."
    )


def test_a_value_is_checked_under_the_name_of_today() -> None:
    (line,) = problems({"output": "/o", "aicpu_trace": "yes"})
    assert line == "aicpu: EK0001 value 'yes' refused: Please input 'on' or 'off'"


@pytest.mark.parametrize("scale", ["on", "opName:a", "opType:Add;opName:b"])
def test_scale_with_names_of_operators_has_no_counterpart(scale: str) -> None:
    (line,) = problems({"output": "/o", "scale": scale})
    assert line.startswith(f"scale: EK0001 value '{scale}' refused: Ge option is not supported.")


@pytest.mark.parametrize(
    ("key", "where"),
    [
        ("aic_mode", "It exists only as the msprof flag --aic-mode."),
        ("aic_freq", "It exists only as the msprof flag --aic-freq."),
        ("sys_pid_profiling", "It exists only as the msprof flag --sys-pid-profiling."),
        ("switch", "It is a key of acl.json."),
        ("ascendcl", "It is a key of acl.json."),
    ],
)
def test_where_a_key_does_exist(key: str, where: str) -> None:
    assert problems({"output": "/o", key: "on"}) == (
        f"{key}: EK0001 value 'on' refused: Ge option is not supported. {where}",
    )


# -- chips ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "without"),
    [
        ("l2", "on", {"310"}),
        ("sys_io_sampling_freq", 5, {"310P"}),
        ("sys_interconnection_freq", 5, {"310", "310B"}),
        ("sys_mem_serviceflow", "a", {"310", "310B", "310P", "910"}),
        ("task_block", "on", {"310", "310B", "310P", "910", "A2", "A3"}),
        ("sys_cpu_freq", 5, {"310", "310B", "310P", "910", "A2", "A3"}),
        ("sys_lp_freq", 5, {"310", "310B", "310P", "910", "A2", "A3"}),
        ("instr_profiling", "on", {"310", "310B", "310P", "910", "A2", "A3"}),
        ("instr_profiling_freq", 500, {"310", "310B", "310P", "910"}),
        ("dvpp_freq", 5, set()),
        ("sys_hardware_mem_freq", 5, set()),
        ("host_sys", "cpu", set()),
        ("optype", "Add", set()),
    ],
)
def test_every_key_that_a_chip_lacks(key: str, value: Any, without: set[str]) -> None:
    for chip in known_series():
        if chip in without:
            (line,) = problems({"output": "/o", key: value}, chip=chip)
            assert line.startswith(
                f"{key}: EK0005 {key} is not supported on {resolve_platform(chip).label}; chips with it: "
            )
        else:
            assert parse({"output": "/o", key: value}, chip=chip).request is not None


def test_an_operator_filter_may_be_too_new() -> None:
    assert parse({"output": "/o", "optype": "Add"}).notices[0].code is NoticeCode.CHIP
    assert parse({"output": "/o", "optype": "Add"}, chip="950").notices == ()


@pytest.mark.parametrize(
    ("chip", "expected"),
    [
        ("0", "310"),
        ("310B1", "310B"),
        ("Ascend310P3", "310P"),
        ("Ascend910A", "910"),
        ("5", "A2"),
        ("Ascend910B4", "A2"),
        ("A2", "A2"),
        ("A3", "A3"),
        ("Ascend910_9391", "A3"),
        ("16", "950"),
    ],
)
def test_classes_of_chips(chip: str, expected: str) -> None:
    assert resolve_series(chip) == expected


def test_every_class_takes_the_options_of_one_family() -> None:
    assert {resolve_platform(chip) for chip in known_series()} == set(named_platforms())
    assert resolve_platform("A2") is resolve_platform("A3")


# -- counters and sampling in sample.json ---------------------------------------------------------------------------


def test_events_of_the_chips_that_have_their_own() -> None:
    def events(group: MetricGroup, chip: str) -> tuple[int, ...]:
        return pmu_events(group, resolve_platform(chip), cube=True)

    executed = events(MetricGroup.PIPELINE_EXECUTE_UTILIZATION, "310B")
    assert executed == (0x12C, 0x49, 0x4A, 0x9, 0x302, 0xC, 0xD, 0x303)
    assert events(MetricGroup.L2_CACHE, "950") == (0x424, 0x425, 0x426, 0x42A, 0x42B, 0x42C)
    assert events(MetricGroup.L2_CACHE, "5") == (0x500, 0x502, 0x504, 0x506, 0x508, 0x50A)
    assert events(MetricGroup.L2_CACHE, "1") == ()
    assert events(MetricGroup.NONE, "5") == ()
    for chip in known_series():
        for group in profiling_options.metric_groups(resolve_platform(chip)):
            assert pmu_events(group, resolve_platform(chip), cube=True)


def test_rates_become_intervals() -> None:
    options = {
        "output": "/o",
        "sys_hardware_mem_freq": 30,
        "sys_io_sampling_freq": 30,
        "sys_interconnection_freq": 3,
        "dvpp_freq": 50,
        "host_sys_usage": "cpu",
        "host_sys_usage_freq": 20,
        "sys_cpu_freq": 7,
        "sys_lp_freq": 30,
    }
    sample = sample_parameters(parse(options, chip="950").request, resolve_platform("950"))
    expected = {
        "hardware_mem_sampling_interval": 33_333,
        "ddr_profiling_events": "read,write",
        "hbm_profiling_events": "read,write",
        "io_sampling_interval": 33,
        "interconnection_sampling_interval": 333,
        "dvpp_sampling_interval": 20,
        "hostProfilingSamplingInterval": 50,
        "cpu_sampling_interval": 142,
        "sysLpFreq": 33_333,
    }
    assert {name: sample[name] for name in expected} == expected
    plain = sample_parameters(parse({"output": "/o"}).request, resolve_platform("5"))
    assert not [name for name in plain if "nterval" in name]
