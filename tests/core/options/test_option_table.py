"""The option table against the vendor's pages, written down once more here (docs/formats)."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from drynpu import OptionError
from drynpu.options import (
    MetricGroup,
    Output,
    ProfilingRequest,
    Sampling,
    Schedule,
    Switches,
    Window,
    acl_config,
    acl_json,
    experimental_config,
    fixed_hz,
    leaf_values,
    msprof_cli,
    profiling_options,
)
from drynpu.options._table import option_rows
from drynpu.options.experimental_config import ConfigValues, Flags, HandlerValues
from drynpu.options.msprof_cli import FLAGS, Launch
from drynpu.options.profiling_options import METRIC_NAMES

PLATFORMS = ("310", "310B", "310P", "910", "A2", "A3", "950")
ON_950 = {"950"}
SINCE_A2 = {"A2", "A3", "950"}


def refusal(read: Any, *arguments: Any, **keywords: Any) -> str:
    with pytest.raises(OptionError) as caught:
        read(*arguments, **keywords)
    return "\n".join(caught.value.problems)


def read_json(key: str, value: object, chip: str) -> Any:
    return profiling_options.parse({"output": "/o", key: value}, chip=chip, strict=True, environ={}, cwd="/")


# -- one row for everything -----------------------------------------------------------------------------------------


def test_every_option_of_the_model_has_a_row_and_every_row_an_option() -> None:
    model = set(leaf_values(ProfilingRequest(schedule=Schedule())))
    launch = {f"launch.{field.name}" for field in attrs.fields(Launch)}
    assert set(option_rows()) - launch == model
    # What is run stands after the flags, too, and the kind of run follows from the flags.
    assert launch - set(option_rows()) == {"launch.mode"}


def test_every_keyword_of_the_profiler_belongs_to_a_row() -> None:
    named = [name for row in option_rows().values() for name in row.torch]
    assert len(named) == len(set(named))
    classes = (ConfigValues, Flags, HandlerValues, Schedule)
    assert set(named) == {field.name for kind in classes for field in attrs.fields(kind)} | {"activities"}


# -- keys: cann_msprof.md 1.3 ---------------------------------------------------------------------------------------

# Key: the largest and the smallest number, and who has it.
RATES: dict[str, tuple[int, int, set[str]]] = {
    "sys_hardware_mem_freq": (1, 100, set(PLATFORMS)),
    "sys_io_sampling_freq": (1, 100, set(PLATFORMS) - {"310P"}),
    "sys_interconnection_freq": (1, 50, set(PLATFORMS) - {"310", "310B"}),
    "sys_cpu_freq": (1, 50, ON_950),
    "dvpp_freq": (1, 100, set(PLATFORMS)),
    "instr_profiling_freq": (300, 30_000, SINCE_A2),
    "host_sys_usage_freq": (1, 50, set(PLATFORMS)),
    "sys_lp_freq": (1, 100, ON_950),
}


@pytest.mark.parametrize("chip", PLATFORMS)
@pytest.mark.parametrize("key", RATES)
def test_numbers_of_the_options_document(key: str, chip: str) -> None:
    low, high, platforms = RATES[key]
    if chip not in platforms:
        assert f"{key}: EK0005 {key} is not supported on " in refusal(read_json, key, low, chip)
        return
    if (key, chip) == ("sys_hardware_mem_freq", "950"):
        high = 10_000
    for value in (low, high):
        read_json(key, value, chip)
    for value in (low - 1, high + 1):
        assert refusal(read_json, key, value, chip).endswith(f"in range [{low}, {high}]")


@pytest.mark.parametrize(
    ("key", "value", "platforms"),
    [
        ("l2", "on", set(PLATFORMS) - {"310"}),
        ("task_block", "all", ON_950),
        ("sys_mem_serviceflow", "x", SINCE_A2),
        ("instr_profiling", "on", ON_950),
        ("task_time", "l3", SINCE_A2),
        ("llc_profiling", "capacity", {"310"}),
        ("llc_profiling", "read", set(PLATFORMS) - {"310"}),
        ("aic_metrics", "L2Cache", {"310B", *SINCE_A2}),
        ("aic_metrics", "MemoryAccess", {"A2", "A3"}),
        ("aic_metrics", "PipelineExecuteUtilization", {"310B"}),
        ("aic_metrics", "ResourceConflictRatio", set(PLATFORMS)),
        ("optype", "MatMul", set(PLATFORMS)),
    ],
)
def test_platforms_of_keys_and_words(key: str, value: str, platforms: set[str]) -> None:
    taken = set()
    for chip in PLATFORMS:
        try:
            read_json(key, value, chip)
        except OptionError:
            continue
        taken.add(chip)
    assert taken == platforms


def test_places_of_the_keys_in_the_model() -> None:
    """Each key by itself reaches its own place and no other."""
    values: dict[str, tuple[object, str, object]] = {
        "sys_hardware_mem_freq": (7, "hardware_memory_hz", 7),
        "sys_io_sampling_freq": (8, "io_hz", 8),
        "sys_interconnection_freq": (9, "interconnection_hz", 9),
        "sys_cpu_freq": (10, "cpu_hz", 10),
        "dvpp_freq": (11, "dvpp_hz", 11),
        "sys_lp_freq": (12, "low_power_hz", 12),
        "host_sys_usage_freq": (13, "host_usage_hz", 13),
        "sys_mem_serviceflow": ("flow", "service_flow", "flow"),
    }
    for key, (value, name, expected) in values.items():
        assert read_json(key, value, "950").request.sampling == Sampling(**{name: expected}), key


# -- the ACL calls: 1.7 ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "low", "high"), [(3, 1, 100), (5, 1, 100), (6, 1, 50), (7, 1, 100), (10, 1, 50), (11, 1, 100), (13, 1, 50)]
)
def test_numbers_of_configuration_types(code: int, low: int, high: int) -> None:
    chip = "950"
    if code == 3:
        high = 10_000
    for value in (low, high):
        assert acl_config.read_config(code, str(value), chip=chip) == value
    for value in (low - 1, high + 1):
        assert f"[{low}, {high}]" in refusal(acl_config.read_config, code, str(value), chip=chip)


def test_levels_as_bits() -> None:
    """level0 = 0x800|0x40; level1 = + 0x2; level2 = + 0x2000; level3 = + 0x8000."""
    for bit, mask in ((0x800, 0x840), (0x2, 0x842), (0x2000, 0x2842), (0x8000, 0xA842)):
        assert acl_config.widen_mask(bit) == mask
    assert acl_config.widen_mask(0x1000000) == 0x1000200


# -- flags: 6.1 -----------------------------------------------------------------------------------------------------

# Flag: default as typed, range.
FLAG_VALUES: dict[str, tuple[str, tuple[int, int] | None]] = {
    "task-time": ("on", None),
    "ascendcl": ("on", None),
    "runtime-api": ("off", None),
    "model-execution": ("off", None),
    "hccl": ("off", None),
    "aicpu": ("off", None),
    "ge-api": ("off", None),
    "task-memory": ("off", None),
    "task-block": ("off", None),
    "l2": ("off", None),
    "type": ("text", None),
    "aic-mode": ("task-based", None),
    "aic-freq": ("100", (1, 100)),
    "sys-hardware-mem": ("off", None),
    "sys-hardware-mem-freq": ("50", (1, 100)),
    "llc-profiling": ("read", None),
    "sys-io-profiling": ("off", None),
    "sys-io-sampling-freq": ("100", (1, 100)),
    "sys-interconnection-profiling": ("off", None),
    "sys-interconnection-freq": ("50", (1, 50)),
    "sys-cpu-profiling": ("off", None),
    "sys-cpu-freq": ("50", (1, 50)),
    "sys-profiling": ("off", None),
    "sys-sampling-freq": ("10", (1, 10)),
    "sys-pid-profiling": ("off", None),
    "sys-pid-sampling-freq": ("10", (1, 10)),
    "dvpp-profiling": ("off", None),
    "dvpp-freq": ("50", (1, 100)),
    "instr-profiling": ("off", None),
    "instr-profiling-freq": ("1000", (300, 30_000)),
    "host-sys-usage-freq": ("50", (1, 50)),
    "msproftx": ("off", None),
    "sys-lp": ("on", None),
    "sys-lp-freq": ("100", (1, 100)),
    "storage-limit": ("", (200, 4_294_967_295)),
    "delay": ("", (1, 4_294_967_295)),
    "duration": ("", (1, 4_294_967_295)),
    "sys-period": ("", (1, 2_592_000)),
}


@pytest.mark.parametrize("name", FLAG_VALUES)
def test_defaults_and_ranges_of_flags(name: str) -> None:
    default, limits = FLAG_VALUES[name]
    flag = FLAGS[name]
    assert flag.default == default
    assert (None if flag.limits is None else (flag.limits.low, flag.limits.high)) == limits


@pytest.mark.parametrize(
    ("switch", "rate", "field", "default"),
    [
        ("sys-hardware-mem", "sys-hardware-mem-freq", "hardware_memory_hz", 50),
        ("sys-io-profiling", "sys-io-sampling-freq", "io_hz", 100),
        ("sys-interconnection-profiling", "sys-interconnection-freq", "interconnection_hz", 50),
        ("sys-cpu-profiling", "sys-cpu-freq", "cpu_hz", 50),
        ("sys-profiling", "sys-sampling-freq", "device_system_hz", 10),
        ("sys-pid-profiling", "sys-pid-sampling-freq", "device_process_hz", 10),
        ("dvpp-profiling", "dvpp-freq", "dvpp_hz", 50),
        ("sys-lp", "sys-lp-freq", "low_power_hz", 100),
    ],
)
def test_a_switch_and_its_rate(switch: str, rate: str, field: str, default: int) -> None:
    def sampled(flags: dict[str, str]) -> object:
        parsed = msprof_cli.parse(flags, application=["./app"], chip="950", environ={}, cwd="/")
        return getattr(parsed.request.sampling, field)

    assert sampled({switch: "on"}) == default
    assert sampled({switch: "on", rate: "3"}) == 3
    assert sampled({switch: "off", rate: "3"}) is None


# -- counters: 1.8; torch_npu_profiler.md 1.2 -----------------------------------------------------------------------


def test_names_of_counter_groups() -> None:
    names = {
        "PipeUtilization": ("ACL_AICORE_PIPE_UTILIZATION", MetricGroup.PIPE_UTILIZATION),
        "ArithmeticUtilization": ("ACL_AICORE_ARITHMETIC_UTILIZATION", MetricGroup.ARITHMETIC_UTILIZATION),
        "Memory": ("ACL_AICORE_MEMORY_BANDWIDTH", MetricGroup.MEMORY),
        "MemoryL0": ("ACL_AICORE_L0B_AND_WIDTH", MetricGroup.MEMORY_L0),
        "MemoryUB": ("ACL_AICORE_MEMORY_UB", MetricGroup.MEMORY_UB),
        "ResourceConflictRatio": ("ACL_AICORE_RESOURCE_CONFLICT_RATIO", MetricGroup.RESOURCE_CONFLICT_RATIO),
        "L2Cache": ("ACL_AICORE_L2_CACHE", MetricGroup.L2_CACHE),
        "MemoryAccess": ("ACL_AICORE_MEMORY_ACCESS", MetricGroup.MEMORY_ACCESS),
    }
    assert dict(experimental_config.METRIC_GROUPS) == {
        "ACL_AICORE_NONE": MetricGroup.NONE,
        **dict(names.values()),
    }
    assert {name: group for group, name in METRIC_NAMES.items()} == {
        "PipelineExecuteUtilization": MetricGroup.PIPELINE_EXECUTE_UTILIZATION,
        **{name: group for name, (_, group) in names.items()},
    }


# -- the profiler of PyTorch: torch_npu_profiler.md 1.6, "C-layer meaning" ------------------------------------------


def test_rates_of_a_framework() -> None:
    flags = Flags(profile_memory=True)
    request = experimental_config.parse({"sys_io": True, "sys_interconnection": True}, flags=flags).request
    assert request.sampling == Sampling(hardware_memory_hz=50, io_hz=100, interconnection_hz=50)
    assert experimental_config.parse({}).request.sampling == Sampling()
    # hicann/runtime input_parser_host_sys.cpp
    assert fixed_hz("sampling.host_systems") == 50


# -- the model itself -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("section", "name", "low", "high"),
    [
        (Sampling, "hardware_memory_hz", 1, 10_000),
        (Sampling, "io_hz", 1, 100),
        (Sampling, "interconnection_hz", 1, 50),
        (Sampling, "cpu_hz", 1, 50),
        (Sampling, "dvpp_hz", 1, 100),
        (Sampling, "low_power_hz", 1, 100),
        (Sampling, "instruction_cycles", 300, 30_000),
        (Sampling, "ai_core_hz", 1, 100),
        (Sampling, "device_system_hz", 1, 10),
        (Sampling, "device_process_hz", 1, 10),
        (Sampling, "host_usage_hz", 1, 50),
        (Window, "delay_s", 1, 4_294_967_295),
        (Window, "duration_s", 1, 4_294_967_295),
        (Output, "storage_limit_mb", 200, 4_294_967_295),
        (Switches, "gc_threshold_ms", 0, None),
        (Schedule, "wait", 0, None),
        (Schedule, "active", 1, None),
        (Schedule, "warmup", 0, None),
        (Schedule, "repeat", 0, None),
        (Schedule, "skip_first", 0, None),
    ],
)
def test_ranges_of_the_model(section: Any, name: str, low: int, high: int | None) -> None:
    section(**{name: low})
    assert f"{name}: {low - 1} is out of range" in refusal(section, **{name: low - 1})
    if high is None:
        section(**{name: 10**12})
    else:
        section(**{name: high})
        assert f"{name}: {high + 1} is out of range" in refusal(section, **{name: high + 1})


def test_keys_of_acl_json_alone() -> None:
    document = {"switch": "on", "output": "/o", "ascendcl": "off"}
    assert not acl_json.parse(document, environ={}, cwd="/").request.switches.acl_api
    for key in ("training_trace", "task_trace", "fp_point", "bp_point", "task_block"):
        assert "It is a key of profiling_options." in refusal(
            acl_json.parse, {**document, key: "on"}, chip="950", environ={}, cwd="/"
        )
