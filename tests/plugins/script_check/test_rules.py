"""The rules of ``drynpu check`` on noted processes that are written by hand."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import polars as pl
import pytest

from drynpu.analysis import Summary
from drynpu.checks import (
    Observation,
    ObservedCall,
    ObservedFailure,
    ObservedMessage,
    ObservedOutput,
    ObservedProfiler,
    Place,
    read_observations,
)
from drynpu.options import Level, MetricGroup, ProfilingRequest, Sampling, Severity, to_mapping
from drynpu.platforms import load_chip
from drynpu_script_check._mistake import Mistake
from drynpu_script_check._outputs import output_mistakes, size_mistakes
from drynpu_script_check._profilers import profiler_mistakes
from drynpu_script_check._recorded import memory_mistakes
from drynpu_script_check._requests import request_mistakes
from drynpu_script_check._script import script_mistakes

PLACE = Place("/nowhere/train.py", 7)
SCHEDULE = {"wait": 1, "warmup": 1, "active": 3, "repeat": 1, "skip_first": 0, "skip_first_wait": 0}


def profiler(**changes: Any) -> ObservedProfiler:
    fields = {
        "place": PLACE,
        "request": to_mapping(ProfilingRequest()),
        "schedule": SCHEDULE,
        "has_schedule": True,
        "handler": "tensorboard",
        "started": True,
        "steps": 20,
    }
    return ObservedProfiler(**{**fields, **changes})


def found(*profilers: ObservedProfiler, total: int | None = None, **fields: Any) -> dict[str, Mistake]:
    observation = Observation(pid=1, profilers=profilers, **{"optimizer_steps": 20, **fields})
    return {mistake.name: mistake for mistake in profiler_mistakes(observation, total)}


def summary(kernels: int, trace_bytes: int, steps: int = 1) -> Summary:
    return Summary(
        path=Path(),
        chip="Ascend910B2",
        clock="modelled",
        level="l1",
        device_ids=(0,),
        steps=pl.DataFrame({"step": [str(step) for step in range(steps)]}),
        kernels=(),
        kernel_count=kernels,
        kernel_us=1.0,
        unmapped={},
        busy=(),
        peak_allocated_bytes=None,
        peak_reserved_bytes=None,
        files={"ASCEND_PROFILER_OUTPUT/trace_view.json": trace_bytes},
        notes=(),
    )


def test_a_profiler_that_fits_its_run_is_no_mistake() -> None:
    assert found(profiler()) == {}


@pytest.mark.parametrize(
    ("changes", "total", "name", "level"),
    [
        ({"steps": 2}, None, "never-records", Severity.ERROR),
        ({"steps": 4}, None, "incomplete-cycle", Severity.WARNING),
        ({}, 2, "never-records", Severity.ERROR),
        ({"started": False}, None, "never-started", Severity.ERROR),
        ({"steps": 0, "optimizer_steps": 5}, None, "step-never-called", Severity.ERROR),
        ({"schedule": {**SCHEDULE, "warmup": 0}}, None, "no-warmup", Severity.WARNING),
        ({"schedule": {**SCHEDULE, "repeat": 0}}, 20, "many-directories", Severity.INFO),
    ],
)
def test_profilers(changes: dict[str, Any], total: int | None, name: str, level: Severity) -> None:
    mistakes = found(profiler(**changes), total=total)
    assert set(mistakes) == {name}
    assert (mistakes[name].level, mistakes[name].place) == (level, PLACE)


def test_the_length_of_a_run_that_was_cut_is_not_known() -> None:
    mistakes = found(profiler(steps=3), limited=True, optimizer_steps=3)
    assert set(mistakes) == {"steps-needed"}
    assert "after 5 steps" in mistakes["steps-needed"].title
    assert found(profiler(steps=3), limited=True, total=100) == {}


def test_a_handler_may_be_missing_where_the_script_exports_itself(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    for text, names in (("prof.stop()\n", {"handler-missing"}), ("prof.export_chrome_trace('t.json')\n", set())):
        script.write_text(text)
        assert set(found(profiler(handler="", place=Place(str(script), 1)))) == names


def test_what_the_profiler_says_of_the_script_alone_counts() -> None:
    said = [
        ObservedMessage(severity="WARNING", text="reset aic metrics to None!", option="aic_metrics", place=PLACE),
        ObservedMessage(severity="WARNING", text="about the check", place=None),
        ObservedMessage(severity="INFO", text="parsing", place=PLACE),
    ]
    (mistake,) = found(messages=tuple(said)).values()
    assert (mistake.name, mistake.evidence) == ("option", "reset aic metrics to None!")
    assert "Level1" in mistake.fix


def outputs(*observed: ObservedOutput, processes: int = 1, **fields: Any) -> dict[str, Mistake]:
    each = [Observation(pid=pid, outputs=observed, **fields) for pid in range(processes)]
    return {mistake.name: mistake for mistake in output_mistakes(each)}


def test_paths(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    def directory(path: Path | str) -> ObservedOutput:
        return ObservedOutput(kind="directory", path=str(path), place=PLACE)

    assert outputs(directory(tmp_path / "new" / "deep")) == {}
    assert not (tmp_path / "new").exists()
    refused = outputs(directory(tmp_path / "file" / "prof"))["not-writable"]
    assert (refused.level, refused.place) == (Severity.ERROR, PLACE)
    assert f"{tmp_path / 'file'} is a file" in refused.evidence
    assert set(outputs(directory(tmp_path / "host_1_2_ascend_pt" / "more"))) == {"inside-results"}
    assert outputs(directory("./prof"))["relative-path"].level is Severity.INFO


def test_files_that_overwrite_each_other(tmp_path: Path) -> None:
    export = ObservedOutput(kind="file", path=str(tmp_path / "trace.json"), place=PLACE)
    ranks = outputs(export, processes=3)
    assert ranks["ranks-overwrite"].level is Severity.ERROR
    assert "3 processes" in ranks["ranks-overwrite"].evidence
    cycles = outputs(export, export)
    assert set(cycles) == {"export-overwritten"}
    assert "2 times" in cycles["export-overwritten"].evidence
    assert outputs(export) == {}


def test_processes_without_a_rank() -> None:
    assert set(outputs(processes=2, profilers=(profiler(),))) == {"rank-unknown"}
    assert outputs(processes=2, profilers=(profiler(),), rank="0") == {}


@pytest.mark.parametrize(
    ("trace_mb", "name", "level"),
    [(30, "", None), (100, "trace-too-large", Severity.WARNING), (900, "trace-too-large", Severity.ERROR)],
)
def test_files_too_large_for_their_viewers(trace_mb: int, name: str, level: Severity | None) -> None:
    # Three steps are recorded; two were measured.
    mistakes = list(size_mistakes(profiler(), summary(2000, 2 * trace_mb << 20, steps=2), None))
    assert [(mistake.name, mistake.level) for mistake in mistakes] == ([(name, level)] if name else [])


def test_a_table_too_long_for_spreadsheets() -> None:
    (mistake,) = size_mistakes(profiler(), summary(400_000, 0), None)
    assert mistake.name == "table-too-long"
    assert "1.2 million" in mistake.title
    assert "active=2 " in mistake.fix


def test_a_profiler_without_a_schedule_records_the_whole_run() -> None:
    without = profiler(schedule=None, has_schedule=False)
    assert list(size_mistakes(without, summary(1000, 1 << 20), None)) == []
    (mistake,) = size_mistakes(without, summary(1000, 1 << 20), 300)
    assert mistake.name == "trace-too-large"


def test_results_that_do_not_fit_the_disk() -> None:
    free = os.statvfs(Path.cwd()).f_bavail * os.statvfs(Path.cwd()).f_frsize
    names = [mistake.name for mistake in size_mistakes(profiler(), summary(1, free), None)]
    assert "disk-full" in names


@pytest.mark.parametrize(("gib", "level"), [(50, None), (60, Severity.WARNING), (70, Severity.ERROR)])
def test_memory(gib: int, level: Severity | None) -> None:
    seen = Observation(pid=1, peak_allocated_bytes=gib << 30, peak_reserved_bytes=gib << 30)
    mistakes = list(memory_mistakes(seen, load_chip("Ascend910B2")))  # 64 GiB
    assert [mistake.level for mistake in mistakes] == ([] if level is None else [level])


TRACEBACK = f"""noise
Traceback (most recent call last):
  File "/home/me/train.py", line 30, in <module>
    main()
  File "/home/me/model.py", line 12, in forward
    return x + y
  File "/env/lib/python3.11/site-packages/torch/nn/modules/module.py", line 5, in call
    call()
  File "{Path(read_observations.__code__.co_filename).as_posix()}", line 5, in call
    call()
RuntimeError: Expected all tensors to be on the same device, but found npu:0 and cpu!
"""


def test_a_failure_is_read_from_what_was_printed() -> None:
    (mistake,) = script_mistakes(1, TRACEBACK, [])
    assert (mistake.name, mistake.place) == ("mixed-devices", Place("/home/me/model.py", 12))
    (mistake,) = script_mistakes(1, TRACEBACK.replace("Expected all tensors", "Nothing"), [])
    assert mistake.name == "script-fails"
    (mistake,) = script_mistakes(3, "", [])
    assert mistake.evidence == "It ended with status 3."


@pytest.mark.parametrize(
    "error",
    [
        "AttributeError: module 'tensorflow.compat.v1' has no attribute 'contrib'",
        "AttributeError: module 'tensorflow' has no attribute 'contrib'. Did you mean: 'config'?",
        "ModuleNotFoundError: No module named 'tensorflow.contrib'",
        "ModuleNotFoundError: TensorFlow 2 has no tf.contrib. Where its parts went: tf.contrib.data: tf.data.",
    ],
)
def test_what_is_in_place_of_tf_contrib_is_said(error: str) -> None:
    (mistake,) = script_mistakes(1, "\n".join((*TRACEBACK.splitlines()[:-1], error)), [])
    assert (mistake.name, mistake.place) == ("tensorflow-contrib", Place("/home/me/model.py", 12))
    assert mistake.evidence == error
    assert "tf_slim" in mistake.fix


def test_a_failure_that_the_process_noted_wins() -> None:
    noted = Observation(pid=1, failure=ObservedFailure(text="ValueError: \x1b[31mred", place=PLACE))
    (mistake,) = script_mistakes(1, TRACEBACK, [noted])
    assert (mistake.name, mistake.place) == ("script-fails", PLACE)
    assert "\x1b" not in mistake.evidence


def test_nothing_on_the_npu_is_known_for_the_native_device_alone() -> None:
    native, sink = (Observation(pid=1, served_by=device) for device in ("native", "sink"))
    assert [mistake.name for mistake in script_mistakes(0, "", [native])] == ["nothing-on-npu"]
    assert list(script_mistakes(0, "", [sink])) == []
    assert list(script_mistakes(0, "", [attrs.evolve(native, peak_allocated_bytes=512)])) == []


def requested(request: ProfilingRequest, *, failed: bool = False, **fields: Any) -> dict[str, Mistake]:
    asked = profiler(request=to_mapping(request), **fields)
    seen = Observation(pid=1, framework="acl", profilers=(asked,))
    return {each.name: each for each in request_mistakes(seen, load_chip("Ascend910B2"), failed=failed)}


def test_what_is_not_simulated_is_told_once_for_each_reason() -> None:
    plain = requested(ProfilingRequest())
    assert "not-simulated" not in plain
    images = requested(ProfilingRequest(sampling=Sampling(dvpp_hz=50)))["not-simulated"]
    assert (images.level, images.place) == (Severity.INFO, PLACE)
    assert "sampling.dvpp_hz" in images.title
    assert "dvpp_*.csv" in images.evidence


@pytest.mark.parametrize(
    ("level", "metrics", "found"),
    [
        (Level.L0, MetricGroup.MEMORY, True),
        (Level.NONE, MetricGroup.MEMORY, True),
        (Level.L1, MetricGroup.MEMORY, False),
        (Level.L0, MetricGroup.NONE, False),
    ],
)
def test_counters_need_a_level(level: Level, metrics: MetricGroup, found: bool) -> None:
    mistakes = requested(ProfilingRequest(level=level, aic_metrics=metrics))
    assert ("counters-without-level" in mistakes) == found
    if found:
        assert level.value in mistakes["counters-without-level"].evidence


def test_a_profiler_has_to_be_ended_by_a_script_that_comes_to_its_end() -> None:
    assert "never-stopped" in requested(ProfilingRequest(), ended=False)
    assert "never-stopped" not in requested(ProfilingRequest(), ended=True)
    assert "never-stopped" not in requested(ProfilingRequest(), ended=False, failed=True)


@pytest.mark.parametrize(("name", "level"), [("acl.prof.start", Severity.ERROR), ("acl.rt.malloc", Severity.WARNING)])
def test_a_call_that_fails_is_an_error_where_it_costs_the_profile(name: str, level: Severity) -> None:
    call = ObservedCall(name=name, code=100010, reason="INVALID", place=PLACE, times=3)
    (mistake,) = request_mistakes(Observation(pid=1, calls=(call,)), load_chip("Ascend910B2"))
    assert (mistake.level, mistake.place) == (level, PLACE)
    assert "100010 (INVALID) 3 times" in mistake.evidence
