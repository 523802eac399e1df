"""Rules between flags, the kinds of run, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import (
    Activity,
    ExportType,
    Kind,
    Level,
    LlcMode,
    MetricGroup,
    Notice,
    NoticeCode,
    Origin,
    Severity,
    deliverables,
    from_mapping,
    msprof_cli,
    to_mapping,
)
from drynpu.options.msprof_cli import FLAGS, LaunchMode, MsprofParsed, to_flags
from drynpu.options.profiling_options import sample_parameters
from drynpu.platforms import known_series, resolve_platform


def parse(flags: dict[str, str], **keywords: Any) -> MsprofParsed:
    keywords.setdefault("environ", {})
    keywords.setdefault("cwd", "/job")
    return msprof_cli.parse(flags, **keywords)


def run(flags: dict[str, str] | None = None, **keywords: Any) -> MsprofParsed:
    return parse({"output": "/o", **(flags or {})}, application=["./app"], **keywords)


def system(**flags: str) -> MsprofParsed:
    return parse(system_flags(**flags))


def system_flags(**flags: str) -> dict[str, str]:
    given = {"output": "/o", "sys-devices": "0,1", "sys-period": "5"}
    return given | {name.replace("_", "-"): text for name, text in flags.items()}


def refused(flags: dict[str, str], **keywords: Any) -> tuple[str, ...]:
    with pytest.raises(OptionError) as caught:
        parse(flags, **keywords)
    return caught.value.problems


def messages(parsed: MsprofParsed) -> list[str]:
    return [notice.message for notice in parsed.notices]


# -- a run with an application --------------------------------------------------------------------------------------


def test_defaults_of_a_run() -> None:
    parsed = run()
    request = parsed.request
    assert parsed.launch.mode is LaunchMode.APPLICATION
    assert request.level is Level.L1
    assert request.activities == (Activity.DEVICE,)
    assert request.aic_metrics is MetricGroup.PIPE_UTILIZATION
    assert request.sampling.ai_core_hz is None
    assert request.switches.acl_api
    assert request.switches.training_trace
    assert not request.switches.runtime_api
    assert request.output.export == (ExportType.TEXT, ExportType.DB)
    assert parsed.notices == ()
    assert parsed.origins["level"] is Origin.DEFAULT
    assert parsed.dialect == "msprof_cli"


@pytest.mark.parametrize(
    ("level", "counted"), [("on", True), ("l1", True), ("l2", True), ("l0", False), ("off", False)]
)
def test_counters_follow_the_level(level: str, counted: bool) -> None:
    request = run({"task-time": level}).request
    assert (request.aic_metrics is not MetricGroup.NONE) is counted


def test_default_counters_of_the_310b() -> None:
    assert run(chip="310B").request.aic_metrics is MetricGroup.PIPELINE_EXECUTE_UTILIZATION


def test_counters_that_count_for_nothing_say_so() -> None:
    off = run({"ai-core": "off", "aic-metrics": "Memory", "aic-mode": "sample-based"})
    assert off.request.aic_metrics is MetricGroup.NONE
    assert off.request.sampling.ai_core_hz is None
    assert messages(off) == [
        "--aic-mode has no effect: AI Core counters are off.",
        "--aic-metrics has no effect: AI Core counters are off.",
    ]
    low = run({"ai-core": "on", "task-time": "l0"})
    assert low.request.aic_metrics is MetricGroup.NONE
    assert messages(low) == ["--ai-core has no effect: counters need --task-time on, l1 or l2."]
    assert messages(run({"aic-freq": "5"})) == ["--aic-freq has no effect without --aic-mode=sample-based."]


def test_counters_by_time() -> None:
    parsed = run({"aic-mode": "sample-based"})
    assert parsed.request.sampling.ai_core_hz == 100
    sample = sample_parameters(parsed.request, resolve_platform("5"))
    assert sample["ai_core_profiling_mode"] == sample["aiv_profiling_mode"] == "sample-based"
    assert sample["aicore_sampling_interval"] == 10
    titles = {row.title for row in deliverables(parsed.request, "5")}
    assert "ai_core_utilization_*.csv" in titles
    assert "op_summary_*.csv (counter columns)" not in titles


def test_the_old_name_counts_only_alone() -> None:
    assert run({"task-trace": "l0"}).request.level is Level.L0
    both = run({"task-trace": "l0", "task-time": "l2"})
    assert both.request.level is Level.L2
    assert messages(both) == ["--task-trace has no effect beside --task-time."]


def test_notes_are_printed() -> None:
    assert messages(run({"hccl": "on", "model-execution": "on"})) == [
        "[Note] [model-execution] This option will be discarded in later versions.",
        "[Note] [hccl] This option will be discarded in later versions.",
    ]


def test_both_ways_to_name_an_application() -> None:
    parsed = run({"application": "/a/main x"})
    assert parsed.launch.application == ("/a/main", "x")
    assert messages(parsed) == ["--application counts; the command after the flags is left out."]


def test_flags_without_meaning_in_a_run() -> None:
    parsed = run({"sys-period": "5", "sys-devices": "all", "host-sys-pid": "7"})
    assert parsed.launch.period_s is None
    assert parsed.launch.host_pid is None
    assert messages(parsed) == [
        "The argument --sys-devices --sys-period --host-sys-pid is useless when --application is not empty"
    ]


# -- sampled items --------------------------------------------------------------------------------------------------

ITEMS = [
    ("sys-hardware-mem", "sys-hardware-mem-freq", "hardware_memory_hz", 50),
    ("sys-io-profiling", "sys-io-sampling-freq", "io_hz", 100),
    ("sys-interconnection-profiling", "sys-interconnection-freq", "interconnection_hz", 50),
    ("sys-cpu-profiling", "sys-cpu-freq", "cpu_hz", 50),
    ("sys-profiling", "sys-sampling-freq", "device_system_hz", 10),
    ("sys-pid-profiling", "sys-pid-sampling-freq", "device_process_hz", 10),
    ("dvpp-profiling", "dvpp-freq", "dvpp_hz", 50),
]


@pytest.mark.parametrize(("switch", "frequency", "field", "default"), ITEMS)
def test_a_rate_counts_with_its_switch(switch: str, frequency: str, field: str, default: int) -> None:
    assert getattr(run().request.sampling, field) is None
    assert getattr(run({switch: "on"}).request.sampling, field) == default
    assert getattr(run({switch: "on", frequency: "3"}).request.sampling, field) == 3
    lone = run({frequency: "3"})
    assert getattr(lone.request.sampling, field) is None
    assert lone.notices == (
        Notice(
            Severity.WARNING,
            f"--{frequency}",
            f"--{frequency} has no effect without --{switch}=on.",
            NoticeCode.IGNORED,
        ),
    )


def test_low_power_is_sampled_where_it_can_be() -> None:
    assert run(chip="950").request.sampling.low_power_hz == 100
    assert run({"sys-lp": "off"}, chip="950").request.sampling.low_power_hz is None
    assert run().request.sampling.low_power_hz is None


def test_the_cache_of_the_310() -> None:
    assert run(chip="310").request.sampling.llc is LlcMode.CAPACITY
    flags = {"sys-hardware-mem": "on", "llc-profiling": "bandwidth"}
    assert run(flags, chip="310").request.sampling.llc is LlcMode.BANDWIDTH


def test_what_a_chip_does_not_sample_as_asked() -> None:
    assert run({"sys-io-profiling": "on"}, chip="310B").notices[0].code is NoticeCode.CHIP
    fast = run({"sys-hardware-mem": "on", "sys-hardware-mem-freq": "5000"}, chip="950")
    assert fast.notices[0].code is NoticeCode.CHIP


# -- instruction profiling ------------------------------------------------------------------------------------------


def test_instruction_profiling_stands_alone() -> None:
    parsed = run({"instr-profiling": "on"})
    request = parsed.request
    assert request.switches.instructions
    assert request.sampling.instruction_cycles == 1000
    assert request.level is Level.NONE
    assert request.aic_metrics is MetricGroup.NONE
    assert not request.switches.acl_api
    assert parsed.origins["level"] is Origin.RULE
    assert refused({"instr-profiling": "on", "task-time": "l1", "l2": "on", "aic-freq": "5"}, application=["a"]) == (
        "--task-time: task-time and instr-profiling are mutually exclusive; leave one of them out",
        "--aic-freq: aic-freq and instr-profiling are mutually exclusive; leave one of them out",
        "--l2: l2 and instr-profiling are mutually exclusive; leave one of them out",
    )
    assert run({"instr-profiling": "on", "task-time": "off", "l2": "off"}).request.switches.instructions


def test_the_950_has_no_interval() -> None:
    parsed = run({"instr-profiling": "on", "instr-profiling-freq": "500"}, chip="950")
    assert parsed.request.sampling.instruction_cycles is None
    assert messages(parsed) == ["The argument: instr-profiling-freq is useless on this platform."]


# -- marks ----------------------------------------------------------------------------------------------------------


def test_domains_need_marks_and_exclude_each_other() -> None:
    need = "Argument --mstx-domain-include/--mstx-domain-exclude must be used with --msproftx=on."
    assert refused({"mstx-domain-include": "a"}, application=["a"]) == (need,)
    assert refused({"mstx-domain-exclude": "a", "msproftx": "off"}, application=["a"]) == (need,)
    both = {"mstx-domain-include": "a", "mstx-domain-exclude": "b", "msproftx": "on"}
    assert refused(both, application=["a"]) == (
        "Argument --mstx-domain-include and --mstx-domain-exclude cannot be used at the same time.",
    )


# -- by hand --------------------------------------------------------------------------------------------------------


def test_attaching() -> None:
    parsed = parse({"dynamic": "on", "pid": "1,2,1", "output": "/o"})
    assert parsed.launch.mode is LaunchMode.ATTACH
    assert parsed.launch.pids == (1, 2)
    assert parsed.request.window.interactive
    assert parsed.request.level is Level.L1
    launched = run({"dynamic": "on"})
    assert launched.launch.mode is LaunchMode.APPLICATION
    assert launched.request.window.interactive


def test_attaching_wants_one_target() -> None:
    assert refused({"dynamic": "on"}) == ("Argument --dynamic=on, but --application/--pid is all empty.",)
    assert refused({"dynamic": "on", "pid": "1"}, application=["a"]) == (
        "Argument --dynamic=on, can not set --application/--pid at the same time.",
    )
    assert refused({"pid": "1"}, application=["a"]) == ("Argument --dynamic=off, but --pid is set.",)
    assert refused({"dynamic": "off", "pid": "1"}, application=["a"]) == ("Argument --dynamic=off, but --pid is set.",)


@pytest.mark.parametrize(
    ("flag", "text"),
    [("sys-devices", "0"), ("sys-period", "5"), ("sys-cpu-profiling", "on"), ("delay", "5"), ("duration", "5")],
)
def test_what_cannot_go_by_hand(flag: str, text: str) -> None:
    assert refused({"dynamic": "on", flag: text}, application=["a"]) == (
        f"Argument --dynamic and --{flag} cannot be configured at the same time.",
    )


# -- without an application -----------------------------------------------------------------------------------------


def test_something_must_be_profiled() -> None:
    names = "--application --sys-devices --host-sys --host-sys-usage --parse --query --export --analyze"
    assert refused({"l2": "on"}) == (f"No valid argument found in {names}",)
    assert parse({"l2": "on"}, require_target=False).request.switches.l2_cache


def test_sampling_devices() -> None:
    parsed = system(sys_hardware_mem="on", ai_core="on", aic_metrics="Memory")
    request = parsed.request
    assert parsed.launch.mode is LaunchMode.DEVICES
    assert (parsed.launch.devices, parsed.launch.period_s) == ((0, 1), 5)
    assert request.level is Level.NONE
    assert not request.switches.acl_api
    assert request.aic_metrics is MetricGroup.MEMORY
    assert request.sampling.ai_core_hz == 100
    assert parsed.origins["level"] is Origin.RULE
    files = {row.file for row in deliverables(request, "5")}
    assert "ai_core_utilization_*.csv" in files
    assert "op_summary_*.csv" not in files


def test_counters_are_off_without_an_application_unless_asked_for() -> None:
    assert system(sys_hardware_mem="on").request.aic_metrics is MetricGroup.NONE
    by_task = system(ai_core="on", aic_mode="task-based")
    assert by_task.request.sampling.ai_core_hz == 100
    assert by_task.notices[0].message == (
        "without an application there are no tasks: counters are read by time (sample-based)."
    )


def test_all_devices() -> None:
    assert system(sys_devices="all", ai_core="on").launch.devices == ()


def test_what_sampling_wants() -> None:
    assert refused({"sys-devices": "0", "dvpp-profiling": "on"}) == (
        "The argument --output --sys-period is neccessary when --sys-devices is not empty",
    )
    assert refused({"sys-devices": "0", "dvpp-profiling": "on", "output": "/o"}) == (
        "The argument --sys-period is neccessary when --sys-devices is not empty",
    )
    assert refused(system_flags()) == ("--sys-devices: No collection data type is specified, profiling will not start",)
    assert refused(system_flags(host_sys="cpu")) == (
        "The argument --host-sys-pid are required when app is empty and --host-sys is on.",
    )
    assert system(host_sys="cpu", host_sys_pid="7").launch.host_pid == 7


def test_flags_of_tasks_are_useless_without_tasks() -> None:
    parsed = system(dvpp_profiling="on", l2="on", task_time="l2", msproftx="on")
    assert parsed.request.level is Level.NONE
    assert not parsed.request.switches.l2_cache
    assert messages(parsed) == ["The argument --task-time --l2 --msproftx is useless when --sys-devices is not empty"]


@pytest.mark.parametrize(
    ("flags", "mode"),
    [
        ({"host-sys": "cpu", "host-sys-pid": "1"}, LaunchMode.HOST_PROCESS),
        ({"host-sys-usage": "cpu"}, LaunchMode.HOST),
        ({"host-sys-usage": "cpu", "host-sys": "cpu", "host-sys-pid": "1"}, LaunchMode.HOST_PROCESS),
    ],
)
def test_sampling_the_host_alone(flags: dict[str, str], mode: LaunchMode) -> None:
    assert parse({"output": "/o", "sys-period": "5", **flags}).launch.mode is mode


# -- anything at all ------------------------------------------------------------------------------------------------

WORDS = {
    Kind.SWITCH: ["on", "off"],
    Kind.LEVEL: ["on", "off", "l0", "l1", "l2"],
    Kind.GRAPH_API: ["off", "l0", "l1"],
    Kind.BLOCK: ["all", "on", "off"],
    Kind.MODE: ["task-based", "sample-based"],
    Kind.METRICS: ["PipeUtilization", "MemoryUB", "Custom:0x8,9"],
    Kind.LLC: ["read", "write", "capacity"],
    Kind.HOST_SYSTEMS: ["cpu", "mem,osrt", "numa"],
    Kind.HOST_USAGE: ["cpu", "cpu,mem"],
    Kind.STORAGE: ["200MB", "4294967295MB"],
    Kind.OP_TYPES: ["Add", "MatMul,Add"],
    Kind.OUTPUT: ["/o", "rel/x"],
    Kind.PATH: ["/usr/bin/python3"],
    Kind.EXPORT: ["text", "db"],
    Kind.DEVICES: ["all", "0", "3,1"],
    Kind.PIDS: ["1", "7,8"],
    Kind.DOMAINS: ["default", "a,b"],
    Kind.FLOW: ["x", "x,y"],
    Kind.ENVIRONMENT: ["A=1", "A=;B=c=d"],
    Kind.COMMAND: ["./main a", "python3 'a b.py'"],
}


def texts_of(name: str) -> st.SearchStrategy[str]:
    flag = FLAGS[name]
    if flag.kind is Kind.INTEGER:
        assert flag.limits is not None
        return st.integers(int(flag.limits.low), int(flag.limits.high or 0)).map(str)
    return st.sampled_from(WORDS[flag.kind])


chips = st.sampled_from(known_series())
likely = st.fixed_dictionaries({}, optional={name: texts_of(name) for name in FLAGS})
anything = st.dictionaries(
    st.sampled_from([*FLAGS, *(f"--{name}" for name in FLAGS)]) | st.text(max_size=6) | st.none() | st.integers(),
    st.text(max_size=10) | st.none() | st.integers() | st.sampled_from([w for words in WORDS.values() for w in words]),
    max_size=8,
)


@given(likely | anything, chips, st.booleans(), st.lists(st.text(max_size=4), max_size=2))
def test_any_flags_are_read_or_refused(flags: Any, chip: str, required: bool, application: list[str]) -> None:
    try:
        parsed = parse(flags, chip=chip, application=application, require_target=required)
    except OptionError as error:
        assert error.problems
        assert all(line.strip() and "\n" not in line for line in error.problems)
        return
    document = json.loads(json.dumps(to_mapping(parsed.request)))
    assert from_mapping(document) == parsed.request


few = st.sets(st.sampled_from(sorted(FLAGS)), max_size=5).flatmap(
    lambda names: st.fixed_dictionaries({name: texts_of(name) for name in sorted(names)})
)


@given(few, chips, st.sampled_from(["run", "attach", "devices"]))
def test_the_effective_flags_give_the_same_again(flags: dict[str, str], chip: str, how: str) -> None:
    base = {
        "run": {},
        "attach": {"dynamic": "on", "pid": "5"},
        "devices": {"sys-devices": "0", "sys-period": "3", "output": "/o", "dvpp-profiling": "on"},
    }[how]
    application = ["./app", "a b"] if how == "run" else []
    try:
        parsed = parse({**flags, **base}, chip=chip, application=application)
    except OptionError:
        return
    again = parse(dict(parsed.effective), chip=chip)
    assert again.request == parsed.request
    assert again.launch == parsed.launch
    assert again.effective == parsed.effective
    assert to_flags(parsed.request, parsed.launch, chip=chip) == dict(parsed.effective)
