"""PROFILING_MODE and PROFILING_OPTIONS beside what a script sets."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drynpu._errors import OptionError
from drynpu.options import Level, MetricGroup, NoticeCode, Origin
from drynpu.options.profiling_options import ProfilingMode, Start, resolve_start

OPTIONS = '{"output":"/env","task_time":"l0","l2":"on"}'


def start(enabled: bool | None = None, options: object = None, *, strict: bool = False, **environ: str) -> Start:
    return resolve_start(enabled, options, environ=environ, cwd="/job", strict=strict)


def said(decision: Start) -> list[tuple[str, str]]:
    return [(notice.path, notice.message) for notice in decision.notices]


def test_silence_is_off() -> None:
    decision = start()
    assert (decision.mode, decision.by, decision.parsed) == (ProfilingMode.OFF, Origin.DEFAULT, None)


def test_the_environment_turns_profiling_on() -> None:
    decision = start(PROFILING_MODE="true", PROFILING_OPTIONS=OPTIONS)
    assert (decision.mode, decision.by) == (ProfilingMode.ON, Origin.ENVIRONMENT)
    assert decision.parsed is not None
    assert decision.parsed.request.level is Level.L0
    assert decision.parsed.request.output.directory == "/env"
    assert decision.parsed.origins["level"] is Origin.ENVIRONMENT
    assert decision.parsed.origins["switches.tx"] is Origin.DEFAULT


def test_on_without_options_is_the_enabled_but_empty_rule() -> None:
    decision = start(PROFILING_MODE="true")
    assert decision.parsed is not None
    assert decision.parsed.request.aic_metrics is MetricGroup.PIPE_UTILIZATION
    assert decision.parsed.request.switches.training_trace
    assert decision.parsed.request.output.directory == "/job"
    assert decision.parsed.origins["level"] is Origin.RULE


def test_off_by_word() -> None:
    decision = start(PROFILING_MODE="false", PROFILING_OPTIONS=OPTIONS)
    assert (decision.mode, decision.by) == (ProfilingMode.OFF, Origin.ENVIRONMENT)
    assert said(decision) == [("PROFILING_OPTIONS", "options have no effect unless PROFILING_MODE is true.")]


def test_the_script_counts_for_more() -> None:
    on = start(True, {"output": "/script"}, PROFILING_MODE="false", PROFILING_OPTIONS=OPTIONS)
    assert (on.mode, on.by) == (ProfilingMode.ON, Origin.GIVEN)
    assert on.parsed is not None
    assert on.parsed.request.output.directory == "/script"
    assert not on.parsed.request.switches.l2_cache
    assert said(on) == [("PROFILING_MODE", "the script turns profiling on, which counts for more.")]
    off = start(False, {"output": "/script"}, PROFILING_MODE="true", PROFILING_OPTIONS=OPTIONS)
    assert (off.mode, off.by, off.parsed) == (ProfilingMode.OFF, Origin.GIVEN, None)
    assert said(off) == [("PROFILING_MODE", "the script turns profiling off, which counts for more.")]


def test_the_options_of_the_other_side_are_not_mixed_in() -> None:
    decision = start(True, None, PROFILING_MODE="true", PROFILING_OPTIONS=OPTIONS)
    assert decision.parsed is not None
    assert decision.parsed.request.switches.training_trace  # the enabled-but-empty rule, not the environment's text
    message = "the script's own options count; options of the environment are not used."
    assert said(decision) == [("PROFILING_OPTIONS", message)]


@pytest.mark.parametrize("enabled", [None, True, False])
def test_dynamic_wins_over_everything(enabled: bool | None) -> None:
    decision = start(enabled, {"output": "/script"}, PROFILING_MODE="dynamic", PROFILING_OPTIONS=OPTIONS)
    assert (decision.mode, decision.by, decision.parsed) == (ProfilingMode.DYNAMIC, Origin.ENVIRONMENT, None)
    messages = dict(said(decision))
    assert messages["PROFILING_OPTIONS"] == "options come with the attaching command in dynamic mode."
    if enabled is not None:
        assert messages["PROFILING_MODE"] == "PROFILING_MODE=dynamic overrides what the script sets."


@pytest.mark.parametrize("word", ["True", "1", "on", "dynamik"])
def test_a_mode_that_is_none(word: str) -> None:
    decision = start(PROFILING_MODE=word, PROFILING_OPTIONS=OPTIONS)
    assert decision.mode is ProfilingMode.OFF
    assert decision.notices[0].code is NoticeCode.MISSPELT
    with pytest.raises(OptionError) as caught:
        start(PROFILING_MODE=word, strict=True)
    assert caught.value.problems[0].startswith(
        f"PROFILING_MODE: value '{word}' refused; allowed: true, false, dynamic."
    )


def test_a_near_word_is_named() -> None:
    assert start(PROFILING_MODE="dynamik").notices[0].message.endswith("Did you mean 'dynamic'?")


def test_options_that_cannot_be_read() -> None:
    with pytest.raises(OptionError, match="l2: EK0001 value 'yes' refused: Please input 'on' or 'off'"):
        start(PROFILING_MODE="true", PROFILING_OPTIONS='{"output":"/o","l2":"yes"}')


def test_the_process_environment_is_the_default(monkeypatch, tmp_path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PROFILING_MODE", "true")
    monkeypatch.setenv("PROFILING_OPTIONS", '{"output":"o"}')
    decision = resolve_start()
    assert decision.parsed is not None
    assert decision.parsed.request.output.directory == str(tmp_path / "o")


texts = st.text(max_size=20)
documents = st.dictionaries(st.sampled_from(["output", "l2", "task_time", "dvpp_freq"]), texts).map(json.dumps) | texts


@given(
    st.none() | st.booleans(),
    st.none() | documents,
    st.fixed_dictionaries(
        {},
        optional={
            "PROFILING_MODE": st.sampled_from(["true", "false", "dynamic", ""]) | texts,
            "PROFILING_OPTIONS": documents,
            "ASCEND_WORK_PATH": texts,
        },
    ),
    st.booleans(),
)
def test_anything_is_decided_or_refused(
    enabled: bool | None, options: Any, environ: dict[str, str], strict: bool
) -> None:
    try:
        decision = resolve_start(enabled, options, environ=environ, cwd="/job", strict=strict)
    except OptionError as error:
        assert error.problems
        return
    assert (decision.parsed is not None) is (decision.mode is ProfilingMode.ON)
    if environ.get("PROFILING_MODE") == "dynamic":
        assert decision.mode is ProfilingMode.DYNAMIC
    elif enabled is not None:
        assert decision.mode is (ProfilingMode.ON if enabled else ProfilingMode.OFF)
