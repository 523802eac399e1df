from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import (
    Activity,
    ExportType,
    HostSystem,
    Level,
    MetricGroup,
    NoticeCode,
    Origin,
    Output,
    Schedule,
    Severity,
    leaf_values,
)
from drynpu.options.experimental_config import (
    AIC_METRICS,
    EXPORT_TYPES,
    HOST_SYSTEMS,
    LEVELS,
    METRIC_GROUPS,
    PROFILER_LEVELS,
    ConfigValues,
    Flags,
    build_parsed,
    normalise_config,
    parse,
)
from drynpu.options.profiling_options import HOST_SYSTEM_WORDS

NONE, PIPE, MEMORY = "ACL_AICORE_NONE", "ACL_AICORE_PIPE_UTILIZATION", "ACL_AICORE_MEMORY_BANDWIDTH"
RESET_METRICS = "Please use level1 or level2 if you want to collect aic metrics, reset aic metrics to None!"
QUIET = {"aic_metrics": NONE}


def said(**given: Any) -> list[str]:
    return [notice.message for notice in normalise_config(**{**QUIET, **given})[1]]


def used(**given: Any) -> ConfigValues:
    return normalise_config(**{**QUIET, **given})[0]


def test_value_tables() -> None:
    assert dict(PROFILER_LEVELS) == {n: n for n in ("Level0", "Level1", "Level2", "Level_none")}
    assert dict(AIC_METRICS) == {
        "PipeUtilization": "ACL_AICORE_PIPE_UTILIZATION",
        "ArithmeticUtilization": "ACL_AICORE_ARITHMETIC_UTILIZATION",
        "Memory": "ACL_AICORE_MEMORY_BANDWIDTH",
        "MemoryL0": "ACL_AICORE_L0B_AND_WIDTH",
        "MemoryUB": "ACL_AICORE_MEMORY_UB",
        "ResourceConflictRatio": "ACL_AICORE_RESOURCE_CONFLICT_RATIO",
        "L2Cache": "ACL_AICORE_L2_CACHE",
        "MemoryAccess": "ACL_AICORE_MEMORY_ACCESS",
        "AiCoreNone": "ACL_AICORE_NONE",
    }
    assert dict(EXPORT_TYPES) == {"Db": "db", "Text": "text"}
    assert dict(HOST_SYSTEMS) == {n: n.lower() for n in ("CPU", "MEM", "DISK", "NETWORK", "OSRT", "NUMA")}
    assert set(LEVELS) == set(PROFILER_LEVELS.values())
    assert set(METRIC_GROUPS) == set(AIC_METRICS.values())
    assert set(HOST_SYSTEM_WORDS) == set(HOST_SYSTEMS.values())


def test_attributes_are_dumped_in_the_vendors_order() -> None:
    values, notices = normalise_config()
    assert list(values.dump().items()) == [
        ("_profiler_level", "Level0"),
        ("_aic_metrics", NONE),
        ("_l2_cache", False),
        ("_msprof_tx", False),
        ("_mstx", False),
        ("_data_simplification", True),
        ("record_op_args", False),
        ("_export_type", ["text"]),
        ("_host_sys", []),
        ("_op_attr", False),
        ("_gc_detect_threshold", None),
        ("_mstx_domain_include", []),
        ("_mstx_domain_exclude", []),
        ("_sys_io", False),
        ("_sys_interconnection", False),
    ]
    # The default configuration always says this.
    assert [notice.message for notice in notices] == [RESET_METRICS]


def test_quiet_configuration() -> None:
    assert said() == []


@pytest.mark.parametrize("nothing", [None, "", [], 0, {}])
def test_rule_1_export_type_falsy(nothing: Any) -> None:
    assert said(export_type=nothing) == [f"Invalid parameter export_type: {nothing}, reset it to text."]
    assert used(export_type=nothing).export_type == ["text"]


def test_rule_1_export_type_forms() -> None:
    assert used(export_type="db").export_type == ["db"]
    assert used(export_type=["db", "text", "db"]).export_type == ["db", "text"]
    assert said(export_type=("db",)) == ["Invalid parameter export_type: ('db',), reset it to text."]
    (message,) = said(export_type=[{}])
    assert message.startswith("Invalid parameter export_type: [{}], reset it to text. Error is ")
    assert "dict" in message


@pytest.mark.parametrize(
    ("level", "metrics", "result"),
    [("Level0", PIPE, NONE), ("Level0", MEMORY, NONE), ("Level1", MEMORY, MEMORY), ("Level2", NONE, NONE)],
)
def test_rule_2_counters_need_a_level(level: str, metrics: str, result: str) -> None:
    assert said(profiler_level=level, aic_metrics=metrics) == ([] if metrics == result else [RESET_METRICS])
    assert used(profiler_level=level, aic_metrics=metrics).aic_metrics == result


@pytest.mark.parametrize(
    "name", ["l2_cache", "msprof_tx", "mstx", "record_op_args", "op_attr", "sys_io", "sys_interconnection"]
)
def test_rules_3_4_6_9_12_16_flags(name: str) -> None:
    message = f"Invalid parameter {name}, which must be of bool type, reset it to False."
    assert said(**{name: 1}) == [message]
    assert getattr(used(**{name: "x"}), name) is False


def test_rule_5_deprecated_marks() -> None:
    values, (notice,) = normalise_config(msprof_tx=True, **QUIET)
    assert notice.message == "The parameter msprof_tx will be deprecated. Please use the new parameter mstx instead."
    assert notice.code is NoticeCode.PYTHON_WARNING
    assert values.msprof_tx is True
    assert values.tx_enabled


def test_rule_7_level_none_needs_marks() -> None:
    message = "Parameter mstx or msprof_tx must be True if profiler_level is set to Level_none."
    assert said(profiler_level="Level_none") == [message]
    assert used(profiler_level="Level_none").mstx is True
    assert said(profiler_level="Level_none", mstx=True) == []


def test_rule_8_simplification() -> None:
    message = "Invalid parameter data_simplification, which must be of bool type, reset it to default."
    assert said(data_simplification=0) == [message]
    assert used(data_simplification=0).data_simplification is True
    assert said(data_simplification=None) == []
    assert used(data_simplification=None).data_simplification is None


@pytest.mark.parametrize("level", [999, None, "level1", [], {}])
def test_rule_10_level(level: Any) -> None:
    assert said(profiler_level=level) == ["Invalid parameter profiler_level, reset it to ProfilerLevel.Level0."]
    assert used(profiler_level=level).profiler_level == "Level0"


def test_foreign_level_lets_counters_survive() -> None:
    # Rule 2 ran before rule 10 turned the level into Level0.
    values, notices = normalise_config(profiler_level=999)
    assert (values.profiler_level, values.aic_metrics) == ("Level0", PIPE)
    assert [n.message for n in notices] == ["Invalid parameter profiler_level, reset it to ProfilerLevel.Level0."]
    assert build_parsed(values).request.aic_metrics is MetricGroup.NONE


def test_rule_11_counters() -> None:
    message = "Invalid parameter aic_metrics, reset it to default."
    assert said(profiler_level="Level1", aic_metrics="PipeUtilization") == [message]
    assert used(profiler_level="Level1", aic_metrics=[]).aic_metrics == PIPE
    assert used(profiler_level=999, aic_metrics="x").aic_metrics == NONE
    assert said(aic_metrics="x") == [RESET_METRICS]


def test_rule_13_export_types() -> None:
    assert said(export_type="csv") == ["Invalid parameter export_type, reset it to text."]
    assert used(export_type=["db", "csv"]).export_type == ["text"]


def test_rule_14_op_attr_needs_db() -> None:
    assert said(op_attr=True) == ["op_attr switch is invalid with export type set as text."]
    assert used(op_attr=True).op_attr is False
    assert used(op_attr=True, export_type=["text", "db"]).op_attr is True
    assert used(op_attr=True, toolkit_exports_db=True).op_attr is True


def test_rule_15_gc_threshold() -> None:
    assert said(gc_detect_threshold="1") == [
        "Parameter gc_detect_threshold is not int or float type, reset it to default."
    ]
    assert said(gc_detect_threshold=-0.1) == ["Parameter gc_detect_threshold can not be negative, reset it to default."]
    assert used(gc_detect_threshold=-1).gc_detect_threshold is None
    values, (notice,) = normalise_config(gc_detect_threshold=0, **QUIET)
    assert notice.message == "Parameter gc_detect_threshold is set to 0, it will collect all gc events."
    assert notice.severity is Severity.INFO
    assert values.gc_detect_threshold == 0
    assert values.with_gc
    assert said(gc_detect_threshold=1.5) == []


def test_rule_17_domains_need_marks() -> None:
    message = "mstx_domain_include and mstx_domain_exclude are valid when msprof_tx or mstx is True."
    assert said(mstx_domain_include=["a"]) == said(mstx_domain_exclude="a") == [message]
    assert used(mstx_domain_include=["a"], mstx_domain_exclude=["b"]).dump()["_mstx_domain_include"] == []


@pytest.mark.parametrize("name", ["mstx_domain_include", "mstx_domain_exclude"])
def test_rule_18_domain_type(name: str) -> None:
    message = f"Invalid parameter {name}, which must be of list type, reset it to default."
    assert said(mstx=True, **{name: "a"}) == [message]
    assert getattr(used(mstx=True, **{name: ("a",)}), name) == []
    assert said(mstx=True, **{name: None}) == []


def test_rule_19_domain_contents() -> None:
    assert said(mstx=True, mstx_domain_include=[1]) == [
        "Invalid parameter mstx_domain_include, which contents must be of str type, reset it to default."
    ]
    assert said(mstx=True, mstx_domain_exclude=[1]) == [
        "Invalid parameter _mstx_domain_exclude, which contents must be of str type, reset it to default."
    ]
    assert used(mstx=True, mstx_domain_include=["a", "b", "a"]).mstx_domain_include == ["a", "b"]


def test_rule_20_one_domain_list() -> None:
    given = {"mstx": True, "mstx_domain_include": ["a"], "mstx_domain_exclude": ["b"]}
    assert said(**given) == [
        "Parameter mstx_domain_include and mstx_domain_exclude can not be both set, only mstx_domain_include will work."
    ]
    assert used(**given).mstx_domain_exclude == []


def test_rules_21_22_host_systems() -> None:
    assert said(host_sys="cpu") == ["Invalid parameter host_sys, which must be of list type, reset it to empty."]
    assert said(host_sys=["cpu", "gpu"]) == ["Invalid parameter host_sys, reset it to empty."]
    assert used(host_sys=["cpu", []]).host_sys == []
    assert used(host_sys=["cpu", "numa", "cpu"]).host_sys == ["cpu", "numa"]


def test_messages_come_in_the_order_of_the_rules() -> None:
    given = {
        "host_sys": 1,
        "sys_interconnection": 1,
        "sys_io": 1,
        "gc_detect_threshold": "x",
        "op_attr": 1,
        "aic_metrics": "x",
        "profiler_level": 999,
        "record_op_args": 1,
        "data_simplification": 1,
        "mstx": 1,
        "msprof_tx": 1,
        "l2_cache": 1,
        "export_type": None,
        "mstx_domain_include": [1],
    }
    notices = normalise_config(**given)[1]
    assert [notice.path for notice in notices] == [
        "export_type",
        "l2_cache",
        "msprof_tx",
        "mstx",
        "data_simplification",
        "record_op_args",
        "profiler_level",
        "aic_metrics",
        "op_attr",
        "gc_detect_threshold",
        "sys_io",
        "sys_interconnection",
        "mstx_domain_include",
        "host_sys",
    ]


def test_values_are_not_shared_with_what_was_given() -> None:
    domains = ["a", "a"]
    values = used(mstx=True, mstx_domain_include=domains)
    assert domains == ["a", "a"]
    values.dump()["_mstx_domain_include"].append("b")
    assert values.mstx_domain_include == ["a"]


# -- into the neutral model -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "level", "on"),
    [
        ("Level_none", Level.NONE, set()),
        ("Level0", Level.L0, {"acl_api"}),
        ("Level1", Level.L1, {"acl_api", "communication"}),
        ("Level2", Level.L2, {"acl_api", "communication", "runtime_api", "aicpu"}),
    ],
)
def test_levels_mean_what_the_c_layer_makes_of_them(name: str, level: Level, on: set[str]) -> None:
    parsed = parse({"profiler_level": name, "aic_metrics": "AiCoreNone"})
    assert parsed.request.level is level
    derived = {"acl_api", "communication", "runtime_api", "aicpu"}
    assert {switch for switch in derived if getattr(parsed.request.switches, switch)} == on
    assert parsed.request.switches.tx == (name == "Level_none")
    assert all(parsed.origins[f"switches.{switch}"] is Origin.RULE for switch in derived)


def test_everything_reaches_the_model() -> None:
    parsed = parse(
        {
            "profiler_level": "Level2",
            "aic_metrics": "Memory",
            "l2_cache": True,
            "mstx": True,
            "data_simplification": False,
            "record_op_args": True,
            "op_attr": True,
            "gc_detect_threshold": 2,
            "export_type": ["db"],
            "host_sys": ["mem", "osrt"],
            "mstx_domain_include": ["d"],
            "sys_io": True,
            "sys_interconnection": True,
        },
        flags=Flags(record_shapes=True, profile_memory=True, with_stack=True, with_flops=True, with_modules=True),
        schedule=Schedule(wait=1, active=2),
        output=Output(directory="/o", worker_name="w", analyse=False, asynchronous=True),
        activities=(Activity.DEVICE,),
    )
    request = parsed.request
    switches = request.switches
    assert request.aic_metrics is MetricGroup.MEMORY
    assert (switches.l2_cache, switches.tx, switches.record_op_args, switches.op_attributes) == (True,) * 4
    assert (switches.record_shapes, switches.profile_memory, switches.with_stack) == (True,) * 3
    assert (switches.with_flops, switches.with_modules, switches.task_memory) == (True,) * 3
    assert switches.gc_threshold_ms == 2
    sampling = request.sampling
    assert (sampling.hardware_memory_hz, sampling.io_hz, sampling.interconnection_hz) == (50, 100, 50)
    assert sampling.host_systems == (HostSystem.MEMORY, HostSystem.OS_RUNTIME)
    assert request.filters.tx_domains_include == ("d",)
    assert request.output == Output(
        directory="/o",
        worker_name="w",
        analyse=False,
        asynchronous=True,
        export=(ExportType.DB,),
        data_simplification=False,
    )
    assert request.schedule == Schedule(wait=1, active=2)
    assert request.activities == (Activity.DEVICE,)
    assert parsed.notices == ()
    assert parsed.effective["_export_type"] == ["db"]
    assert set(parsed.origins) == set(leaf_values(request))
    assert parsed.origins["schedule.wait"] is parsed.origins["output.directory"] is Origin.GIVEN
    assert parsed.origins["sampling.hardware_memory_hz"] is Origin.RULE


def test_origins() -> None:
    parsed = parse({"l2_cache": "yes", "sys_io": True, "export_type": "text"})
    assert parsed.origins["switches.l2_cache"] is Origin.RULE
    assert parsed.origins["aic_metrics"] is Origin.RULE
    assert parsed.origins["sampling.io_hz"] is Origin.GIVEN
    assert parsed.origins["output.export"] is Origin.GIVEN
    assert parsed.origins["output.data_simplification"] is Origin.DEFAULT
    assert parsed.origins["level"] is Origin.DEFAULT


def test_counters_that_the_chip_lacks_fall_back() -> None:
    given = {"profiler_level": "Level1", "aic_metrics": "MemoryAccess"}
    parsed = parse(given, chip="Ascend910A")
    assert parsed.request.aic_metrics is MetricGroup.PIPE_UTILIZATION
    (notice,) = parsed.notices
    assert notice.message == "AiCMetrics is not supported to set to MemoryAccess, reset to default."
    assert parsed.effective["_aic_metrics"] == "ACL_AICORE_MEMORY_ACCESS"
    assert parse(given, chip="5").request.aic_metrics is MetricGroup.MEMORY_ACCESS


def test_attribute_names_are_for_documents() -> None:
    given = {"profiler_level": "Level1", "aic_metrics": "L2Cache"}
    assert parse(given).request.aic_metrics is MetricGroup.L2_CACHE
    exact = parse(given, attribute_names=False)
    assert exact.request.aic_metrics is MetricGroup.PIPE_UTILIZATION
    assert [n.message for n in exact.notices] == ["Invalid parameter aic_metrics, reset it to default."]


def test_threshold_that_nothing_reaches() -> None:
    parsed = parse({"gc_detect_threshold": math.nan, "aic_metrics": "AiCoreNone"})
    assert parsed.request.switches.gc_threshold_ms is None
    assert math.isnan(parsed.effective["_gc_detect_threshold"])  # type: ignore[arg-type]
    assert parse({"gc_detect_threshold": 10**400}).request.switches.gc_threshold_ms is None


def test_unknown_keywords() -> None:
    with pytest.raises(OptionError) as caught:
        parse({"profile_level": 1, "l2": True})
    assert caught.value.problems[0].startswith("profile_level: unknown option. Did you mean 'profiler_level'?")
    assert len(caught.value.problems) == 2
    with pytest.raises(OptionError):
        parse([])  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        normalise_config(profile_level=1)


scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
likely = st.sampled_from([*PROFILER_LEVELS, *AIC_METRICS.values(), "db", "text", "cpu"])
values = st.recursive(
    scalars | likely,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
names = st.sampled_from(sorted(name.removeprefix("_") for name in ConfigValues().dump()))


@given(st.dictionaries(names, values))
def test_any_values_give_a_configuration(given_values: dict[str, Any]) -> None:
    parsed = parse(given_values)
    assert parsed.effective["_profiler_level"] in LEVELS
    assert parsed.effective["_aic_metrics"] in METRIC_GROUPS
    # A second pass over the result has nothing more to reset.
    settled = {name.removeprefix("_"): value for name, value in parsed.effective.items()}
    again, notices = normalise_config(**settled)
    kept = {NoticeCode.PYTHON_WARNING, NoticeCode.INFORMATION}
    assert {n.message for n in notices if n.code not in kept} <= {RESET_METRICS}
    if again.aic_metrics == settled["aic_metrics"]:
        assert str(again.dump()) == str(dict(parsed.effective))


@given(values)
def test_any_document_gives_a_configuration_or_an_option_error(document: Any) -> None:
    try:
        parse(document)
    except OptionError as error:
        assert all(line and "\n" not in line for line in error.problems)
