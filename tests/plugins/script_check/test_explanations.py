"""Documents of options: their dialect, and what each option amounts to."""

from __future__ import annotations

import pytest

from drynpu import OptionError
from drynpu.options import (
    Activity,
    Level,
    Origin,
    ProfilingRequest,
    Switches,
    acl_json,
    experimental_config,
    leaf_values,
    msprof_cli,
    parse_request,
    profiling_options,
)
from drynpu.options.experimental_config import Flags
from drynpu_script_check._dialects import detect_dialect, parse_document, parse_mapping
from drynpu_script_check._explanations import explain
from drynpu_script_check._footprint import estimate_footprint


def rows(parsed):
    return {row.path: row for row in explain(parsed)}


def test_every_option_is_explained_once() -> None:
    parsed = profiling_options.parse({"output": "/tmp/o"}, environ={}, cwd="/")
    assert [row.path for row in explain(parsed)] == list(leaf_values(parsed.request))


def test_collector_files_follow_the_options() -> None:
    options = {"output": "/o", "task_time": "l0", "l2": "on", "sys_io_sampling_freq": 10, "host_sys": "cpu,osrt"}
    by_path = rows(profiling_options.parse(options, environ={}, cwd="/"))
    assert by_path["level"].option == "task_time"
    assert "op_summary_*.csv" in by_path["level"].files
    assert "op_statistic_*.csv" not in by_path["level"].files
    assert by_path["switches.l2_cache"].files == ("l2_cache_*.csv", "soc_pmu_*.csv")
    assert by_path["sampling.io_hz"].files == ("nic_*.csv", "roce_*.csv", "ub_*.csv")
    assert by_path["sampling.host_systems"].files == ("host_cpu_usage_*.csv", "os_runtime_statistic_*.csv")
    assert by_path["switches.aicpu"].files == ()
    at_l1 = rows(profiling_options.parse({"output": "/o"}, environ={}, cwd="/"))
    assert "op_statistic_*.csv" in at_l1["level"].files
    assert at_l1["level"].origin is Origin.DEFAULT
    assert at_l1["level"].value == "l1"
    assert at_l1["aic_metrics"].value == "none"


def test_torch_databases_follow_the_options() -> None:
    given = {"profiler_level": "Level1", "aic_metrics": "PipeUtilization", "export_type": "db", "host_sys": ["mem"]}
    flags = Flags(profile_memory=True, with_stack=True)
    by_path = rows(experimental_config.parse(given, flags=flags))
    database = "ascend_pytorch_profiler*.db"
    assert by_path["output.export"].files == (database, "analysis.db")
    assert by_path["aic_metrics"].files == (f"{database} (TASK_PMU_INFO)",)
    assert by_path["switches.with_stack"].files == (f"{database} (PYTORCH_CALLCHAINS)",)
    assert by_path["sampling.host_systems"].files == ()
    every = [file for row in by_path.values() for file in row.files]
    assert every
    assert not [file for file in every if not file.startswith((database, "analysis.db"))]
    assert not experimental_config.parse({**given, "export_type": ["text", "db"]}).notices
    both = rows(experimental_config.parse({**given, "export_type": ["text", "db"]}, flags=flags))
    assert {"kernel_details.csv", f"{database} (CANN_API, TASK, COMPUTE_TASK_INFO)"} <= set(both["level"].files)
    none = rows(experimental_config.parse({"profiler_level": "Level_none", "mstx": True, "export_type": "db"}))
    assert none["output.export"].files == (database,)
    text = rows(experimental_config.parse({}))
    assert text["output.export"].files == ()


def test_torch_files_follow_the_options() -> None:
    given = {"profiler_level": "Level1", "l2_cache": True, "sys_interconnection": True}
    by_path = rows(experimental_config.parse(given, flags=Flags(profile_memory=True)))
    assert "kernel_details.csv" in by_path["level"].files
    assert "op_statistic.csv" in by_path["level"].files
    assert by_path["switches.l2_cache"].files == ("l2_cache.csv", "soc_pmu.csv")
    (line,) = by_path["switches.l2_cache"].only_on_device
    assert line.startswith("soc_pmu.csv: ")
    assert by_path["sampling.interconnection_hz"].files == ("pcie.csv", "hccs.csv")
    assert by_path["switches.profile_memory"].files == (
        "memory_record.csv",
        "operator_memory.csv",
        "npu_module_mem.csv",
    )
    assert by_path["switches.profile_memory"].origin is Origin.GIVEN
    at_none = rows(experimental_config.parse({"profiler_level": "Level_none", "mstx": True}))
    assert at_none["level"].files == ()


def test_footprint_is_the_sum_of_the_record_sizes() -> None:
    device = (Activity.DEVICE,)
    at_l0 = ProfilingRequest(level=Level.L0, activities=device, switches=Switches(acl_api=False))
    assert estimate_footprint(at_l0).bytes_per_kernel == 2 * 64 + 64 + 2 * 40
    at_l2 = ProfilingRequest(
        level=Level.L2,
        activities=device,
        switches=Switches(runtime_api=True, op_attributes=True, task_memory=True),
    )
    counted = 2 * 64 + 64 + 2 * 40 + 64 + 256 + 128 + 40 + 40 + 64 + 2 * 256
    footprint = estimate_footprint(at_l2)
    assert footprint.bytes_per_kernel == counted
    assert footprint.bytes_per_operator == 0
    off = ProfilingRequest(level=Level.NONE, activities=device)
    assert estimate_footprint(off).bytes_per_kernel == 0


def test_host_footprint() -> None:
    host = (Activity.HOST,)
    plain = estimate_footprint(ProfilingRequest(activities=host))
    assert plain.bytes_per_kernel == 0
    assert plain.bytes_per_operator == (6 + 58) + (6 + 20) + 4 * (6 + 40)
    memory = estimate_footprint(ProfilingRequest(activities=host, switches=Switches(profile_memory=True)))
    assert memory.bytes_per_operator - plain.bytes_per_operator == 2 * (6 + 77)


def test_explanations_share_out_the_whole_footprint() -> None:
    parsed = parse_request({"level": "l2", "switches": {"with_stack": True, "record_shapes": True, "tx": True}})
    footprint = estimate_footprint(parsed.request)
    assert sum(row.bytes_per_kernel for row in explain(parsed)) == footprint.bytes_per_kernel > 0
    assert sum(row.bytes_per_operator for row in explain(parsed)) == footprint.bytes_per_operator > 0


@pytest.mark.parametrize(
    ("document", "dialect"),
    [
        ({}, "profiling_options"),
        ({"output": "./o"}, "profiling_options"),
        ({"output": {"directory": "o"}, "level": "l1"}, "request"),
        ({"l2": "on"}, "profiling_options"),
        ({"profiler_level": "Level1", "aic_metrics": "PipeUtilization"}, "experimental_config"),
        ({"aic_metrics": "ACL_AICORE_NONE"}, "experimental_config"),
        ({"aic_metrics": "PipeUtilization"}, "profiling_options"),
        ({"aic_metrics": "pipe_utilization"}, "request"),
        ({"aic_metrics": ""}, "profiling_options"),
        ({"schedule": {"wait": 1}}, "request"),
    ],
)
def test_dialects_are_told_apart(document, dialect: str) -> None:
    assert detect_dialect(document) == dialect
    if dialect == "request" or "output" in document:
        assert parse_mapping(document).dialect == dialect


def test_a_document_of_no_dialect() -> None:
    with pytest.raises(OptionError, match=r"taks_time: no dialect.*Did you mean 'task_time'\?"):
        detect_dialect({"taks_time": "on"})
    with pytest.raises(OptionError):
        detect_dialect([])  # type: ignore[arg-type]


def test_documents_as_text(monkeypatch) -> None:
    monkeypatch.setenv("ASCEND_WORK_PATH", "/w")
    assert parse_document('{"l2":"on"}').dialect == "profiling_options"
    assert parse_document('{"l2":"on",\\\n"aicpu":"on"}').request.switches.aicpu
    assert parse_document("task_trace:training_trace").request.switches.training_trace
    assert parse_document("level: l2\nswitches: {tx: true}").request.switches.tx
    assert parse_document("{level: l2}").request.level is Level.L2
    assert parse_document('{"profiler_level":"Level2"}').request.level is Level.L2
    with pytest.raises(OptionError, match='write "task_trace"'):
        parse_document('{"l2":"on",task_trace":"on"}')
    with pytest.raises(OptionError, match="notes.yaml: not valid YAML at line 1"):
        parse_document("level: [", where="notes.yaml")
    with pytest.raises(OptionError, match="a mapping of options"):
        parse_document("words")


def test_acl_json_is_told_from_the_other_dialects() -> None:
    assert parse_mapping({"switch": "on", "l2": "on", "output": "/o"}).dialect == "acl_json"
    assert parse_mapping({"profiler": {"switch": "on", "output": "/o"}}).request.level is Level.L1
    assert parse_document('{"profiler": {"switch": "off"}}').dialect == "acl_json"
    assert parse_mapping({"l2": "on", "output": "/o"}).dialect == "profiling_options"


def test_acl_json_is_explained_with_its_own_names() -> None:
    rows = {row.path: row for row in explain(acl_json.parse({"switch": "on", "output": "/o"}, environ={}, cwd="/"))}
    assert rows["switches.acl_api"].option == "ascendcl"
    assert rows["switches.acl_api"].files == ("api_statistic_*.csv (AscendCL rows)",)


def test_msprof_is_told_from_the_other_dialects() -> None:
    parsed = parse_mapping({"--l2": "on", "--task-time": "l0"})
    assert parsed.dialect == "msprof_cli"
    assert parsed.request.level is Level.L0
    with pytest.raises(OptionError, match="Argument --l2: invalid value: x"):
        parse_mapping({"--l2": "x"})


def test_msprof_is_explained_with_its_own_names() -> None:
    flags = {"output": "/o", "sys-io-profiling": "on"}
    parsed = msprof_cli.parse(flags, application=["./app"], environ={}, cwd="/")
    rows = {row.path: row for row in explain(parsed, chip="Ascend910B2")}
    assert rows["level"].option == "--task-time"
    assert rows["sampling.io_hz"].option == "--sys-io-sampling-freq"
    assert rows["sampling.io_hz"].files == ("nic_*.csv", "roce_*.csv")
    assert rows["output.export"].files == ("msprof_*.json", "msprof_*.db", "README.txt")
    assert rows["window.delay_s"].option == "--delay"


def test_explain_for_a_chip_names_its_files_only() -> None:
    parsed = msprof_cli.parse(
        {"output": "/o", "sys-io-profiling": "on"}, application=["./a"], chip="950", environ={}, cwd="/"
    )
    (row,) = [row for row in explain(parsed, chip="Ascend950PR") if row.path == "sampling.io_hz"]
    assert row.option == "--sys-io-sampling-freq"
    assert row.files == ("ub_*.csv",)
    with pytest.raises(OptionError):
        explain(parsed, chip="nope")


def test_values_are_words() -> None:
    by_path = rows(parse_request({"window": {"delay_s": 5, "duration_s": 60}}))
    assert by_path["window.delay_s"].value == "5"
    assert by_path["window.interactive"].value == "off"


def test_a_recording_that_is_off_costs_nothing() -> None:
    assert estimate_footprint(acl_json.parse({"switch": "off"}).request).parts == ()
