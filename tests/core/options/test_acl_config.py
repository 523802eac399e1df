from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import (
    Activity,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    LlcMode,
    MetricGroup,
    ProfilingRequest,
    Sampling,
    Switches,
    from_mapping,
    to_mapping,
)
from drynpu.options.acl_config import (
    AICORE_METRICS,
    CONFIG_TYPES,
    DATA_TYPES,
    apply_configs,
    mask_names,
    metric_group,
    read_config,
    request_from_mask,
    unsupported_bits,
    widen_mask,
)
from drynpu.options.profiling_options import metric_groups
from drynpu.platforms import known_series, resolve_platform


def refused(call: Any, *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(OptionError) as caught:
        call(*arguments, **keywords)
    (line,) = caught.value.problems
    return line


# -- the mask -------------------------------------------------------------------------------------------------------


def test_the_bits() -> None:
    assert {name: data_type.bit for name, data_type in DATA_TYPES.items()} == {
        "ACL_API": 0x1,
        "TASK_TIME": 0x2,
        "AICORE_METRICS": 0x4,
        "AICPU": 0x8,
        "L2CACHE": 0x10,
        "HCCL_TRACE": 0x20,
        "TRAINING_TRACE": 0x40,
        "MSPROFTX": 0x80,
        "RUNTIME_API": 0x100,
        "GE_API_L0": 0x200,
        "TASK_TSFW": 0x400,
        "TASK_TIME_L0": 0x800,
        "TASK_MEMORY": 0x1000,
        "TASK_TIME_L2": 0x2000,
        "OP_ATTR": 0x4000,
        "TASK_TIME_L3": 0x8000,
        "CPU": 0x10000,
        "HARDWARE_MEMORY": 0x20000,
        "IO": 0x40000,
        "INTER_CONNECTION": 0x80000,
        "DVPP": 0x100000,
        "SYS_AICORE_SAMPLE": 0x200000,
        "AIVECTORCORE_SAMPLE": 0x400000,
        "INSTR": 0x800000,
        "GE_API_L1": 0x1000000,
        "RUNTIME_TRACE": 0x4000000,
    }
    assert list(DATA_TYPES) == sorted(DATA_TYPES, key=lambda name: DATA_TYPES[name].bit)


@pytest.mark.parametrize(
    ("mask", "widened"),
    [
        (0x800, 0x840),
        (0x2, 0x842),
        (0x2000, 0x2842),
        (0x8000, 0xA842),
        (0x4000, 0x4842),
        (0x1000000, 0x1000200),
        (0x1, 0x1),
        (0x0, 0x0),
    ],
)
def test_bits_bring_others_along(mask: int, widened: int) -> None:
    assert widen_mask(mask) == widened


def test_the_mask_of_the_first_sample() -> None:
    mask = 0x1 | 0x2 | 0x8 | 0x4 | 0x10 | 0x20
    request = request_from_mask(mask, metric_group(0))
    assert request.level is Level.L1
    assert request.aic_metrics is MetricGroup.ARITHMETIC_UTILIZATION
    assert request.activities == (Activity.DEVICE,)
    switches = request.switches
    assert (switches.acl_api, switches.aicpu, switches.l2_cache, switches.communication) == (True,) * 4
    assert switches.training_trace
    assert (switches.runtime_api, switches.tx, switches.task_memory) == (False,) * 3


@pytest.mark.parametrize(
    ("mask", "level"),
    [(0x1, Level.NONE), (0x800, Level.L0), (0x2, Level.L1), (0x2000, Level.L2), (0x8000, Level.L3)],
)
def test_levels(mask: int, level: Level) -> None:
    assert request_from_mask(mask).level is level


def test_counters_count_with_their_bit_and_a_level() -> None:
    assert request_from_mask(0x2, MetricGroup.MEMORY).aic_metrics is MetricGroup.NONE
    assert request_from_mask(0x6, MetricGroup.MEMORY).aic_metrics is MetricGroup.MEMORY
    assert request_from_mask(0x804, MetricGroup.MEMORY).aic_metrics is MetricGroup.NONE


def test_graph_engine() -> None:
    assert request_from_mask(0x201).switches.graph_api is GraphApi.L0
    assert request_from_mask(0x1000001).switches.graph_api is GraphApi.L1


def test_everything_else_comes_from_the_base() -> None:
    base = ProfilingRequest(sampling=Sampling(io_hz=7), switches=Switches(with_stack=True, aicpu=True))
    request = request_from_mask(0x1, base=base)
    assert request.sampling.io_hz == 7
    assert request.switches.with_stack
    assert not request.switches.aicpu


def test_bits_that_start_refuses() -> None:
    assert unsupported_bits(0x400 | 0x1, "5") == 0x400
    assert unsupported_bits(0x10000, "5") == 0x10000
    assert unsupported_bits(0x8000, "1") == 0x8000
    assert unsupported_bits(0x8000, "5") == 0
    assert unsupported_bits(0x10, "310") == 0x10
    line = refused(request_from_mask, 0x401)
    assert line == "data_type_config: 0x400 (TASK_TSFW) is not supported on Ascend910B/A3."
    line = refused(request_from_mask, 0x80000001)
    assert line == "data_type_config: 0x80000000 (0x80000000) is not supported on Ascend910B/A3."


@pytest.mark.parametrize("mask", [0, -1, True, "1", None])
def test_a_mask_that_asks_for_nothing(mask: Any) -> None:
    assert (
        refused(request_from_mask, mask) == f"data_type_config: {mask!r} asks for nothing; allowed: at least one bit."
    )


def test_names_of_bits() -> None:
    assert mask_names(0x801 | 1 << 40) == ("ACL_API", "TASK_TIME_L0", "0x10000000000")
    assert mask_names(0) == mask_names(-1) == ()


masks = st.lists(
    st.sampled_from([data_type.bit for data_type in DATA_TYPES.values() if data_type.public]), min_size=1
).map(lambda bits: sum(set(bits)))


@given(masks, st.sampled_from(MetricGroup))
def test_a_widened_mask_asks_for_the_same(mask: int, metrics: MetricGroup) -> None:
    request = request_from_mask(mask, metrics)
    assert request_from_mask(widen_mask(mask), metrics) == request
    assert widen_mask(widen_mask(mask)) == widen_mask(mask)
    assert from_mapping(to_mapping(request)) == request


@given(st.integers() | st.integers(0, 2**32), st.sampled_from(known_series()))
def test_any_mask_is_read_or_refused(mask: int, chip: str) -> None:
    try:
        request = request_from_mask(mask, chip=chip)
    except OptionError as error:
        assert len(error.problems) == 1
        return
    assert not unsupported_bits(mask, chip)
    assert isinstance(request, ProfilingRequest)


# -- counters -------------------------------------------------------------------------------------------------------


def test_codes_of_the_groups() -> None:
    assert set(AICORE_METRICS) == {*range(9), 0xFF}
    assert set(AICORE_METRICS.values()) == set(MetricGroup)
    assert metric_group(3) is MetricGroup.MEMORY_L0
    assert metric_group(0xFF, "310") is MetricGroup.NONE


def test_codes_that_a_chip_lacks() -> None:
    assert refused(metric_group, 8, "1") == "aicore_metrics: 8 (MemoryAccess) does not exist on Ascend910."
    assert refused(metric_group, 9).startswith("aicore_metrics: 9 is no group of counters; allowed: 0, 1, 2,")
    assert refused(metric_group, "1").startswith("aicore_metrics: '1' is no group of counters")
    for chip in known_series():
        found = []
        for code in AICORE_METRICS:
            try:
                found.append(metric_group(code, chip))
            except OptionError:
                continue
        assert set(found) == {*metric_groups(resolve_platform(chip)), MetricGroup.NONE}


# -- configuration types --------------------------------------------------------------------------------------------


def test_the_configuration_types() -> None:
    assert {code: config.name.removeprefix("ACL_PROF_") for code, config in CONFIG_TYPES.items()} == {
        1: "STORAGE_LIMIT",
        3: "SYS_HARDWARE_MEM_FREQ",
        4: "LLC_MODE",
        5: "SYS_IO_FREQ",
        6: "SYS_INTERCONNECTION_FREQ",
        7: "DVPP_FREQ",
        8: "HOST_SYS",
        9: "HOST_SYS_USAGE",
        10: "HOST_SYS_USAGE_FREQ",
        11: "LOW_POWER_FREQ",
        12: "SYS_MEM_SERVICEFLOW",
        13: "SYS_CPU_FREQ",
        14: "OPTYPE",
        15: "NTS_METRICS",
        16: "PATH",
    }


@pytest.mark.parametrize(
    ("code", "text", "value"),
    [
        (1, "250MB", 250),
        (3, "100", 100),
        (3, "10000", 10_000),
        (4, "write", LlcMode.WRITE),
        (5, "015", 15),
        (6, "50", 50),
        (7, "1", 1),
        (8, "cpu,osrt", (HostSystem.CPU, HostSystem.OS_RUNTIME)),
        (9, "mem", (HostUsage.MEMORY,)),
        (10, "05", 5),
        (11, "100", 100),
        (12, "a", "a"),
        (13, "50", 50),
        (14, "Add,Mul,Add", ("Add", "Mul")),
        (16, "./x", "./x"),
    ],
)
def test_values_on_the_950(code: int, text: str, value: object) -> None:
    assert read_config(code, text, chip="950") == value


RANGE_100 = "Please input an integer value in range [1, 100]"
RANGE_50 = "Please input an integer value in range [1, 50]"
STORAGE = "Please input a value in range [200, 4294967295] and end with MB, for example 200MB"
OP_TYPES = "Please input non-empty comma-separated op types, and total length should not exceed 256"


@pytest.mark.parametrize(
    ("code", "text", "reason"),
    [
        (1, "250", STORAGE),
        (1, "199MB", STORAGE),
        (1, "", STORAGE),
        (3, "101", RANGE_100),
        (3, "0", RANGE_100),
        (3, "0015", RANGE_100),
        (3, " 15", RANGE_100),
        (3, "15.0", RANGE_100),
        (3, "-1", RANGE_100),
        (3, "", RANGE_100),
        (3, "\u0661", RANGE_100),
        (6, "015", RANGE_50),
        (10, "51", RANGE_50),
        (4, "bandwidth", "Please input 'read' or 'write'"),
        (8, "gpu", "Please input one or more of 'cpu', 'mem', 'disk', 'network', 'osrt' or 'numa'"),
        (8, "", "Please input one or more of 'cpu', 'mem', 'disk', 'network', 'osrt' or 'numa'"),
        (9, "disk", "Please input 'cpu' or 'mem'"),
        (12, "", "Please input a non-empty value"),
        (14, "", OP_TYPES),
        (14, "a,,b", OP_TYPES),
        (16, "", "Please input a valid profiling result path"),
        (16, "a;b", "Please input a valid profiling result path"),
    ],
)
def test_reasons(code: int, text: str, reason: str) -> None:
    assert refused(read_config, code, text) == f"{CONFIG_TYPES[code].name}: EK0003 value {text!r} refused: {reason}"


def test_what_is_no_setting() -> None:
    assert refused(read_config, 2, "1").startswith("config_type: 2 is no configuration type; allowed: 1, 3, 4, ")
    assert refused(read_config, "3", "1").startswith("config_type: '3' is no configuration type")
    assert "a text of at most 256 bytes" in refused(read_config, 3, 15)
    assert "a text of at most 256 bytes" in refused(read_config, 16, "x" * 257)
    line = refused(read_config, 13, "5")
    assert line == (
        "ACL_PROF_SYS_CPU_FREQ: EK0005 ACL_PROF_SYS_CPU_FREQ is not supported on Ascend910B/A3; "
        "chips with it: Ascend950"
    )
    line = refused(read_config, 15, "PipeUtilization", chip="950")
    assert line == "ACL_PROF_NTS_METRICS: EK0005 ACL_PROF_NTS_METRICS is not supported on Ascend950"


def test_settings_go_into_a_request() -> None:
    request = apply_configs(ProfilingRequest(), {1: "300MB", 3: "15", 8: "cpu", 14: "Add", 16: "/o"})
    assert request.output.storage_limit_mb == 300
    assert request.output.directory == "/o"
    assert request.sampling.hardware_memory_hz == 15
    assert request.sampling.host_systems == (HostSystem.CPU,)
    assert request.filters.op_types == ("Add",)
    with pytest.raises(OptionError) as caught:
        apply_configs(ProfilingRequest(), {3: "x", 6: "y", 7: "5"})
    assert [line.partition(":")[0] for line in caught.value.problems] == [
        "ACL_PROF_SYS_HARDWARE_MEM_FREQ",
        "ACL_PROF_SYS_INTERCONNECTION_FREQ",
    ]


texts = st.text(max_size=12) | st.sampled_from(["15", "300MB", "cpu", "cpu,mem", "read", "a,b", "/o", "00001"])


@given(st.dictionaries(st.sampled_from(sorted(CONFIG_TYPES)) | st.integers(), texts, max_size=6))
def test_any_settings_are_read_or_refused(settings: dict[int, str]) -> None:
    try:
        request = apply_configs(ProfilingRequest(), settings, chip="950")
    except OptionError as error:
        assert all(line.strip() and "\n" not in line for line in error.problems)
        return
    assert from_mapping(to_mapping(request)) == request
