"""``DynamicProfilerMonitor``: the file, its old spellings, and what it starts (mindspore_profiler.md 7)."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from drynpu_mindspore.profiler import AicoreMetrics, ExportType, ProfilerActivity, ProfilerLevel
from drynpu_mindspore.profiler.dynamic import DEFAULT_DOCUMENT, read_options

FILE = Path("cfg") / "profiler_config.json"


@pytest.fixture
def monitor(bench: Any) -> Any:
    made = bench.surface.DynamicProfilerMonitor("cfg", poll_interval=1)
    made._poll_s = 0
    bench.take()
    return made


def write(**values: Any) -> None:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps({**DEFAULT_DOCUMENT, **values}), encoding="utf-8")


def train(monitor: Any, bench: Any, steps: int) -> list[str]:
    """Run steps as ``Model.train`` does; return what happened, with ``step N`` for each."""
    for step in range(1, steps + 1):
        context = SimpleNamespace(original_args=lambda step=step: SimpleNamespace(cur_step_num=step))
        monitor.step_begin(context)
        bench.events.append((f"step {step}",))
        monitor.step_end(context)
    monitor.on_train_end(None)
    return [call for call in bench.calls() if call not in ("open_step", "close_step", "info")]


def test_a_default_file_is_written_that_starts_nothing(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    monitor = bench.surface.DynamicProfilerMonitor("cfg")
    assert isinstance(monitor, bench.host.callback_base)
    assert capsys.readouterr().out == f"[Dynamic Profiler] Init config json file: {FILE.absolute()}\n"
    written = json.loads(FILE.read_text(encoding="utf-8"))
    assert list(written) == list(DEFAULT_DOCUMENT)
    assert written == DEFAULT_DOCUMENT
    bench.take()
    assert train(monitor, bench, 3) == ["step 1", "step 2", "step 3"]


def test_other_ranks_write_no_file(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK_ID", "1")
    bench.surface.DynamicProfilerMonitor("cfg")
    assert not FILE.exists()


def test_a_callback_records_exactly_the_steps_of_the_file(
    bench: Any, monitor: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    write(start_step=2, stop_step=3, analyse_mode=0)
    assert train(monitor, bench, 5) == [
        "step 1",
        "init",
        "start",
        "step 2",
        "step 3",
        "stop",
        "finalize",
        "trace_ready",
        "analyse",
        "clear",
        "step 4",
        "step 5",
    ]
    (request,) = bench.backend.requests
    assert request.folder == Path("dyn_profile_data").absolute() / "rank0_start2_stop3"
    assert request.parameters.schedule.to_dict() == {
        "wait": 0,
        "active": 2,
        "warmup": 0,
        "repeat": 1,
        "skip_first": 0,
    }
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "[Dynamic Profiler] Rank 0 Dynamic profiler start at step 2, will stop at step 3",
        "[Dynamic Profiler] Rank 0 Dynamic profiler stop at step 3",
    ]


def test_the_file_may_change_while_training_goes_on(bench: Any, monitor: Any) -> None:
    assert train(monitor, bench, 2) == ["step 1", "step 2"]
    write(start_step=1, stop_step=1, prof_path="elsewhere")
    calls = train(monitor, bench, 2)
    assert calls[:3] == ["init", "start", "step 1"]
    assert "analyse" not in calls
    assert bench.backend.requests[0].folder == Path("elsewhere").absolute() / "rank0_start1_stop1"


def test_a_run_ends_with_the_training(bench: Any, monitor: Any) -> None:
    write(start_step=2, stop_step=9)
    assert train(monitor, bench, 3)[-4:] == ["stop", "finalize", "trace_ready", "clear"]


@pytest.mark.parametrize("steps", [(0, 3), (3, 2), (-1, -1), (1, 0)])
def test_steps_that_make_no_window_start_nothing(bench: Any, monitor: Any, steps: tuple[int, int]) -> None:
    write(start_step=steps[0], stop_step=steps[1])
    assert train(monitor, bench, 3) == ["step 1", "step 2", "step 3"]


def test_in_a_loop_of_the_users_steps_are_counted_from_one(bench: Any, monitor: Any) -> None:
    write(start_step=2, stop_step=3)
    for step in range(1, 6):
        bench.events.append((f"step {step}",))
        monitor.step()
    seen = [event for event in bench.take() if event[0] not in ("warning", "close_step")]
    assert seen == [
        ("step 1",),
        ("step 2",),
        ("open_step", 0),
        ("init",),
        ("start",),
        ("open_step", 1),
        ("step 3",),
        ("open_step", 2),
        ("step 4",),
        ("stop",),
        ("finalize",),
        ("trace_ready",),
        ("clear",),
        ("open_step", 3),
        ("step 5",),
    ]


def test_bad_arguments(bench: Any) -> None:
    with pytest.raises(TypeError, match="If you set 'MSMONITOR_USE_DAEMON' to not 1, The cfg_path must be a string"):
        bench.surface.DynamicProfilerMonitor(3)
    bench.surface.DynamicProfilerMonitor("cfg", poll_interval="2")
    bench.surface.DynamicProfilerMonitor("cfg", poll_interval=0)
    assert bench.texts() == [
        ("error", "Poll interval must be an integer, reset to 2."),
        ("error", "Poll interval must be greater than 1, reset to 2."),
    ]


def test_the_daemon_is_not_there(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSMONITOR_USE_DAEMON", "1")
    monitor = bench.surface.DynamicProfilerMonitor()
    ((level, text),) = bench.texts()
    assert (level, "dynolog" in text) == ("warning", True)
    assert train(monitor, bench, 1) == ["step 1"]


def test_numbers_of_older_files_are_understood(bench: Any) -> None:
    options = read_options(
        {"profiler_level": 1, "activities": 1, "export_type": 2, "aic_metrics": 3, "analyse_mode": 1},
        bench.surface.session.voice,
    )
    assert options.config["profiler_level"] is ProfilerLevel.Level1
    assert options.config["aic_metrics"] is AicoreMetrics.MemoryL0
    assert options.config["export_type"] == [ExportType.Text, ExportType.Db]
    assert options.profile["activities"] == [ProfilerActivity.CPU]
    assert (options.analyses, options.asynchronous) == (True, True)
    old = "does not support passing in the int type in future versions. Please use the"
    assert bench.texts() == [
        ("warning", f"The parameter 'profiler_level=1' {old} str type instead."),
        ("warning", f"The parameter 'activities=1' {old} list type instead."),
        ("warning", f"The parameter 'aic_metrics=3' {old} str type instead."),
        ("warning", f"The parameter 'export_type=2' {old} list type instead."),
    ]


def test_bad_values_of_the_file_are_replaced_and_named(bench: Any) -> None:
    options = read_options(
        {"start_step": "2", "with_stack": 1, "profiler_level": "x", "activities": ["x"], "aic_metrics": 99},
        bench.surface.session.voice,
    )
    assert (options.start_step, options.profile["with_stack"]) == (-1, False)
    assert [text for _, text in bench.texts()] == [
        "'start_step' should be int, but got str. will be reset to default value: '-1'.",
        "'with_stack' should be bool, but got int. will be reset to default value: 'False'.",
        "'x' is not a valid profiler_level, will be reset to will be reset to default: 'Level0'.",
        (
            "'x' is not a valid ProfilerActivity member. will be reset to default: "
            "'[<ProfilerActivity.CPU: 'CPU'>, <ProfilerActivity.NPU: 'NPU'>]'."
        ),
        (
            "The parameter 'aic_metrics=99' does not support passing in the int type in future versions. "
            "Please use the str type instead."
        ),
        (
            "'aic_metrics' needs to be set to one of '0, 1, 2, 3, 4, 5, 6, and 7',but got '99', will be reset to "
            "default: 'AicoreMetrics.AiCoreNone'."
        ),
    ]
