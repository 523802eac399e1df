"""Each name of mindspore.profiler in a script of a user's, and what it leaves."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("profiled_options.py")
PLAIN = {"api_statistic.csv", "kernel_details.csv", "step_trace_time.csv", "trace_view.json"}
Finder = Callable[[str], Path]


@pytest.fixture(scope="module")
def run(without_mindspore: Any) -> Any:
    return without_mindspore(SCRIPT, under=("-m", "drynpu", "run"))


@pytest.fixture(scope="module")
def folder(run: Any) -> Finder:
    def find(below: str) -> Path:
        (found,) = run.runs(below)
        return found

    return find


def files(path: Path) -> set[str]:
    return {file.name for file in (path / "ASCEND_PROFILER_OUTPUT").glob("*")}


def rows(path: Path, name: str = "kernel_details.csv") -> list[dict[str, str]]:
    with (path / "ASCEND_PROFILER_OUTPUT" / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def events(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((path / "ASCEND_PROFILER_OUTPUT" / "trace_view.json").read_text())
    return found


def marks(path: Path) -> set[str]:
    return {event["name"] for event in events(path)} & {"plain", "mine", "turn"}


def parameters(path: Path) -> dict[str, Any]:
    info = json.loads((path / "profiler_info_0.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = info["profiler_parameters"]
    return found


def counters(path: Path) -> set[str]:
    return {name for name in rows(path)[0] if name.startswith(("aic_", "aiv_"))}


def test_levels(folder: Finder) -> None:
    assert files(folder("LevelNone")) == {"trace_view.json"}
    assert files(folder("Level0")) == PLAIN
    assert files(folder("Level1")) == files(folder("Level2")) == PLAIN | {"op_statistic.csv"}
    assert list(rows(folder("Level0"))[0])[-1] == "Block Dim"
    assert rows(folder("Level1"))[0]["Input Shapes"].strip('"\t') == "64,64;64,64"
    for level in ("level0", "level1", "level2"):
        (sample,) = folder(level.capitalize()).glob("PROF_*/host/sample.json")
        assert json.loads(sample.read_text(encoding="utf-8"))["prof_level"] == level


def test_activities(run: Any, folder: Finder) -> None:
    assert files(folder("CPU")) == {"trace_view.json"}
    assert not list(folder("CPU").glob("PROF_*"))
    assert files(folder("NPU")) == PLAIN
    assert not list(folder("NPU").glob("FRAMEWORK/*"))
    assert parameters(folder("GPU"))["activities"] == ["GPU"]
    assert not list(folder("GPU").glob("PROF_*")), "there is no GPU, and nobody asked for the NPU"


@pytest.mark.parametrize(
    ("metrics", "counter"),
    [
        ("PipeUtilization", "aic_mac_ratio"),
        ("AiCoreNone", "aic_mac_ratio"),  # Level1 puts PipeUtilization in its place
        ("ArithmeticUtilization", "aic_mac_fp16_ratio"),
        ("Memory", "aic_main_mem_read_bw(GB/s)"),
        ("MemoryL0", "aic_l0a_read_bw(GB/s)"),
        ("MemoryUB", "aiv_ub_read_bw_vector(GB/s)"),
        ("ResourceConflictRatio", "aiv_vec_bank_cflt_ratio"),
        ("L2Cache", "aic_write_cache_hit"),
        ("MemoryAccess", "aic_GM_to_L1_datas(KB)"),
    ],
)
def test_metric_groups(folder: Finder, metrics: str, counter: str) -> None:
    assert counter in counters(folder(metrics))
    assert counters(folder("plain")) == set()
    replaced = metrics if metrics != "AiCoreNone" else "PipeUtilization"
    assert parameters(folder(metrics))["aic_metrics"] == replaced


def test_kinds_of_results(folder: Finder) -> None:
    assert files(folder("Text")) == PLAIN
    assert files(folder("Db")) == {"ascend_mindspore_profiler_0.db"}


@pytest.mark.parametrize("system", ["CPU", "MEM", "DISK", "NETWORK"])
def test_metrics_of_the_host(folder: Finder, system: str) -> None:
    (prof,) = folder(f"host {system}").glob("PROF_*")
    sampled = {file.name for file in (prof / "host" / "data").glob("host_*.slice_0")}
    assert sampled == {f"host_{system.lower()}.data.slice_0"}


def test_what_needs_a_tracer_of_the_system_is_said_and_leaves_nothing(run: Any, folder: Finder) -> None:
    (prof,) = folder("host OSRT").glob("PROF_*")
    assert not list((prof / "host" / "data").glob("host_*"))
    assert parameters(folder("host OSRT"))["host_sys"] == ["osrt"]
    assert run.stderr.count("HostSystem.OSRT: drynpu does not record calls of the operating system") == 1


@pytest.mark.parametrize(
    ("option", "more"),
    [
        ("l2_cache", {"l2_cache.csv"}),
        ("sys_io", {"nic.csv", "roce.csv"}),
        ("sys_interconnection", {"pcie.csv", "hccs.csv"}),
        ("pcie", {"pcie.csv", "hccs.csv"}),
        ("hbm_ddr", {"hbm.csv"}),
        ("profile_memory", {"hbm.csv", "memory_record.csv", "npu_module_mem.csv"}),
        ("record_shapes", {"operator_details.csv"}),
    ],
)
def test_an_option_adds_its_files(folder: Finder, option: str, more: set[str]) -> None:
    assert files(folder(option)) == PLAIN | more
    assert parameters(folder(option))[option] is True


@pytest.mark.parametrize(("option", "value"), [("parallel_strategy", True), ("sync_enable", False)])
def test_what_is_only_kept_is_in_the_parameters_and_changes_no_file(folder: Finder, option: str, value: bool) -> None:
    assert parameters(folder(option))[option] is value is not parameters(folder("plain"))[option]
    assert files(folder(option)) == PLAIN


def test_data_simplification(folder: Finder) -> None:
    inside = {
        name: {path.name for path in folder(name).glob("PROF_*/*")}
        for name in ("data_simplification", "plain", "methods")
    }
    assert inside["data_simplification"] - inside["plain"] == {"mindstudio_profiler_output"}
    assert inside["methods"] == inside["data_simplification"], "offline, by the argument of analyse"


def test_marks_and_their_domains(folder: Finder) -> None:
    assert marks(folder("plain")) == set(), "mstx is off"
    assert marks(folder("Level0")) == {"plain", "mine", "turn"}
    assert marks(folder("mstx_domain_include")) == {"mine"}
    assert marks(folder("mstx_domain_exclude")) == {"plain", "turn"}
    durations = {event["name"]: float(event["dur"]) for event in events(folder("Level0")) if event["name"] == "turn"}
    assert durations["turn"] > 0, "from range_start to range_end"


@pytest.mark.parametrize(
    ("number", "actions"),
    [
        ("wait", "NONE NONE RECORD_AND_SAVE ready NONE NONE"),
        ("active", "RECORD RECORD RECORD_AND_SAVE ready NONE NONE"),
        ("warmup", "WARM_UP WARM_UP WARM_UP RECORD_AND_SAVE ready NONE"),
        ("repeat", "RECORD_AND_SAVE ready RECORD_AND_SAVE ready NONE NONE NONE"),
        ("skip_first", "NONE NONE NONE RECORD_AND_SAVE ready NONE"),
    ],
)
def test_schedules(run: Any, number: str, actions: str) -> None:
    assert run.printed(f"schedule {number}") == actions.split()
    assert run.printed("actions") == ["NONE", "WARM_UP", "RECORD", "RECORD_AND_SAVE", None]


def test_handlers(folder: Finder) -> None:
    assert folder("worker_name").name.startswith("somebody_")
    assert files(folder("async_mode")) == files(folder("worker_name")) == PLAIN
    assert files(folder("data")) == PLAIN, "tensor_board_trace_handler, without being called"
    assert files(folder("analyse_flag")) == PLAIN, "by offline_analyse alone"


def test_profilers_record_from_start_to_stop(folder: Finder) -> None:
    for name in ("output_path", "methods"):
        assert [row["Name"].rpartition("/")[2] for row in rows(folder(name))] == ["Relu"], name
        about = json.loads((folder(name) / "profiler_metadata.json").read_text(encoding="utf-8"))
        assert (about["who"], about["what"]) == ("a script", {"steps": 1})
    assert parameters(folder("output_path"))["start_profile"] is False


def test_analyse_keeps_the_steps_that_are_named(run: Any, folder: Finder) -> None:
    assert len(rows(folder("steps"))) == 2, "the kernels of one of three steps"
    assert run.stderr.count("The Interface 'Profiler.op_analyse()' is not supported on Ascend currently.") == 1
    assert run.printed("steps") == 1
    assert files(folder("pretty")) == PLAIN
    assert run.stdout.count(f"mode at: {folder('pretty')}") == 2, "when it was recorded, and again"
