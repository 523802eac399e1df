"""The state machine: transitions, texts, destructors, errors (mindspore_profiler.md 5)."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import pytest

from drynpu_mindspore.profiler import ProfilerAction

DEPRECATED = (
    "'mindspore.Profiler' will be deprecated and removed in a future version. "
    "Please use the api 'mindspore.profiler.profile' instead."
)
SAVE = ["stop", "finalize", "trace_ready", "handler", "clear"]
DROP = ["stop", "finalize", "clear"]
IN_WARMUP = "Incorrect schedule: Stop profiler while current state is WARMUP which will result in empty parsed data."
IN_RECORD = (
    "Incorrect schedule: Stop profiler while current state is RECORD which may result in incomplete parsed data."
)
IN_SAVE = "Stop profiler while current state is RECORD_AND_SAVE, perhaps the scheduling cycle has not yet completed."
AFTER_WARMUP = "Incorrect schedule: WARMUP followed by NONE"
NONE_AFTER_RECORD = "Incorrect schedule: RECORD followed by NONE"
WARMUP_AFTER_RECORD = "Incorrect schedule: RECORD followed by WARMUP"

# The table of the reference, line by line.
TRANSITIONS: list[tuple[str, str, list[str], str]] = [
    ("NONE", "NONE", [], ""),
    ("NONE", "WARM_UP", ["init"], ""),
    ("NONE", "RECORD", ["init", "start"], ""),
    ("NONE", "RECORD_AND_SAVE", ["init", "start"], ""),
    ("WARM_UP", "NONE", ["start", *DROP], AFTER_WARMUP),
    ("WARM_UP", "WARM_UP", [], ""),
    ("WARM_UP", "RECORD", ["start"], ""),
    ("WARM_UP", "RECORD_AND_SAVE", ["start"], ""),
    ("RECORD", "NONE", DROP, NONE_AFTER_RECORD),
    ("RECORD", "WARM_UP", DROP, WARMUP_AFTER_RECORD),
    ("RECORD", "RECORD", [], ""),
    ("RECORD", "RECORD_AND_SAVE", [], ""),
    ("RECORD_AND_SAVE", "NONE", SAVE, ""),
    ("RECORD_AND_SAVE", "WARM_UP", [*SAVE, "init"], ""),
    ("RECORD_AND_SAVE", "RECORD", [*SAVE, "init", "start"], ""),
    ("RECORD_AND_SAVE", "RECORD_AND_SAVE", [*SAVE, "init", "start"], ""),
    ("NONE", "", [], ""),
    ("WARM_UP", "", ["finalize", "clear", "delete_dir"], IN_WARMUP),
    ("RECORD", "", SAVE, IN_RECORD),
    ("RECORD_AND_SAVE", "", SAVE, IN_SAVE),
]


@pytest.mark.parametrize(("previous", "following", "calls", "warning"), TRANSITIONS)
def test_each_pair_of_actions_leads_to_the_calls_of_the_table(
    bench: Any, previous: str, following: str, calls: list[str], warning: str
) -> None:
    actions = [ProfilerAction[previous], ProfilerAction[following or previous]]
    profiler = bench.surface.profile(
        schedule=lambda step: actions[step], on_trace_ready=lambda run: bench.events.append(("handler",))
    )
    bench.take()
    profiler.step() if following else profiler.stop()
    seen = [event for event in bench.take() if event[0] not in ("open_step", "close_step")]
    assert [event[0] for event in seen if event[0] != "warning"] == calls
    assert [event[1] for event in seen if event[0] == "warning"] == ([warning] if warning else [])


def test_start_stop_analyse(bench: Any) -> None:
    profiler = bench.surface.Profiler()
    profiler.stop()
    profiler.analyse()
    assert bench.calls() == ["init", "start", "stop", "finalize", "analyse", "clear"]


def test_analyse_stops_what_runs(bench: Any) -> None:
    bench.surface.Profiler().analyse(step_list=[3, 2, 4], mode="async", pretty=True)
    assert bench.calls() == ["init", "start", "stop", "finalize", "analyse", "clear"]
    (how,) = bench.backend.analyses
    assert (how.step_list, how.asynchronous, how.pretty) == ((2, 3, 4), True, True)


def test_a_second_pair_of_start_and_stop_adds_to_the_run(bench: Any) -> None:
    profiler = bench.surface.Profiler(start_profile=False)
    for _ in range(2):
        profiler.start()
        profiler.stop()
    profiler.analyse()
    assert bench.calls() == ["init", "start", "stop", "start", "stop", "finalize", "analyse", "clear"]
    assert len(bench.backend.requests) == 1


def test_constructing_says_that_profiler_is_deprecated(bench: Any) -> None:
    bench.surface.Profiler(start_profile=False)
    assert bench.texts()[0] == ("warning", DEPRECATED)


def test_starting_twice_and_stopping_twice_are_said(bench: Any) -> None:
    profiler = bench.surface.Profiler()
    bench.take()
    profiler.start()
    assert bench.take() == [("warning", "The profiler has already started. Do not turn on again in the open state.")]
    profiler.stop()
    bench.take()
    profiler.stop()
    assert bench.take() == [("error", "The profiler has not started. Do not turn off again in the closed state.")]


def test_stepping_without_a_schedule_takes_no_effect(bench: Any) -> None:
    profiler = bench.surface.Profiler()
    bench.take()
    profiler.step()
    assert bench.take() == [("error", "With no schedule in the Profiler, step takes no effect!")]


def test_a_schedule_wants_steps(bench: Any) -> None:
    profiler = bench.surface.Profiler(schedule=bench.surface.schedule(wait=0, warmup=1, active=1))
    bench.take()
    profiler.stop()
    assert bench.take() == [("warning", "The profiler has schedule. Please use step() to collect data.")]
    profiler.step()
    assert bench.calls() == ["close_step", "start", "open_step"]
    profiler.analyse()
    assert bench.take() == [
        ("stop",),
        ("warning", "The profiler has schedule. Please use 'on_trace_ready' to analyse data."),
    ]
    profiler.step()
    assert bench.take() == [("error", "Profiler is stopped, step takes no effect!")]


def test_a_schedule_walks_through_two_cycles_with_a_run_each(bench: Any) -> None:
    ready = bench.surface.tensorboard_trace_handler("out")
    schedule = bench.surface.schedule(wait=1, warmup=1, active=1, repeat=2)
    with bench.surface.profile(schedule=schedule, on_trace_ready=ready) as profiler:
        for _ in range(8):
            profiler.step()
    names = [event for event in bench.take() if event[0] not in ("warning", "error")]
    assert [event for event in names if event[0] == "open_step"] == [("open_step", n) for n in range(9)]
    calls = [event[0] for event in names if event[0] not in ("open_step", "close_step")]
    assert calls == ["init", "start", "stop", "finalize", "trace_ready", "analyse", "clear"] * 2
    assert len(bench.backend.requests) == 2


def test_analysing_twice_says_three_times_that_there_is_nothing(bench: Any) -> None:
    profiler = bench.surface.Profiler()
    profiler.analyse()
    bench.take()
    profiler.analyse()
    assert bench.take() == [
        ("warning", f"ProfilerInterface {verb} failed, profiler has not been initialized.")
        for verb in ("finalize", "analyse", "clear")
    ]


@pytest.mark.parametrize(
    ("given", "level", "text"),
    [
        (
            {"offline_path": "somewhere"},
            "warning",
            (
                "The parameter 'offline_path' for Profiler.analyse() is deprecated, please use "
                "Profiler.offline_analyse() instead."
            ),
        ),
        (
            {"step_list": (1, 2)},
            "error",
            (
                "For profiler, the parameter step_list must be a list, but got type <class 'tuple'>, "
                "step_list reset to None."
            ),
        ),
        (
            {"step_list": [1, "2"]},
            "error",
            "For profiler, the elements of the parameter step_list must be integers, step_list reset to None.",
        ),
        (
            {"step_list": [1, 3]},
            "error",
            (
                "For profiler, the elements of the parameter step_list must be continuous integers, "
                "step_list reset to None."
            ),
        ),
        (
            {"pretty": 1},
            "warning",
            "For profiler, the parameter pretty must be bool, but got <class 'int'>, reset to False.",
        ),
        (
            {"mode": 1},
            "warning",
            "For Profiler.analyse(), the parameter mode must be str, but got <class 'int'>, reset to sync.",
        ),
        (
            {"mode": "later"},
            "warning",
            (
                "For Profiler.analyse(), the parameter mode must be one of ['sync', 'async'], but got later, "
                "reset to sync."
            ),
        ),
    ],
)
def test_analyse_checks_its_arguments(bench: Any, given: dict[str, Any], level: str, text: str) -> None:
    profiler = bench.surface.Profiler()
    bench.take()
    profiler.analyse(**given)
    assert bench.texts() == [(level, text)]
    (how,) = bench.backend.analyses
    assert (how.step_list, how.asynchronous, how.pretty) == (None, False, False)


def test_a_bad_list_of_steps_leaves_the_last_one_to_the_same_profiler_only(bench: Any) -> None:
    profiler = bench.surface.Profiler(start_profile=False)
    for steps in ([1, 2], "bad"):
        profiler.start()
        profiler.analyse(step_list=steps)
    bench.surface.Profiler().analyse()
    assert [how.step_list for how in bench.backend.analyses] == [(1, 2), (1, 2), None]


def test_a_profile_without_a_schedule_saves_when_it_stops(bench: Any) -> None:
    profiler = bench.surface.profile(on_trace_ready=lambda run: run.analyse())
    bench.take()
    profiler.step()
    assert profiler.step_num == 1
    profiler.stop()
    assert bench.take() == [
        ("warning", IN_RECORD),
        ("stop",),
        ("finalize",),
        ("trace_ready",),
        ("analyse",),
        ("clear",),
    ]


def test_the_texts_of_profile_name_it(bench: Any) -> None:
    profiler = bench.surface.profile()
    bench.take()
    profiler.start()
    profiler.stop()
    profiler.stop()
    profiler.step()
    assert [text for _, text in bench.texts() if text != IN_RECORD] == [
        "The profile has already started. Do not turn on again in the open state.",
        "The profile has not started. Do not turn off again in the closed state.",
        "profile is stopped, step takes no effect!",
    ]


def test_a_profile_says_that_a_schedule_is_none(bench: Any) -> None:
    profiler = bench.surface.profile(schedule=3)
    assert ("warning", "schedule is not Callable, set by default.") in bench.texts()
    assert profiler.current_action is ProfilerAction.RECORD
    profiler.stop()


def test_context_managers_start_and_stop(bench: Any) -> None:
    with bench.surface.Profiler(start_profile=False):
        assert bench.calls() == ["init", "start"]
    assert bench.calls() == ["stop"]


def test_a_profiler_that_is_dropped_is_stopped(bench: Any) -> None:
    for made, text in (
        (bench.surface.Profiler, "Profiler is stopped at the end of the program."),
        (bench.surface.profile, "profile is stopped at the end of the program."),
    ):
        profiler = made()
        bench.take()
        del profiler
        gc.collect()
        seen = bench.take()
        assert ("stop",) in seen
        assert seen[-1] == ("warning", text)


def test_the_end_of_the_process_stops_profilers_of_the_old_kind(bench: Any) -> None:
    profiler = bench.surface.Profiler()
    bench.take()
    bench.surface.finish()
    assert bench.take() == [("stop",), ("warning", "Profiler is stopped at the end of the program.")]
    assert not profiler._has_started


@pytest.mark.parametrize("name", ["init", "start", "stop", "finalize", "analyse", "clear"])
def test_what_goes_wrong_is_logged_and_ends_nothing(bench: Any, name: str) -> None:
    bench.backend.fails.add(name)
    profiler = bench.surface.Profiler(start_profile=False)
    profiler.start()
    profiler.stop()
    profiler.analyse()
    called = {"init": "start", "start": "start", "stop": "stop", "analyse": "online_analyse"}.get(name, "analyse")
    assert ("error", f"Call to {called} failed. Exception: no {name} today") in bench.texts()


def test_a_handler_that_fails_is_logged(bench: Any) -> None:
    def fail(run: Any) -> None:
        raise ValueError("full disk")

    profiler = bench.surface.profile(on_trace_ready=fail)
    bench.take()
    profiler.stop()
    assert bench.take()[-1] == ("error", "Call to stop failed. Exception: full disk")


def test_a_run_that_cannot_be_analysed_is_let_go_of(bench: Any) -> None:
    bench.backend.fails = {"analyse"}
    profiler = bench.surface.profile(on_trace_ready=bench.surface.tensorboard_trace_handler())
    bench.take()
    profiler.stop()
    events = bench.take()
    assert ("error", "Call to online_analyse failed. Exception: no analyse today") in events
    assert events[-1] == ("clear",)


@pytest.mark.parametrize("uncalled", ["tensorboard_trace_handler", "tensor_board_trace_handler"])
def test_a_handler_given_uncalled_analyses_too(bench: Any, uncalled: str) -> None:
    schedule = bench.surface.schedule(wait=0, warmup=1, active=1, repeat=1)
    profiler = bench.surface.Profiler(schedule=schedule, on_trace_ready=getattr(bench.surface, uncalled))
    profiler.step()
    profiler.step()
    assert bench.calls()[-4:] == ["trace_ready", "analyse", "clear", "open_step"]


def test_paths_are_those_that_the_vendor_takes(bench: Any, tmp_path: Path) -> None:
    handler = bench.surface.tensorboard_trace_handler
    assert handler("\u4e2d\u6587 runs", worker_name="w") is not None
    assert bench.surface.session.place.handler_folder == tmp_path / "\u4e2d\u6587 runs"
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "file").touch()
    for bad in ("link", "file", "caf\u00e9", "a;b", "x" * 256):
        assert handler(bad) is None
    refused = [text.rpartition("msg: Path error. ")[2] for _, text in bench.texts()]
    assert refused == [
        "Invalid input path is a soft link: link",
        f"Invalid input path is a file path: {tmp_path / 'file'}",
        f"Invalid input path: {tmp_path}/caf\u00e9, contains invalid characters.",
        f"Invalid input path: {tmp_path / 'a;b'}, contains invalid characters.",
        f"Length of input path {tmp_path / ('x' * 256)} file name {'x' * 256} exceeds the limit 255.",
    ]
    assert bench.surface.session.place.handler_folder == tmp_path / "\u4e2d\u6587 runs"
    assert bench.surface.session.place.worker_name is None, "as in the last call"


def test_a_run_that_was_never_analysed_is_left_to_its_profiler(bench: Any) -> None:
    first = bench.surface.Profiler(output_path="a")
    first.stop()
    second = bench.surface.Profiler(output_path="b")
    second.analyse()
    three = ["init", "start", "stop"]
    assert bench.calls() == [*three, *three, "finalize", "analyse", "clear"]
    first.analyse()
    assert bench.calls() == ["finalize", "analyse", "clear"]


def test_a_profiler_that_starts_ends_what_another_one_records(bench: Any) -> None:
    outer = bench.surface.Profiler(output_path="a")
    inner = bench.surface.Profiler(output_path="b")
    assert bench.calls() == ["init", "start", "init", "stop", "finalize", "start"]
    inner.analyse()
    outer.analyse()
    assert bench.calls() == ["stop", "finalize", "analyse", "clear", "finalize", "analyse", "clear"]


def test_a_profiler_that_is_not_started_leaves_the_one_that_records_alone(bench: Any) -> None:
    outer = bench.surface.Profiler(output_path="a")
    waiting = bench.surface.Profiler(output_path="b", start_profile=False)
    outer.analyse()
    assert bench.calls() == ["init", "start", "stop", "finalize", "analyse", "clear"]
    waiting.start()
    assert bench.surface.session.current.folder.name == "b"


def test_recording_begins_after_what_was_called_before(bench: Any) -> None:
    profiler = bench.surface.Profiler()
    assert bench.host.waits == 1
    profiler.stop()
    assert bench.host.waits == 2


def test_a_step_ends_when_its_operators_have_run(bench: Any) -> None:
    with bench.surface.profile(schedule=bench.surface.schedule(wait=1, active=1, repeat=1)) as profiler:
        profiler.step()
        assert bench.host.waits == 1, "at the start: nothing is recorded in the first step"
        profiler.step()
        assert bench.host.waits == 3, "at the end of the step, and of the recording"


@pytest.mark.parametrize("kind", ["profile", "Profiler"])
def test_an_operator_of_the_scripts_that_failed_is_raised_when_all_is_done(bench: Any, kind: str) -> None:
    bench.host.fails = [ValueError("index")]
    with pytest.raises(ValueError, match="index"), getattr(bench.surface, kind)(start_profile=False):
        pass
    assert bench.calls() == ["init", "start"]


def test_a_failure_at_the_end_loses_no_recording(bench: Any) -> None:
    profiler = bench.surface.profile()
    bench.take()
    bench.host.fails = [ValueError("index")]
    with pytest.raises(ValueError, match="index"):
        profiler.stop()
    assert bench.calls() == ["stop", "finalize", "trace_ready", "clear"]
    profiler.stop()
    assert bench.texts() == [("error", "The profile has not started. Do not turn off again in the closed state.")]


def test_the_vendors_profiling_mode_variable_refuses(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROFILING_MODE", "dynamic")
    profiler = bench.surface.Profiler()
    profiler.stop()
    assert ("start",) not in bench.events
    assert (
        "error",
        "The environment variable 'PROFILING_MODE' has been set.Please execute 'unset PROFILING_MODE'.",
    ) in bench.texts()
    profiler.analyse()
    assert bench.calls() == ["clear"], "nothing was recorded that could be analysed"


def test_a_schedule_of_the_scripts_may_return_nonsense(bench: Any) -> None:
    with bench.surface.profile(schedule=lambda step: step) as profiler:
        profiler.step()
    assert [event for event in bench.take() if event[0] not in ("open_step", "close_step", "warning")] == []


def test_warnings_name_the_line_of_the_script(bench: Any) -> None:
    with pytest.warns(UserWarning, match="pcie") as warned:
        bench.surface.profile(pcie=True, start_profile=False)
    assert {each.filename for each in warned} == {__file__}


def test_the_rank_comes_from_the_environment_and_the_device_from_the_script(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK_ID", "three")
    monkeypatch.setenv("DEVICE_ID", "7")
    bench.host.number = 5
    bench.surface.Profiler().stop()
    (request,) = bench.backend.requests
    assert (request.rank_id, request.device_id, request.jit_level) == ("0", "5", "O0")


def test_metadata_is_written_once(bench: Any) -> None:
    profiler = bench.surface.Profiler()
    bench.take()
    profiler.add_metadata("team", "blue")
    profiler.add_metadata("team", "red")
    profiler.add_metadata(1, "x")
    profiler.add_metadata_json("sizes", '{"batch": 4}')
    profiler.add_metadata_json("bad", "{")
    assert [text for _, text in bench.texts()] == [
        "team is already saved as metadata, override it.",
        "The key and value of metadata must be string. Skip this metadata.",
        "The metadata value must be json format string. Skip this metadata",
    ]
    profiler.stop()
    profiler.analyse()
    assert bench.backend.metadata == [({"team": "red", "sizes": {"batch": 4}}, None)]


def test_metadata_is_limited_text_by_text(bench: Any) -> None:
    profiler = bench.surface.Profiler()
    bench.take()
    half = "x" * (60 << 20)
    profiler.add_metadata("first", half)
    profiler.add_metadata("second", half)
    profiler.add_metadata("third", half * 2)
    assert bench.texts() == [("warning", "Too many metadata added. Skip this metadata")]
    profiler.stop()
    assert [list(written) for written, _ in bench.backend.metadata] == [["first", "second"]]


def test_single_operators_are_not_analysed_on_ascend(bench: Any) -> None:
    profiler = bench.surface.Profiler(start_profile=False)
    bench.take()
    with pytest.warns(UserWarning, match="op_analyse is deprecated and will be removed"):
        assert profiler.op_analyse(3) is None
    assert bench.texts() == [
        (
            "error",
            (
                "Call to op_analyse failed. Exception: The Interface 'Profiler.op_analyse()' is not supported on "
                "Ascend currently."
            ),
        )
    ]
