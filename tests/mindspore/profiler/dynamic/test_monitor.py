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
    made._file.poll_s = 0
    bench.take()
    return made


def write(**values: Any) -> None:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps({**DEFAULT_DOCUMENT, **values}), encoding="utf-8")


def at(step: int) -> Any:
    return SimpleNamespace(original_args=lambda: SimpleNamespace(cur_step_num=step))


def train(monitor: Any, bench: Any, steps: int) -> list[str]:
    """Run steps as ``Model.train`` does; return what happened, with ``step N`` for each."""
    for step in range(1, steps + 1):
        monitor.step_begin(at(step))
        bench.events.append((f"step {step}",))
        monitor.step_end(at(step))
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


def test_other_ranks_write_no_file(
    bench: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RANK_ID", "1")
    bench.surface.DynamicProfilerMonitor("cfg")
    assert not FILE.exists()
    assert capsys.readouterr().out == f"[Dynamic Profiler] Init config json file: {FILE.absolute()}\n"


def test_a_callback_records_exactly_the_steps_of_the_file(
    bench: Any, monitor: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    write(start_step=2, stop_step=3, analyse=True)
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
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "[Dynamic Profiler] Rank 0 create output path ./dyn_profile_data/rank0_start2_stop3",
        "[Dynamic Profiler] Rank 0 Dynamic profiler start at step 2, will stop at step 3",
        "[Dynamic Profiler] Rank 0 Dynamic profiler stop at step 3",
    ]


def test_the_file_may_change_while_training_goes_on(bench: Any, monitor: Any) -> None:
    assert train(monitor, bench, 2) == ["step 1", "step 2"]
    # A mode alone asks for nothing.
    write(start_step=1, stop_step=1, prof_path="elsewhere", analyse_mode=0)
    calls = train(monitor, bench, 2)
    assert calls[:3] == ["init", "start", "step 1"]
    assert "analyse" not in calls
    assert bench.backend.requests[0].folder == Path("elsewhere").absolute() / "rank0_start1_stop1"


def test_a_run_ends_with_the_training(bench: Any, monitor: Any) -> None:
    write(start_step=2, stop_step=9)
    assert train(monitor, bench, 3)[-4:] == ["stop", "finalize", "trace_ready", "clear"]


def test_a_run_ends_with_the_process(bench: Any, monitor: Any) -> None:
    write(start_step=1, stop_step=9)
    monitor.step()
    bench.take()
    bench.surface.finish()
    events = bench.take()
    assert [event[0] for event in events[:5]] == ["close_step", "warning", "stop", "finalize", "trace_ready"]
    assert events[-1] == ("warning", "Rank 0 Dynamic profiler stop at end of training")


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ((0, 3), ""),
        ((3, 2), "start_step must be less than stop_step, but get start_step = 3, stop_step = 2"),
        ((-1, -1), ""),
        ((1, 0), ""),
    ],
)
def test_steps_that_make_no_window_start_nothing(bench: Any, monitor: Any, steps: tuple[int, int], said: str) -> None:
    write(start_step=steps[0], stop_step=steps[1])
    happened = train(monitor, bench, 2)
    assert [call for call in happened if call != "warning"] == ["step 1", "step 2"]
    monitor.step_begin(at(3))
    assert bench.texts() == ([("error", said)] if said else [])


def test_a_window_that_is_behind_the_training_is_named(bench: Any, monitor: Any) -> None:
    write(start_step=2, stop_step=5)
    monitor.step_begin(at(3))
    text = "start_step must be greater than step_num, but get start_step = 2, stop_step = 5, step_num = 3"
    assert bench.take() == [("error", text)]


def test_a_second_window_waits_for_the_first(bench: Any, monitor: Any) -> None:
    write(start_step=1, stop_step=3)
    monitor.step_begin(at(1))
    write(start_step=2, stop_step=9)
    bench.take()
    monitor.step_begin(at(2))
    assert bench.texts() == [
        (
            "error",
            "Dynamic profiler is already started at step 1, please wait the first profiler finished at step 3.",
        )
    ]


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_file_that_cannot_be_read_ends_no_training(bench: Any, monitor: Any, text: str) -> None:
    FILE.write_text(text, encoding="utf-8")
    monitor.step_begin(at(1))
    assert bench.texts()[-1] == ("error", "Dynamic profiler json is not valid, please check the json file.")
    FILE.unlink()
    monitor.step()
    assert bench.texts() == [("error", "Dynamic profiler cfg json not exists")]


def test_a_folder_that_cannot_be_made_ends_no_training(bench: Any) -> None:
    Path("cfg").write_text("a file", encoding="utf-8")
    monitor = bench.surface.DynamicProfilerMonitor("cfg/inner")
    ((level, text),) = bench.texts()
    assert (level, text.startswith("Call to _init_cfg_json failed. Exception: ")) == ("error", True)
    monitor.step_begin(at(1))


def test_a_window_found_late_is_recorded_in_full(bench: Any, monitor: Any) -> None:
    for _ in range(3):
        monitor.step()
    write(start_step=2, stop_step=4)
    bench.take()
    for step in range(4, 8):
        monitor.step()
        bench.events.append((f"step {step + 1}",))
    calls = [call for call in bench.calls() if "_step" not in call]
    assert calls == [
        "init",
        "start",
        "step 5",
        "step 6",
        "step 7",
        "stop",
        "finalize",
        "trace_ready",
        "clear",
        "step 8",
    ]
    write(start_step=3, stop_step=5)
    monitor.step()
    assert bench.texts() == [
        ("warning", "stop_step must be greater than step_num, but get start_step = 3, stop_step = 5, step_num = 8")
    ]


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
        ("open_step", 4),
    ]


def test_bad_arguments(bench: Any) -> None:
    with pytest.raises(TypeError, match="If you set 'MSMONITOR_USE_DAEMON' to not 1, The cfg_path must be a string"):
        bench.surface.DynamicProfilerMonitor(3)
    bench.surface.DynamicProfilerMonitor("cfg", poll_interval="2")
    bench.surface.DynamicProfilerMonitor("cfg", poll_interval=0)
    bench.surface.DynamicProfilerMonitor("cfg", output_path=3)
    assert bench.texts() == [
        ("error", "Poll interval must be an integer, reset to 2."),
        ("error", "Poll interval must be greater than 1, reset to 2."),
        (
            "warning",
            "The output_path must be a string, but got type <class 'int'>, it will be set to './dyn_profile_data'.",
        ),
    ]


def test_the_daemon_is_not_there(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSMONITOR_USE_DAEMON", "1")
    monitor = bench.surface.DynamicProfilerMonitor()
    ((level, text),) = bench.texts()
    assert (level, "dynolog" in text) == ("warning", True)
    assert train(monitor, bench, 1) == ["step 1"]
    bench.surface.DynamicProfilerMonitor("cfg")
    assert bench.texts()[0] == (
        "warning",
        "If you export 'MSMONITOR_USE_DAEMON=1', your 'cfg_path' parameter will be invalid!",
    )
    monkeypatch.setenv("MSMONITOR_USE_DAEMON", "yes")
    bench.surface.DynamicProfilerMonitor("cfg")
    assert bench.texts() == [
        ("error", "Environment variable 'MSMONITOR_USE_DAEMON' value not valid, will be set to 0 !")
    ]


def test_numbers_of_older_files_are_understood(bench: Any) -> None:
    options = read_options(
        {"profiler_level": 1, "activities": 1, "export_type": 2, "aic_metrics": 3, "analyse_mode": 1, "analyse": True},
        bench.surface.session.user_log,
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


def test_types_that_are_neither_text_nor_number(bench: Any) -> None:
    options = read_options(
        {"aic_metrics": True, "profiler_level": None, "activities": "CPU", "export_type": {}, "analyse_mode": 7},
        bench.surface.session.user_log,
    )
    assert (options.analyses, options.asynchronous) == (False, False)
    assert [text for _, text in bench.texts()] == [
        f"'{name}' should be {what} or a non-bool integer, but got {kind}. Will be reset to default value: '{default}'."
        for name, what, kind, default in (
            ("aic_metrics", "a string", "bool", "AiCoreNone"),
            ("profiler_level", "a string", "NoneType", "Level0"),
            ("activities", "a list", "str", "[ProfilerActivity.CPU, ProfilerActivity.NPU]"),
            ("export_type", "a list", "dict", "[ExportType.Text]"),
        )
    ] + ["'analyse_mode' needs to be set to one of '-1, 0, and 1', but got '7', will be reset to default: 'None'."]
    assert read_options({"aic_metrics": "None"}, bench.surface.session.user_log).config["aic_metrics"] is (
        AicoreMetrics.AiCoreNone
    )


def test_bad_values_of_the_file_are_replaced_and_named(bench: Any) -> None:
    options = read_options(
        {"start_step": "2", "with_stack": 1, "profiler_level": "x", "activities": ["x"], "aic_metrics": 99},
        bench.surface.session.user_log,
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
