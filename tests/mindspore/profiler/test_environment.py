"""``MS_PROFILER_OPTIONS`` (mindspore_profiler.md 8)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drynpu_mindspore.profiler import (
    AicoreMetrics,
    ExportType,
    HostSystem,
    ProfilerActivity,
    ProfilerLevel,
)


def started_with(bench: Any, monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    text = options if isinstance(options, str) else json.dumps(options)
    monkeypatch.setenv("MS_PROFILER_OPTIONS", text)
    bench.surface.EnvProfiler.init_profiler()


@pytest.mark.parametrize("options", ["", {"start": False}, {"with_stack": True}])
def test_nothing_starts_unless_told(bench: Any, monkeypatch: pytest.MonkeyPatch, options: Any) -> None:
    started_with(bench, monkeypatch, options)
    assert bench.take() == []
    bench.surface.EnvProfiler().analyse()
    assert bench.take() == []


@pytest.mark.parametrize("text", ["{", "[]", "{}", "3"])
def test_what_is_no_object_is_said(bench: Any, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    started_with(bench, monkeypatch, text)
    assert bench.take() == [("error", "Failed to load MS_PROFILER_OPTIONS, json decode error.")]


def test_options_become_parameters(bench: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started_with(
        bench,
        monkeypatch,
        {
            "start": True,
            "output_path": "from_env",
            "activities": ["CPU"],
            "profiler_level": "Level1",
            "aic_metrics": "Memory",
            "export_type": ["db", "text"],
            "host_sys": ["cpu", "mem"],
            "with_stack": True,
            "schedule": 3,
            "on_trace_ready": 3,
        },
    )
    assert [call for call in bench.calls() if call != "trace_ready"] == ["init", "start"]
    (request,) = bench.backend.requests
    parameters = request.parameters
    assert request.folder == tmp_path / "from_env"
    assert parameters.activities == (ProfilerActivity.CPU,)
    assert parameters.profiler_level is ProfilerLevel.Level1
    assert parameters.aic_metrics is AicoreMetrics.Memory
    assert parameters.export_type == (ExportType.Db, ExportType.Text)
    assert parameters.host_sys == (HostSystem.CPU, HostSystem.MEM)
    assert parameters.with_stack
    assert not request.is_set_schedule
    bench.surface.EnvProfiler().analyse()
    assert bench.calls() == ["stop", "finalize", "trace_ready", "analyse", "clear"]
    bench.surface.EnvProfiler().analyse()
    closed = "The profile has not started. Do not turn off again in the closed state."
    assert bench.take() == [("error", closed)]
    bench.surface.finish()
    assert bench.take() == []


def test_texts_that_name_nothing_are_said(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started_with(
        bench,
        monkeypatch,
        {"start": True, "profiler_level": "Level9", "activities": ["CPU", "TPU"], "export_type": ["csv"]},
    )
    said = [text for _, text in bench.texts() if text.startswith("The value")]
    assert said == [
        "The value 'Level9' of parameter 'ProfilerLevel' is invalid, use default value 'ProfilerLevel.Level0' instead.",
        (
            "The value 'TPU' of parameter 'ProfilerActivity' is invalid, use default value "
            "'[<ProfilerActivity.CPU: 'CPU'>, <ProfilerActivity.NPU: 'NPU'>]' instead."
        ),
        (
            "The value 'csv' of parameter 'ExportType' is invalid, use default value "
            "'[<ExportType.Text: 'text'>]' instead."
        ),
    ]
    bench.surface.finish()


def test_what_is_no_list_is_left_to_the_profiler(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started_with(
        bench,
        monkeypatch,
        {"start": True, "activities": "CPU", "host_sys": ["cpu", "gpu", "tpu"], "export_type": "db"},
    )
    said = [text for _, text in bench.texts()]
    assert said[:4] == [
        "The value 'gpu' of parameter 'HostSystem' is invalid, use default value '[]' instead.",
        "The value 'tpu' of parameter 'HostSystem' is invalid, use default value '[]' instead.",
        "The value 'd' of parameter 'ExportType' is invalid, use default value '[<ExportType.Text: 'text'>]' instead.",
        "Profiler won't be using warmup, this can skew profiler results",
    ]
    assert said[4].startswith("For Profiler, activities value is Invalid, reset to [")
    bench.surface.finish()


def test_the_end_of_the_process_analyses(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    started_with(bench, monkeypatch, {"start": True})
    bench.take()
    bench.surface.finish()
    assert bench.calls() == ["stop", "finalize", "trace_ready", "analyse", "clear"]
