"""Parameters: every default, what replaces what, and every text (mindspore_profiler.md 3)."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import pytest
from attrs import fields

from drynpu import say_once
from drynpu_mindspore.profiler import (
    AicoreMetrics,
    ExperimentalConfig,
    ExportType,
    HostSystem,
    Parameters,
    ProfilerActivity,
    ProfilerLevel,
)

BOTH = (ProfilerActivity.CPU, ProfilerActivity.NPU)
NO_WARMUP = "Profiler won't be using warmup, this can skew profiler results"
DEFAULTS = {
    "output_path": "./data",
    "profiler_level": ProfilerLevel.Level0,
    "activities": BOTH,
    "aic_metrics": AicoreMetrics.AiCoreNone,
    "with_stack": False,
    "profile_memory": False,
    "data_process": False,
    "parallel_strategy": False,
    "start_profile": True,
    "l2_cache": False,
    "hbm_ddr": False,
    "pcie": False,
    "sys_io": False,
    "sys_interconnection": False,
    "host_sys": (),
    "sync_enable": True,
    "data_simplification": True,
    "record_shapes": False,
    "export_type": (ExportType.Text,),
    "mstx": False,
    "mstx_domain_include": (),
    "mstx_domain_exclude": (),
}


class Settled:
    """A profiler's keywords, and what became of them."""

    def __init__(self, bench: Any, **given: Any) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            bench.take()
            self.parameters: Parameters = bench.surface.session.configure(given)
        self.logged = [text for _, text in bench.texts() if text != NO_WARMUP]
        self.warned = [str(each.message) for each in caught]


def test_the_defaults_are_those_of_the_table_in_its_order(bench: Any) -> None:
    settled = Settled(bench)
    assert [field.name for field in fields(Parameters)] == [*DEFAULTS, "schedule", "on_trace_ready"]
    for name, default in DEFAULTS.items():
        assert getattr(settled.parameters, name) == default, name
    assert settled.parameters.schedule.to_dict() == {
        "wait": 0,
        "active": 1,
        "warmup": 0,
        "repeat": 0,
        "skip_first": 0,
    }
    assert settled.parameters.on_trace_ready is None
    assert settled.logged == settled.warned == []


def test_none_means_the_default(bench: Any) -> None:
    settled = Settled(bench, **dict.fromkeys(DEFAULTS), schedule=None, on_trace_ready=None)
    assert settled.logged == settled.warned == []
    assert settled.parameters.activities == BOTH
    assert settled.parameters.start_profile is True


def test_profile_takes_its_arguments_in_the_vendors_order(bench: Any) -> None:
    names = list(inspect.signature(bench.surface.profile).parameters)
    assert names == [
        "activities",
        "with_stack",
        "profile_memory",
        "data_process",
        "parallel_strategy",
        "start_profile",
        "hbm_ddr",
        "pcie",
        "sync_enable",
        "record_shapes",
        "schedule",
        "on_trace_ready",
        "experimental_config",
    ]


def test_a_config_has_the_vendors_defaults_and_checks_nothing() -> None:
    config = ExperimentalConfig()
    assert config.describe() == {
        "profiler_level": ProfilerLevel.Level0,
        "aic_metrics": AicoreMetrics.AiCoreNone,
        "l2_cache": False,
        "mstx": False,
        "data_simplification": True,
        "export_type": None,
        "mstx_domain_include": None,
        "mstx_domain_exclude": None,
        "sys_io": False,
        "sys_interconnection": False,
        "host_sys": None,
    }
    config.l2_cache = "yes"  # type: ignore[assignment]
    assert config.l2_cache == "yes"


def test_a_config_comes_before_keywords(bench: Any) -> None:
    config = ExperimentalConfig(profiler_level=ProfilerLevel.Level2, aic_metrics=AicoreMetrics.Memory, l2_cache=True)
    settled = Settled(bench, profiler_level=ProfilerLevel.Level1, l2_cache=False, experimental_config=config)
    assert settled.parameters.profiler_level is ProfilerLevel.Level2
    assert settled.parameters.aic_metrics is AicoreMetrics.Memory
    assert settled.parameters.l2_cache is True


@pytest.mark.parametrize(
    ("given", "name", "becomes", "text"),
    [
        (
            {"experimental_config": 3},
            "profiler_level",
            ProfilerLevel.Level0,
            (
                "For Profiler, experimental_config value must be the 'mindspore.profiler._ExperimentalConfig' class, "
                "reset to default value."
            ),
        ),
        (
            {"on_trace_ready": 3},
            "on_trace_ready",
            None,
            "For Profiler, on_trace_ready value is Invalid, reset to None.",
        ),
        (
            {"activities": ProfilerActivity.CPU},
            "activities",
            BOTH,
            (
                "For Profiler, activities value is Invalid, reset to "
                "[<ProfilerActivity.CPU: 'CPU'>, <ProfilerActivity.NPU: 'NPU'>]."
            ),
        ),
        (
            {"activities": [ProfilerActivity.CPU, "NPU"]},
            "activities",
            BOTH,
            (
                "For Profiler, activities value is Invalid, reset to "
                "[<ProfilerActivity.CPU: 'CPU'>, <ProfilerActivity.NPU: 'NPU'>]."
            ),
        ),
        (
            {"with_stack": 1},
            "with_stack",
            False,
            "For Profiler, the type of with_stack should be <class 'bool'>, but got <class 'int'>, reset to False.",
        ),
        (
            {"profiler_level": "Level1"},
            "profiler_level",
            ProfilerLevel.Level0,
            (
                "For Profiler, the type of profiler_level should be <enum 'ProfilerLevel'>, but got <class 'str'>, "
                "reset to ProfilerLevel.Level0."
            ),
        ),
        ({"export_type": 3}, "export_type", (ExportType.Text,), "Invalid parameter export_type, reset it to text."),
        (
            {"mstx_domain_include": "a"},
            "mstx_domain_include",
            (),
            "For Profiler, mstx_domain_include value is Invalid, reset to [].",
        ),
        (
            {"mstx": True, "mstx_domain_exclude": ["a", 3]},
            "mstx_domain_exclude",
            (),
            "mstx_domain_exclude has value 3 is not str or is empty, reset to [].",
        ),
        ({"host_sys": ["cpu"]}, "host_sys", (), "For Profiler, 'host_sys' value is Invalid, reset to []."),
    ],
)
def test_bad_values_fall_back_with_a_line_in_the_log(
    bench: Any, given: dict[str, Any], name: str, becomes: Any, text: str
) -> None:
    settled = Settled(bench, **given)
    assert getattr(settled.parameters, name) == becomes
    assert settled.logged == [text]


def test_a_bad_schedule_becomes_the_default_one(bench: Any) -> None:
    settled = Settled(bench, schedule=3)
    assert settled.parameters.schedule.to_dict()["active"] == 1
    assert settled.logged == [
        "For Profiler, schedule value is Invalid, reset to Schedule(wait=0, active=1, warmup=0, repeat=0, skip_first=0)"
    ]
    assert not bench.surface.session.current.is_set_schedule


LEVEL1_METRICS = (
    "when 'profiler_level' is set to 'ProfilerLevel.Level1', 'aic_metrics' cannot be set to "
    "'AicoreMetrics.AiCoreNone', reset to 'AicoreMetrics.PipeUtilization'."
)


@pytest.mark.parametrize(
    ("given", "name", "becomes", "text"),
    [
        (
            {"profiler_level": ProfilerLevel.LevelNone},
            "profiler_level",
            ProfilerLevel.Level0,
            (
                "when 'mstx' is disabled, 'profiler_level' cannot be set to 'ProfilerLevel.LevelNone', reset to "
                "'ProfilerLevel.Level0'."
            ),
        ),
        (
            {"aic_metrics": AicoreMetrics.Memory},
            "aic_metrics",
            AicoreMetrics.AiCoreNone,
            (
                "when 'profiler_level' is set to 'ProfilerLevel.Level0', 'aic_metrics' cannot be set to other value "
                "except 'AicoreMetrics.AiCoreNone', reset to 'AicoreMetrics.AiCoreNone'."
            ),
        ),
        ({"profiler_level": ProfilerLevel.Level1}, "aic_metrics", AicoreMetrics.PipeUtilization, LEVEL1_METRICS),
        (
            {"activities": [ProfilerActivity.NPU], "record_shapes": True},
            "record_shapes",
            False,
            (
                "when 'ProfilerActivity.CPU' is not set in 'activities', 'Record_shapes' cannot be set to True, "
                "reset to 'False'."
            ),
        ),
        (
            {"mstx_domain_include": ["a"]},
            "mstx_domain_include",
            (),
            (
                "when 'mstx' is set to 'False', 'mstx_domain_include' and 'mstx_domain_exclude' cannot be set, reset "
                "them to '[]'."
            ),
        ),
        (
            {"mstx": True, "mstx_domain_include": ["a"], "mstx_domain_exclude": ["b"]},
            "mstx_domain_exclude",
            (),
            (
                "mstx_domain_include and mstx_domain_exclude can not be set together, mstx_domain_exclude has been "
                "reset to []."
            ),
        ),
        (
            {"profile_communication": False},
            "pcie",
            False,
            (
                "The parameter 'profile_communication' is deprecated, please use 'profiler_level=ProfilerLevel.Level1' "
                "or 'profiler_level=ProfilerLevel.Level2' instead."
            ),
        ),
        (
            {"op_time": True},
            "pcie",
            False,
            "The parameter 'op_time' is deprecated, please use 'activaties=ProfilerActivity.NPU' instead.",
        ),
        (
            {"profile_framework": "all"},
            "pcie",
            False,
            "The parameter 'profile_framework' is deprecated, please use 'activaties=ProfilerActivity.CPU' instead.",
        ),
        (
            {"host_stack": True},
            "with_stack",
            False,
            "The parameter 'host_stack' is deprecated, please use 'with_stack' instead.",
        ),
        (
            {"timeline_limit": 5},
            "pcie",
            False,
            "The parameter 'timeline_limit' is deprecated and will have no effect",
        ),
        (
            {"pcie": True},
            "pcie",
            True,
            (
                "The parameter 'pcie' will be deprecated in future versions. Please use 'sys_interconnection' in "
                "mindspore.profiler._ExperimentalConfig instead."
            ),
        ),
        (
            {"hbm_ddr": True},
            "hbm_ddr",
            True,
            "The parameter 'hbm_ddr' will be deprecated in future versions. Please use 'profile_memory' in instead.",
        ),
    ],
)
def test_contradictions_and_old_names_are_python_warnings(
    bench: Any, given: dict[str, Any], name: str, becomes: Any, text: str
) -> None:
    settled = Settled(bench, **given)
    assert getattr(settled.parameters, name) == becomes
    assert settled.warned == [text]


def test_data_is_not_profiled_with_a_schedule(bench: Any) -> None:
    settled = Settled(bench, schedule=bench.surface.schedule(wait=1, warmup=1, active=1), data_process=True)
    assert settled.parameters.data_process is False
    assert settled.warned == ["When 'schedule' is set, 'data_process' will be set to False."]
    assert bench.surface.session.current.is_set_schedule


@pytest.mark.parametrize("value", [AicoreMetrics.Memory, AicoreMetrics.L2Cache, AicoreMetrics.AiCoreNone, None])
def test_metrics_by_their_old_name_are_recorded(bench: Any, value: Any) -> None:
    level = {"profiler_level": ProfilerLevel.Level1}
    settled, current = Settled(bench, aicore_metrics=value, **level), Settled(bench, aic_metrics=value, **level)
    assert settled.parameters.aic_metrics is current.parameters.aic_metrics
    both = Settled(bench, aicore_metrics=AicoreMetrics.L2Cache, aic_metrics=AicoreMetrics.Memory, **level)
    assert both.parameters.aic_metrics is AicoreMetrics.Memory


@pytest.mark.parametrize(("name", "near"), [("nope", ""), ("profile_memry", "; did you mean profile_memory?")])
def test_a_keyword_that_is_no_parameter_is_said(bench: Any, name: str, near: str, capsys: Any) -> None:
    say_once.cache_clear()
    Settled(bench, **{name: 1})
    assert capsys.readouterr().err.splitlines() == [
        f"[drynpu] Profiler({name}=...): MindSpore has no such parameter and ignores it{near}"
    ]


@pytest.mark.parametrize("value", ["db", ExportType.Db, [ExportType.Db], [ExportType.Db, ExportType.Db]])
def test_export_types_may_be_one_or_many(bench: Any, value: Any) -> None:
    settled = Settled(bench, export_type=value)
    assert settled.parameters.export_type == (ExportType.Db,)
    assert settled.logged == []


def test_profiler_info_shows_texts_and_numbers(bench: Any) -> None:
    settled = Settled(bench, host_sys=[HostSystem.CPU], export_type=[ExportType.Text, ExportType.Db])
    shown = settled.parameters.describe(is_set_schedule=False)
    assert list(shown) == ["is_set_schedule", *DEFAULTS, "schedule"]
    assert shown["host_sys"] == ["cpu"]
    assert shown["export_type"] == ["text", "db"]
    assert shown["aic_metrics"] == "None"
    assert shown["schedule"]["active"] == 1


def test_only_known_devices_have_a_profiler(bench: Any) -> None:
    bench.host.target = "Abacus"
    with pytest.raises(RuntimeError, match=r"^Profiling: unsupported backend: Abacus$"):
        bench.surface.Profiler()


def test_a_handlers_folder_stays_in_force(bench: Any, tmp_path: Path) -> None:
    bench.surface.tensorboard_trace_handler("traces", worker_name="me")
    bench.take()
    bench.surface.Profiler(start_profile=False)
    assert ("warning", "Both") not in [(level, text[:4]) for level, text in bench.texts()]
    bench.surface.Profiler(output_path="elsewhere")
    assert (
        "warning",
        (
            "Both on_trace_ready path and output_path are provided. The on_trace_ready path takes effect. "
            f"Final path is {tmp_path / 'traces'}"
        ),
    ) in bench.texts()
    (request,) = bench.backend.requests
    assert (request.folder, request.worker_name) == (tmp_path / "traces", "me")


def test_a_handler_that_is_made_later_moves_no_profiler(bench: Any, tmp_path: Path) -> None:
    profiler = bench.surface.Profiler(start_profile=False, output_path="./here")
    bench.surface.tensorboard_trace_handler("traces")
    profiler.start()
    (request,) = bench.backend.requests
    assert (request.folder, request.parameters.output_path) == (tmp_path / "here", "./here"), "as it was written"
    later = bench.surface.Profiler(output_path=3, start_profile=False)
    assert not any("type of output_path" in text for _, text in bench.texts()), "the handler's counts"
    assert later._state.parameters.output_path == str(tmp_path / "traces")


def test_a_handler_says_what_it_does_not_take(bench: Any, tmp_path: Path) -> None:
    bench.surface.tensorboard_trace_handler("", "x" * 226, 3, 4)
    assert [text for _, text in bench.texts()] == [
        "Invalid parameter worker_name, reset it to default.",
        "Invalid parameter dir_name, reset it to default.",
        "analyse_flag is not bool, set by default.",
        "async_mode is not bool, set by default.",
    ]
    (tmp_path / "file").touch()
    assert bench.surface.tensorboard_trace_handler("file") is None
    assert [text for _, text in bench.texts()] == [
        (
            "Call to tensorboard_trace_handler failed. Exception: [ProfilerPathErrorException] code: 50546081, "
            f"msg: Path error. Invalid input path is a file path: {tmp_path / 'file'}"
        )
    ]
