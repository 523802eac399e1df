"""Scripts for older releases: V22 (until 2.3) and V24 (2.4, 2.5) beside V27 (mindspore_profiler.md 1)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drynpu import OptionError
from drynpu_mindspore.profiler import (
    AicoreMetrics,
    Generation,
    ProfilerActivity,
    ProfilerLevel,
    generation_of,
)

Benches = Callable[[Generation], Any]


@pytest.mark.parametrize(
    ("release", "generation"),
    [
        ("", Generation.V27),
        ("1.6", Generation.V22),
        ("2.3.1", Generation.V22),
        ("2.4", Generation.V24),
        ("2.5.0", Generation.V24),
        ("2.7.2", Generation.V27),
    ],
)
def test_releases_belong_to_generations(release: str, generation: Generation) -> None:
    assert generation_of(release) is generation


def test_a_release_without_a_known_profiler_is_an_error() -> None:
    with pytest.raises(OptionError, match=r"DRYNPU_MINDSPORE_API: '3\.1' is no release .* Allowed: 1\.6, .*2\.7\."):
        generation_of("3.1")


class TestV24:
    """Between the two: schedules and levels, errors raised, analysis before finalising."""

    def test_analyse_comes_before_finalize_and_clears_nothing(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V24)
        profiler = bench.surface.Profiler()
        profiler.analyse(offline_path="x", step_list=(1, 3), mode="later", pretty=3)
        assert bench.calls() == ["init", "start", "stop", "analyse", "finalize"]

    def test_constructing_says_nothing_of_a_newer_api(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V24)
        bench.surface.Profiler(start_profile=False)
        assert not any("deprecated" in text for _, text in bench.texts())

    def test_metrics_go_by_their_old_name(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V24)
        parameters = bench.surface.session.configure(
            {"profiler_level": ProfilerLevel.Level1, "aicore_metrics": AicoreMetrics.Memory}
        )
        assert parameters.aic_metrics is AicoreMetrics.Memory

    def test_errors_are_raised(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V24)
        bench.backend.fails.add("start")
        with pytest.raises(ValueError, match="no start today"):
            bench.surface.Profiler()

    def test_the_handler_takes_no_arguments(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V24)
        seen: list[str] = []
        schedule = bench.surface.schedule(wait=0, warmup=0, active=1, repeat=1)
        profiler = bench.surface.Profiler(schedule=schedule, on_trace_ready=lambda: seen.append("called"))
        profiler.step()
        assert seen == ["called"]
        profiler = bench.surface.Profiler(schedule=schedule, on_trace_ready=bench.surface.tensor_board_trace_handler)
        profiler.step()
        assert "analyse" in bench.calls()

    def test_the_handler_of_the_release_logs_what_goes_wrong(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V24)
        bench.backend.fails.add("analyse")
        schedule = bench.surface.schedule(wait=0, warmup=0, active=1, repeat=1)
        profiler = bench.surface.Profiler(schedule=schedule, on_trace_ready=bench.surface.tensor_board_trace_handler)
        bench.take()
        profiler.step()
        events = bench.take()
        assert ("error", "Call tensorboard_trace_handler failed. Exception: no analyse today") in events
        assert ("clear",) in events

    def test_metadata_is_indented(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V24)
        profiler = bench.surface.Profiler()
        profiler.add_metadata("a", "b")
        profiler.stop()
        assert bench.backend.metadata == [({"a": "b"}, 4)]

    def test_offline_analysis_keeps_everything_by_default(self, bench_of: Benches, tmp_path: Path) -> None:
        (tmp_path / "a_ascend_ms" / "FRAMEWORK").mkdir(parents=True)
        for generation, simplifies in ((Generation.V24, False), (Generation.V27, True)):
            bench = bench_of(generation)
            bench.surface.Profiler.offline_analyse(str(tmp_path))
            assert bench.backend.analyses[0].data_simplification is simplifies


class TestV22:
    """The oldest: keywords of its own, one profiler at a time, one recording each."""

    def test_the_defaults_collect_what_that_release_collected(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V22)
        parameters = bench.surface.session.configure({})
        assert bench.texts() == []
        assert parameters.activities == (ProfilerActivity.CPU, ProfilerActivity.NPU)
        assert parameters.aic_metrics is AicoreMetrics.ArithmeticUtilization
        assert parameters.profiler_level is ProfilerLevel.Level1
        assert (parameters.data_process, parameters.parallel_strategy) == (True, True)
        assert parameters.output_path == "./data"

    @pytest.mark.parametrize(
        ("code", "metrics"),
        [
            (-1, "AiCoreNone"),
            (0, "ArithmeticUtilization"),
            (1, "PipeUtilization"),
            (2, "Memory"),
            (3, "MemoryL0"),
            (4, "ResourceConflictRatio"),
            (5, "MemoryUB"),
        ],
    )
    def test_metrics_are_numbers(self, bench_of: Benches, code: int, metrics: str) -> None:
        parameters = bench_of(Generation.V22).surface.session.configure({"aicore_metrics": code})
        assert parameters.aic_metrics.name == metrics

    def test_without_operator_times_only_the_host_is_collected(self, bench_of: Benches) -> None:
        parameters = bench_of(Generation.V22).surface.session.configure({"op_time": False, "aicore_metrics": -1})
        assert parameters.activities == (ProfilerActivity.CPU,)
        assert parameters.profiler_level is ProfilerLevel.Level0

    def test_bad_values_are_replaced_and_named(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V22)
        bench.surface.session.configure({"l2_cache": "yes", "aicore_metrics": 9})
        assert [text for _, text in bench.texts() if "Profiler'" in text] == [
            "For 'Profiler', the parameter l2_cache must be bool, but got type <class 'str'>, it will be set to False.",
            (
                "For 'Profiler', the parameter aicore_metrics must be in [-1, 0, 1, 2, 3, 4, 5], but got 9, "
                "it will be set to 0."
            ),
        ]

    def test_two_profilers_at_once_are_an_error(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V22)
        profiler = bench.surface.Profiler()
        with pytest.raises(RuntimeError, match=r"^Do not init twice in the profiler\.$"):
            bench.surface.Profiler()
        profiler.analyse()
        bench.surface.Profiler(start_profile=False)

    def test_starting_and_stopping_out_of_turn_are_errors(self, bench_of: Benches) -> None:
        profiler = bench_of(Generation.V22).surface.Profiler()
        with pytest.raises(RuntimeError, match="has already started. Use profiler.start"):
            profiler.start()
        profiler.stop()
        with pytest.raises(RuntimeError, match="The profiler has not started, so can not stop"):
            profiler.stop()
        with pytest.raises(RuntimeError, match="repeated start and stop actions are not supported"):
            profiler.start()

    def test_communication_is_not_profiled_from_the_middle_on(self, bench_of: Benches) -> None:
        with pytest.raises(RuntimeError, match="the parameter profile_communication can not be True"):
            bench_of(Generation.V22).surface.Profiler(profile_communication=True, start_profile=False)

    def test_start_profile_is_a_bool(self, bench_of: Benches) -> None:
        with pytest.raises(TypeError, match=r"start_profile must be bool, but got type <class 'int'>"):
            bench_of(Generation.V22).surface.Profiler(start_profile=1)

    def test_the_custom_loop_of_the_guide(self, bench_of: Benches) -> None:
        bench = bench_of(Generation.V22)
        profiler = bench.surface.Profiler(start_profile=False)
        for i in range(4):
            if i == 1:
                profiler.start()
            if i == 2:
                profiler.stop()
        profiler.analyse()
        assert bench.calls() == ["init", "start", "stop", "finalize", "analyse", "clear"]


def test_analyse_takes_the_arguments_of_its_release(bench_of: Benches) -> None:
    arguments = {
        generation: list(inspect.signature(bench_of(generation).surface.Profiler.analyse).parameters)
        for generation in Generation
    }
    assert arguments[Generation.V22] == ["self"]
    assert (
        arguments[Generation.V24]
        == arguments[Generation.V27]
        == [
            "self",
            "offline_path",
            "pretty",
            "step_list",
            "mode",
        ]
    )
