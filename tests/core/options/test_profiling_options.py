from __future__ import annotations

import json
from typing import Any

import pytest

from drynpu._errors import OptionError
from drynpu.options import (
    Activity,
    BlockTrace,
    CustomEvents,
    GraphApi,
    HostSystem,
    HostUsage,
    Level,
    LlcMode,
    MetricGroup,
    NoticeCode,
    Origin,
    Parsed,
    profiling_options,
)
from drynpu.options.profiling_options import KEYS, prepare_output
from drynpu.platforms import resolve_platform


def parse(options: Any = None, **keywords: Any) -> Parsed:
    keywords.setdefault("environ", {})
    keywords.setdefault("cwd", "/job")
    return profiling_options.parse(options, **keywords)


def refused(options: Any, **keywords: Any) -> tuple[str, ...]:
    if isinstance(options, dict) and "output" not in options:
        options = {"output": "/o", **options}
    with pytest.raises(OptionError) as caught:
        parse(options, **keywords)
    return caught.value.problems


def messages(parsed: Parsed) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for notice in parsed.notices:
        found.setdefault(notice.path, []).append(notice.message)
    return found


# -- nothing given, something given ---------------------------------------------------------------------------------


@pytest.mark.parametrize("nothing", [None, "", "  \n", b"", {}, "{}"])
def test_enabled_but_empty(nothing: Any) -> None:
    parsed = parse(nothing)
    request = parsed.request
    assert request.level is Level.L1
    assert request.aic_metrics is MetricGroup.PIPE_UTILIZATION
    switches = request.switches
    assert (switches.training_trace, switches.communication, switches.aicpu) == (True, True, True)
    assert not request.switches.runtime_api
    assert request.output.directory == "/job"
    for path in ("level", "aic_metrics", "switches.training_trace", "output.directory"):
        assert parsed.origins[path] is Origin.RULE
    assert [notice.code for notice in parsed.notices] == [NoticeCode.RULE]


def test_any_option_ends_the_empty_rule() -> None:
    parsed = parse({"output": "./out"})
    request = parsed.request
    assert request.level is Level.L1
    assert request.aic_metrics is MetricGroup.NONE
    switches = request.switches
    assert (switches.training_trace, switches.communication, switches.aicpu) == (False, False, False)
    assert request.switches.acl_api
    assert request.activities == (Activity.DEVICE,)
    assert request.output.directory == "/job/out"
    assert parsed.origins["level"] is Origin.DEFAULT
    assert parsed.origins["output.directory"] is Origin.GIVEN
    assert parsed.notices == ()


def test_the_collector_itself_refuses_nothing() -> None:
    (line,) = refused("", framework=False)
    assert line == "profiling_options: EK0001 Ge option config can not be empty"


# -- the key table --------------------------------------------------------------------------------------------------


def test_every_key_reaches_the_model() -> None:
    options = {
        "output": "/o",
        "storage_limit": "300MB",
        "training_trace": "on",
        "task_time": "l2",
        "ge_api": "l1",
        "hccl": "on",
        "aicpu": "on",
        "fp_point": "conv",
        "bp_point": "grad",
        "aic_metrics": "L2Cache",
        "l2": "on",
        "msproftx": "on",
        "runtime_api": "on",
        "task_memory": "on",
        "task_tsfw": "on",
        "task_block": "all",
        "sys_hardware_mem_freq": 100,
        "sys_mem_serviceflow": "a,b",
        "llc_profiling": "write",
        "sys_io_sampling_freq": 99,
        "sys_interconnection_freq": 49,
        "sys_cpu_freq": 48,
        "dvpp_freq": 97,
        "host_sys": "cpu,mem,disk,network,osrt,numa",
        "host_sys_usage": "cpu,mem",
        "host_sys_usage_freq": 11,
        "sys_lp_freq": 96,
        "optype": "MatMul,Add",
    }
    parsed = parse(json.dumps(options), chip="15")
    request = parsed.request
    assert request.level is Level.L2
    assert request.aic_metrics is MetricGroup.L2_CACHE
    switches = request.switches
    assert (switches.training_trace, switches.communication, switches.aicpu, switches.l2_cache) == (True,) * 4
    assert (switches.tx, switches.runtime_api, switches.task_memory, switches.task_scheduler) == (True,) * 4
    assert switches.graph_api is GraphApi.L1
    assert switches.task_block is BlockTrace.ALL
    assert request.filters.first_forward_op == "conv"
    assert request.filters.last_backward_op == "grad"
    assert request.filters.op_types == ("MatMul", "Add")
    sampling = request.sampling
    assert (sampling.hardware_memory_hz, sampling.io_hz, sampling.interconnection_hz) == (100, 99, 49)
    assert (sampling.cpu_hz, sampling.dvpp_hz, sampling.low_power_hz, sampling.host_usage_hz) == (48, 97, 96, 11)
    assert sampling.llc is LlcMode.WRITE
    assert sampling.service_flow == "a,b"
    assert sampling.host_systems == tuple(HostSystem)
    assert sampling.host_usage == tuple(HostUsage)
    assert request.output.storage_limit_mb == 300
    # The effective options are the given ones in the collector's spelling, and nothing of them is lost.
    assert {name: parsed.effective[name] for name in options} == options
    assert set(options) | {"instr_profiling", "instr_profiling_freq", "task_trace"} == set(KEYS)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("l2", "yes", "Please input 'on' or 'off'"),
        ("training_trace", True, "Please input 'on' or 'off'"),
        ("task_time", "l4", "Please input 'on', 'off', 'l0', 'l1', 'l2' or 'l3'"),
        ("task_trace", 1, "Please input 'on', 'off', 'l0', 'l1', 'l2' or 'l3'"),
        ("ge_api", "on", "Please input 'l0', 'l1' or 'off'"),
        ("llc_profiling", "capacity", "Please input 'read' or 'write'"),
        ("host_sys", "cpu,gpu", "Please input one or more of 'cpu', 'mem', 'disk', 'network', 'osrt' or 'numa'"),
        ("host_sys_usage", "disk", "Please input 'cpu' or 'mem'"),
        ("sys_mem_serviceflow", "", "Please input a non-empty value"),
        ("sys_interconnection_freq", 51, "Please input an integer value in range [1, 50]"),
        ("host_sys_usage_freq", 0, "Please input an integer value in range [1, 50]"),
        ("sys_hardware_mem_freq", 101, "Please input an integer value in range [1, 100]"),
        ("sys_io_sampling_freq", 101, "Please input an integer value in range [1, 100]"),
        (
            "dvpp_freq",
            1.5,
            "The dvpp_freq should be an integer. Please input an integer value in range [1, 100]",
        ),
        ("dvpp_freq", True, "The dvpp_freq should be an integer. Please input an integer value in range [1, 100]"),
        ("instr_profiling_freq", 299, "Please input an integer value in range [300, 30000]"),
        ("storage_limit", 300, "The storage_limit should be in range [200,4294967295] and end with MB"),
        ("aic_metrics", 5, "The aic_metrics should be a string. Please input in the range of [ArithmeticUtilization,"),
        ("aic_metrics", "Custom:1,2,3,4,5,6,7,8,9", "or Custom:<event-list>"),
        ("aic_metrics", "Custom:" + "0x7FFFFFFF," * 6, "at most 70 characters"),
        ("optype", "MatMul,,Add", "without an empty item"),
        ("optype", "x" * 257, "at most 256 characters"),
    ],
)
def test_reasons_are_the_collectors(key: str, value: Any, reason: str) -> None:
    lines = [line for line in refused({key: value}) if line.startswith(f"{key}: EK0001 value ")]
    assert len(lines) == 1
    assert reason in lines[0]


def test_task_block_reason() -> None:
    (line,) = refused({"task_block": "some"}, chip="15")
    assert line == "task_block: EK0001 value 'some' refused: Please input 'all', 'on' or 'off'"


def test_all_problems_come_together_with_the_nearest_spelling() -> None:
    lines = refused({"task_tim": "on", "l2": "onn", "aic_metrics": "PipeUtil", "output": "a;b", "sys_cpu_freq": 5})
    names = "ArithmeticUtilization, PipeUtilization, Memory, MemoryL0, MemoryUB, ResourceConflictRatio, L2Cache"
    metrics = f"Please input in the range of [{names}, MemoryAccess] or Custom:<event-list>"
    assert lines == (
        "task_tim: EK0001 value 'on' refused: Ge option is not supported. Did you mean 'task_time'?",
        "l2: EK0001 value 'onn' refused: Please input 'on' or 'off'. Did you mean 'on'?",
        f"aic_metrics: EK0001 value 'PipeUtil' refused: {metrics}. Did you mean 'PipeUtilization'?",
        "sys_cpu_freq: EK0005 sys_cpu_freq is not supported on Ascend910B/A3; chips with it: Ascend950",
        "output: EK0001 value 'a;b' of output refused: Output path contains invalid character ([';'])",
    )


@pytest.mark.parametrize("key", ["switch", "ascendcl", "aic_mode", "sample_freq", "scale"])
def test_keys_of_other_surfaces_are_unknown_here(key: str) -> None:
    (line,) = refused({key: "on"})
    assert line.startswith(f"{key}: EK0001 value 'on' refused: Ge option is not supported.")


# -- levels, counters, deprecations ---------------------------------------------------------------------------------

HCCL_NOTE = "[Note] [hccl] This option will be discarded in later versions."
TASK_TRACE_NOTE = "[Note] [task_trace] This option will be discarded in later versions.Use task_time instead"


def test_deprecated_keys_say_so_verbatim() -> None:
    said = messages(parse({"output": "/o", "hccl": "on", "task_trace": "on"}))
    assert said == {"hccl": [HCCL_NOTE], "task_trace": [TASK_TRACE_NOTE]}


def test_task_trace_is_overwritten_by_task_time() -> None:
    parsed = parse({"output": "/o", "task_trace": "off"})
    assert parsed.request.level is Level.L1
    assert parsed.origins["level"] is Origin.DEFAULT
    assert "overwrites it with the default of task_time, on" in messages(parsed)["task_trace"][1]
    parsed = parse({"output": "/o", "task_trace": "l2", "task_time": "l0"})
    assert parsed.request.level is Level.L0
    assert "task_trace" not in parsed.effective
    documented = parse({"output": "/o", "task_trace": "off"}, honour_task_trace=True)
    assert documented.request.level is Level.NONE
    assert documented.origins["level"] is Origin.GIVEN


@pytest.mark.parametrize(
    ("text", "level"),
    [("on", Level.L1), ("off", Level.NONE), ("l0", Level.L0), ("l1", Level.L1), ("l2", Level.L2), ("l3", Level.L3)],
)
def test_task_time(text: str, level: Level) -> None:
    assert parse({"output": "/o", "task_time": text}).request.level is level


def test_l3_only_where_it_exists() -> None:
    (line,) = refused({"task_time": "l3"}, chip="1")
    assert line == "task_time: EK0001 value 'l3' refused: Please input 'on', 'off', 'l0', 'l1' or 'l2'"


def test_counters_present_but_empty() -> None:
    parsed = parse({"output": "/o", "aic_metrics": ""})
    assert parsed.request.aic_metrics is MetricGroup.PIPE_UTILIZATION
    assert parsed.origins["aic_metrics"] is Origin.RULE
    assert parsed.notices[0].path == "aic_metrics"


def test_counters_need_task_time() -> None:
    parsed = parse({"output": "/o", "aic_metrics": "Memory", "task_time": "l0"})
    assert parsed.request.aic_metrics is MetricGroup.NONE
    assert parsed.notices[0].code is NoticeCode.RESET
    assert parse({"output": "/o", "aic_metrics": "Memory"}).request.aic_metrics is MetricGroup.MEMORY


def test_custom_counters() -> None:
    parsed = parse({"output": "/o", "aic_metrics": "Custom:0x49,11,0x6F"})
    assert parsed.request.aic_metrics == CustomEvents((0x49, 11, 0x6F))
    assert parsed.effective["aic_metrics"] == "Custom:0x49,0xb,0x6f"
    assert "0x6E" in parsed.notices[0].message


@pytest.mark.parametrize(
    ("chip", "extra"),
    [
        ("1", []),
        ("Ascend310P3", []),
        ("Ascend910B2", ["L2Cache", "MemoryAccess"]),
        ("15", ["L2Cache"]),
        ("310B", ["L2Cache", "PipelineExecuteUtilization"]),
    ],
)
def test_counters_of_each_chip(chip: str, extra: list[str]) -> None:
    for name in ("L2Cache", "MemoryAccess", "PipelineExecuteUtilization"):
        options = {"output": "/o", "aic_metrics": name}
        if name in extra:
            assert parse(options, chip=chip).effective["aic_metrics"] == name
        else:
            (line,) = refused(options, chip=chip)
            assert "EK0001" in line
            assert f"({name} does not exist on" in line


# -- other chip dependence ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "chip"),
    [
        ("task_block", "on", "5"),
        ("sys_mem_serviceflow", "x", "1"),
        ("sys_io_sampling_freq", 5, "4"),
        ("sys_interconnection_freq", 5, "7"),
        ("sys_cpu_freq", 5, "5"),
        ("sys_lp_freq", 5, "5"),
        ("instr_profiling", "on", "5"),
        ("instr_profiling_freq", 500, "1"),
    ],
)
def test_unsupported_on_this_chip(key: str, value: Any, chip: str) -> None:
    (line,) = refused({key: value}, chip=chip)
    assert line.startswith(f"{key}: EK0005 {key} is not supported on {resolve_platform(chip).label}; chips with it: ")


def test_hardware_memory_rate_of_the_950() -> None:
    parsed = parse({"output": "/o", "sys_hardware_mem_freq": 10_000}, chip="15")
    assert parsed.request.sampling.hardware_memory_hz == 10_000
    assert parsed.notices[0].code is NoticeCode.CHIP
    (line,) = refused({"sys_hardware_mem_freq": 10_001}, chip="15")
    assert line.endswith("Please input an integer value in range [1, 10000]")


def test_llc_of_the_310() -> None:
    parsed = parse({"output": "/o", "sys_hardware_mem_freq": 10}, chip="0")
    assert parsed.request.sampling.llc is LlcMode.CAPACITY
    (line,) = refused({"llc_profiling": "read"}, chip="0")
    assert "'capacity' or 'bandwidth'" in line


def test_options_that_need_another() -> None:
    said = messages(parse({"output": "/o", "llc_profiling": "read", "host_sys_usage_freq": 5}))
    assert "sys_hardware_mem_freq" in said["llc_profiling"][0]
    assert "host_sys_usage" in said["host_sys_usage_freq"][0]


@pytest.mark.parametrize(
    ("chip", "version"),
    [
        ("0", "0"),
        ("Ascend910A", "1"),
        ("910B4-1", "5"),
        ("Ascend910_9391", "5"),
        ("A3", "5"),
        ("Ascend310B1", "7"),
        ("Ascend950PR", "15"),
        ("16", "16"),
    ],
)
def test_chip_names(chip: str, version: str) -> None:
    assert resolve_platform(chip).version == version


def test_unknown_chip() -> None:
    with pytest.raises(OptionError, match="chip: 'Tesla' is no chip family"):
        parse({"output": "/o"}, chip="Tesla")


# -- instruction profiling ------------------------------------------------------------------------------------------


def test_instruction_profiling_stands_alone() -> None:
    parsed = parse({"output": "/o", "instr_profiling_freq": 500, "l2": "off", "fp_point": ""})
    assert parsed.request.switches.instructions
    assert parsed.request.sampling.instruction_cycles == 500
    assert parsed.request.level is Level.NONE
    assert parsed.origins["level"] is Origin.RULE
    lines = refused({"instr_profiling_freq": 500, "task_time": "l1", "l2": "on", "aic_metrics": "", "msproftx": "on"})
    assert [line.split(":")[0] for line in lines] == ["task_time", "aic_metrics", "l2"]
    assert lines[0].endswith("task_time and instr_profiling_freq are mutually exclusive; leave one of them out")


def test_instruction_profiling_of_the_950() -> None:
    assert parse({"output": "/o", "instr_profiling": "on"}, chip="15").request.switches.instructions
    parsed = parse({"output": "/o", "instr_profiling_freq": 500, "task_time": "l1"}, chip="15")
    assert not parsed.request.switches.instructions
    assert parsed.request.sampling.instruction_cycles is None
    assert parsed.request.level is Level.L1
    assert parsed.notices[0].code is NoticeCode.IGNORED


# -- storage and output ---------------------------------------------------------------------------------------------


def test_storage_limit() -> None:
    assert parse({"output": "/o", "storage_limit": ""}).request.output.storage_limit_mb is None
    raised = parse({"output": "/o", "storage_limit": "100MB"})
    assert raised.request.output.storage_limit_mb == 200
    assert raised.origins["output.storage_limit_mb"] is Origin.RULE
    assert raised.effective["storage_limit"] == "200MB"
    assert raised.notices[0].message.startswith("storage_limit para is invalid: '100MB' is raised to '200MB'.")
    for bad in ("300", "300GB", "4294967296MB", "MB", "-1MB"):
        ignored = parse({"output": "/o", "storage_limit": bad})
        assert ignored.request.output.storage_limit_mb is None
        message = ignored.notices[0].message
        assert message.startswith("storage_limit para is invalid")
        assert message.endswith("The storage_limit should be in range [200,4294967295] and end with MB")


def test_output_resolution() -> None:
    environ = {"ASCEND_WORK_PATH": "/given"}
    given_path = parse({"output": "a/../b"}, environ=environ)
    assert given_path.request.output.directory == "/job/b"
    from_work_path = parse({"l2": "on"}, environ=environ)
    assert from_work_path.request.output.directory == "/given/profiling_data"
    assert from_work_path.origins["output.directory"] is Origin.ENVIRONMENT
    with pytest.raises(OptionError, match="output: EK0003 value '' refused: Result path is empty or not accessible"):
        parse({"l2": "on"})


@pytest.mark.parametrize("character", list("\n\f\r\b\t\v\x7f\"'\\%><|&$;`"))
def test_forbidden_characters_in_output(character: str) -> None:
    (line,) = refused({"output": f"/a{character}b"})
    assert line.startswith("output: EK0001 ")
    assert "Output path contains invalid character" in line
    (line,) = refused('{"l2":"on"}', environ={"ASCEND_WORK_PATH": f"/a{character}b"})
    assert "of ASCEND_WORK_PATH refused: Output path contains invalid character" in line


def test_too_long_output() -> None:
    (line,) = refused({"output": "/" + "a" * 1024})
    assert "Result path is empty or not accessible (at most 1024 characters" in line


def test_prepare_output(tmp_path) -> None:
    made = prepare_output(str(tmp_path / "a" / "b"))
    assert made.is_dir()
    assert oct(made.stat().st_mode & 0o027) == "0o0"
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="output: EK0003 .* Result path is empty or not accessible"):
        prepare_output(str(tmp_path / "file" / "x"))


# -- sample.json ----------------------------------------------------------------------------------------------------


def test_sample_parameters() -> None:
    request = parse({"output": "/o", "aic_metrics": "PipeUtilization"}).request
    sample = profiling_options.sample_parameters(request, resolve_platform("5"))
    assert sample["prof_level"] == "level1"
    assert sample["ai_core_metrics"] == "PipeUtilizationExct"
    assert sample["ai_core_profiling_events"] == "0x416,0x417,0x9,0x302,0xc,0x303,0x54,0x55"
    assert sample["aiv_metrics"] == "PipeUtilization"
    assert sample["aiv_profiling_events"] == "0x8,0xa,0x9,0xb,0xc,0xd,0x54,0x55"
    assert sample["ai_core_profiling_mode"] == "task-based"
    older = profiling_options.sample_parameters(request, resolve_platform("1"))
    assert older["ai_core_metrics"] == "PipeUtilization"
    none = profiling_options.sample_parameters(parse({"output": "/o"}).request, resolve_platform("5"))
    assert (none["ai_core_profiling"], none["ai_core_metrics"]) == ("off", "")
