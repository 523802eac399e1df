from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import (
    Activity,
    Level,
    LlcMode,
    MetricGroup,
    NoticeCode,
    Origin,
    Severity,
    acl_json,
    deliverables,
    from_mapping,
    profiling_options,
    to_mapping,
)
from drynpu.options.acl_json import ACL_JSON, AclJson
from drynpu.options.profiling_options import prepare_output


def parse(section: Any, **keywords: Any) -> AclJson:
    keywords.setdefault("environ", {})
    keywords.setdefault("cwd", "/job")
    keywords.setdefault("executable_dir", "/app")
    return acl_json.parse(section, **keywords)


def on(**options: Any) -> dict[str, Any]:
    return {"switch": "on", **options}


def refused(section: Any, **keywords: Any) -> tuple[str, ...]:
    with pytest.raises(OptionError) as caught:
        parse(section, **keywords)
    return caught.value.problems


# -- the whitelist and its identifiers ------------------------------------------------------------------------------

WHITELIST = (
    "switch, output, aic_metrics, aicpu, l2, storage_limit, hccl, msproftx, instr_profiling, instr_profiling_freq, "
    "task_tsfw, ascendcl, task_time, runtime_api, ge_api, task_memory, sys_hardware_mem_freq, sys_mem_serviceflow, "
    "llc_profiling, sys_io_sampling_freq, sys_interconnection_freq, sys_cpu_freq, dvpp_freq, host_sys, host_sys_usage, "
    "host_sys_usage_freq, sys_lp_freq, optype"
)


def test_the_whitelist() -> None:
    assert {"switch", *ACL_JSON.table} == set(WHITELIST.split(", "))


@pytest.mark.parametrize("key", ["training_trace", "task_trace", "fp_point", "bp_point", "task_block"])
def test_keys_of_the_framework_path_are_unknown(key: str) -> None:
    (line,) = refused(on(**{key: "on"}))
    assert line == f"{key}: EK0005 value 'on' refused: param not supported. It is a key of profiling_options."


def test_identifiers_and_reasons() -> None:
    lines = refused(on(l2="yes", dvpp_freq="50 Hz", sys_cpu_freq=5, aicp="on", storage_limit="100MB", output="a|b"))
    assert lines == (
        "l2: EK0003 value 'yes' refused: Please input 'on' or 'off'",
        (
            "dvpp_freq: EK0003 value '50 Hz' refused: The dvpp_freq should be an integer. "
            "Please input an integer value in range [1, 100]"
        ),
        "sys_cpu_freq: EK0005 sys_cpu_freq is not supported on Ascend910B/A3; chips with it: Ascend950",
        "aicp: EK0005 value 'on' refused: param not supported. Did you mean 'aicpu'?",
        (
            "storage_limit: EK0003 value '100MB' refused: "
            "The storage_limit should be in range [200,4294967295] and end with MB"
        ),
        "output: EK0003 value 'a|b' of output refused: Output path contains invalid character (['|'])",
    )


@pytest.mark.parametrize("limit", ["100MB", "300", "300GB", "4294967296MB"])
def test_a_bad_storage_limit_fails_here_and_only_warns_there(limit: str) -> None:
    assert len(refused(on(storage_limit=limit))) == 1
    framework = profiling_options.parse({"output": "/o", "storage_limit": limit}, environ={}, cwd="/")
    assert framework.notices[0].message.startswith("storage_limit para is invalid")


def test_numbers_may_be_quoted_unless_strict() -> None:
    assert parse(on(dvpp_freq="50")).request.sampling.dvpp_hz == 50
    (line,) = refused(on(dvpp_freq="50"), strict=True)
    assert "The dvpp_freq should be an integer. " in line


def test_old_names_of_the_framework_path_are_not_read_here() -> None:
    (line,) = refused(on(result_path="/o"))
    assert line.startswith("result_path: EK0005 value '/o' refused: param not supported.")


# -- the switch -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("section", [{}, {"switch": "off"}, {"switch": "On"}, {"switch": True}, {"switch": None}, "{}"])
def test_anything_but_on_is_off_and_no_error(section: Any) -> None:
    parsed = parse(section)
    assert not parsed.enabled
    assert parsed.request.level is Level.NONE
    assert not parsed.request.switches.acl_api
    assert deliverables(parsed.request, "5") == ()
    assert parsed.notices[-1].message.startswith("Profiling switch is off")
    assert parsed.effective == {"switch": "off"}


def test_a_misspelt_switch_is_a_louder_notice_than_off() -> None:
    assert parse({"switch": "off"}).notices[-1].severity is Severity.INFO
    assert parse({"switch": "ON"}).notices[-1].severity is Severity.WARNING


def test_keys_are_checked_although_the_switch_is_off() -> None:
    assert len(refused({"switch": "off", "l2": "yes", "nonsense": 1})) == 2
    # What the collector looks at only when it starts.
    assert not parse({"switch": "off", "storage_limit": "1", "output": "a|b", "optype": ",,"}).enabled


# -- defaults -------------------------------------------------------------------------------------------------------


def test_defaults() -> None:
    parsed = parse(on())
    request = parsed.request
    assert parsed.enabled
    assert request.level is Level.L1
    assert request.aic_metrics is MetricGroup.PIPE_UTILIZATION
    switches = request.switches
    assert (switches.acl_api, switches.runtime_api, switches.communication) == (True, True, True)
    assert (switches.aicpu, switches.l2_cache, switches.tx, switches.task_memory) == (False,) * 4
    assert request.activities == (Activity.DEVICE,)
    assert parsed.origins["switches.runtime_api"] is Origin.DEFAULT
    assert parsed.origins["aic_metrics"] is Origin.DEFAULT
    assert parsed.origins["switches.communication"] is Origin.RULE
    assert parsed.dialect == "acl_json"
    assert parsed.spellings["switches.acl_api"] == "ascendcl"
    assert parsed.effective["ascendcl"] == "on"


@pytest.mark.parametrize(
    ("chip", "group"),
    [
        ("310B", MetricGroup.PIPELINE_EXECUTE_UTILIZATION),
        ("310", MetricGroup.PIPE_UTILIZATION),
        ("310P", MetricGroup.PIPE_UTILIZATION),
        ("910", MetricGroup.PIPE_UTILIZATION),
        ("A3", MetricGroup.PIPE_UTILIZATION),
        ("950", MetricGroup.PIPE_UTILIZATION),
    ],
)
def test_default_counters_of_each_chip(chip: str, group: MetricGroup) -> None:
    assert parse(on(), chip=chip).request.aic_metrics is group
    present = parse(on(aic_metrics=""), chip=chip)
    assert present.request.aic_metrics is group
    assert present.notices[0].message.endswith(" is collected.")


def test_communication_follows_the_level_unless_named() -> None:
    assert not parse(on(task_time="l0")).request.switches.communication
    assert parse(on(task_time="l2")).request.switches.communication
    assert not parse(on(hccl="off")).request.switches.communication
    named = parse(on(hccl="on", task_time="l0"))
    assert named.request.switches.communication
    assert named.notices[0].message == "[Note] [hccl] This option will be discarded in later versions."


def test_any_task_time_brings_the_iteration_trace() -> None:
    assert parse(on(task_time="l0")).request.switches.training_trace
    assert not parse(on(task_time="off")).request.switches.training_trace


def test_counters_need_a_level_and_say_so_only_when_asked_for() -> None:
    silent = parse(on(task_time="l0", output="/o"))
    assert silent.request.aic_metrics is MetricGroup.NONE
    assert silent.notices == ()
    said = parse(on(task_time="l0", aic_metrics="Memory", output="/o"))
    assert said.request.aic_metrics is MetricGroup.NONE
    assert said.notices[0].code is NoticeCode.RESET


def test_calls_can_be_switched_off() -> None:
    parsed = parse(on(ascendcl="off", runtime_api="off"))
    assert not parsed.request.switches.acl_api
    assert not parsed.request.switches.runtime_api
    assert parsed.origins["switches.acl_api"] is Origin.GIVEN


def test_instruction_profiling_stands_alone() -> None:
    parsed = parse(on(instr_profiling_freq=400))
    request = parsed.request
    assert request.switches.instructions
    assert request.sampling.instruction_cycles == 400
    assert request.level is Level.NONE
    assert request.aic_metrics is MetricGroup.NONE
    assert (request.switches.acl_api, request.switches.runtime_api, request.switches.communication) == (False,) * 3
    lines = refused(on(instr_profiling_freq=400, ascendcl="on", runtime_api="on", l2="off"))
    assert lines == (
        "runtime_api: EK0003 runtime_api and instr_profiling_freq are mutually exclusive; leave one of them out",
        "ascendcl: EK0003 ascendcl and instr_profiling_freq are mutually exclusive; leave one of them out",
    )


def test_the_310_counts_its_cache_in_its_own_way() -> None:
    assert parse(on(sys_hardware_mem_freq=10), chip="310").request.sampling.llc is LlcMode.CAPACITY
    lines = refused(on(l2="on", sys_interconnection_freq=5), chip="310")
    assert [line.split(" ", 2)[1] for line in lines] == ["EK0005", "EK0005"]


# -- output ---------------------------------------------------------------------------------------------------------


def test_output_falls_back_to_the_directory_of_the_executable() -> None:
    assert parse(on(output="rel")).request.output.directory == "/job/rel"
    environ = {"ASCEND_WORK_PATH": "/w"}
    assert parse(on(), environ=environ).request.output.directory == "/w/profiling_data"
    fallen = parse(on())
    assert fallen.request.output.directory == "/app"
    assert fallen.origins["output.directory"] is Origin.RULE
    assert fallen.notices[0].message == "no usable output: the data goes to the directory of the executable."
    assert parse(on(output="/" + "x" * 2000)).request.output.directory == "/app"


def test_an_unusable_directory_falls_back_when_it_is_made(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    spare = tmp_path / "spare"
    assert prepare_output(str(tmp_path / "file" / "x"), fallback=str(spare)) == spare
    assert prepare_output(str(tmp_path / "good"), fallback=str(spare)) == tmp_path / "good"
    with pytest.raises(OptionError, match="Result path is empty or not accessible"):
        prepare_output(str(tmp_path / "file" / "x"), fallback=str(tmp_path / "file" / "y"))


# -- the document and the file --------------------------------------------------------------------------------------


def test_a_document_without_a_section_is_off() -> None:
    parsed = acl_json.parse_document({"dump": {}})
    assert not parsed.enabled
    assert "'profiler'" in parsed.notices[0].message


def test_a_document_hands_its_section_on() -> None:
    text = json.dumps({"profiler": on(l2="on"), "dump": {}})
    parsed = acl_json.parse_document(text, environ={}, cwd="/", executable_dir="/app")
    assert parsed.request.switches.l2_cache
    with pytest.raises(OptionError, match="profiler: EK0003 value 5 refused: Acl json config should be a valid json"):
        acl_json.parse_document({"profiler": 5})


@pytest.mark.parametrize("nothing", ["", "  \n", b"", None])
def test_nothing_at_all_is_refused(nothing: Any) -> None:
    assert refused(nothing) == ("acl_json: EK0003 Acl json config can not be empty",)
    with pytest.raises(OptionError, match="Acl json config can not be empty"):
        acl_json.parse_document(nothing)


def test_text_that_is_no_json() -> None:
    (line,) = refused('{"switch":"on",l2":"on"}')
    assert line.startswith("acl_json: EK0003 Acl json config should be a valid json string (line 1 column 16")
    assert line.endswith('The key l2 lacks its opening quote; write "l2"')
    # The list of 2020 was never a way to write acl.json.
    assert "should be a valid json string" in refused("task_trace:training_trace")[0]


def test_the_limit_is_exactly_one_mebibyte() -> None:
    head, tail = '{"switch":"on"', "}"
    fits = head + " " * (1024 * 1024 - len(head) - len(tail)) + tail
    assert parse(fits).enabled
    reason = "Length of acl json config should be less than or equal to 1048576"
    assert refused(fits + " ") == (f"acl_json: EK0003 value 1048577 refused: {reason}",)
    too_long = {"profiler": on(output="x" * 1024 * 1024)}
    with pytest.raises(OptionError, match=reason):
        acl_json.parse_document(too_long)


# -- anything at all ------------------------------------------------------------------------------------------------

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
likely = st.sampled_from(["on", "off", "l0", "l2", "", "cpu", "cpu,mem", "300MB", "1MB", "Custom:1,2", "read"])
values = scalars | likely | st.lists(scalars, max_size=2) | st.dictionaries(st.text(max_size=3), scalars, max_size=2)
sections = st.dictionaries(
    st.sampled_from(["switch", *sorted(ACL_JSON.table)]) | st.text(max_size=6), values, max_size=8
)
chips = st.sampled_from(["0", "1", "4", "5", "7", "15", "16", "A3"])


def settle(read: Any) -> None:
    try:
        parsed = read()
    except OptionError as error:
        assert error.problems
        assert all(line.strip() and "\n" not in line for line in error.problems)
        return
    document = to_mapping(parsed.request)
    assert from_mapping(json.loads(json.dumps(document))) == parsed.request
    assert set(parsed.origins) >= {"level", "switches.acl_api"}


@given(sections | sections.map(lambda s: {"switch": "on", **s}), chips, st.booleans())
def test_any_section_is_read_or_refused(section: Any, chip: str, strict: bool) -> None:
    settle(lambda: parse(section, chip=chip, strict=strict))


@given(st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner), max_leaves=6))
def test_any_document_is_read_or_refused(document: Any) -> None:
    settle(lambda: acl_json.parse_document(document))
    settle(lambda: acl_json.parse_document(json.dumps({"profiler": document})))


good = st.fixed_dictionaries(
    {},
    optional={
        "task_time": st.sampled_from(["on", "off", "l0", "l1", "l2"]),
        "ascendcl": st.sampled_from(["on", "off"]),
        "runtime_api": st.sampled_from(["on", "off"]),
        "hccl": st.sampled_from(["on", "off"]),
        "aic_metrics": st.sampled_from(["Memory", "", "Custom:0x8,9"]),
        "storage_limit": st.integers(200, 4_294_967_295).map(lambda n: f"{n}MB"),
        "dvpp_freq": st.integers(1, 100),
        "host_sys": st.sampled_from(["cpu", "mem,disk"]),
        "output": st.just("/o"),
    },
)


@given(good, chips)
def test_the_effective_options_give_the_same_request(options: dict[str, Any], chip: str) -> None:
    parsed = parse(on(**options), chip=chip)
    again = parse(dict(parsed.effective), chip=chip)
    assert again.request == parsed.request
    assert again.effective == parsed.effective
