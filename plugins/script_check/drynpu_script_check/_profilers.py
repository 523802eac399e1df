"""Profilers that will not record what their script expects."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from drynpu.checks import Observation, ObservedMessage, ObservedProfiler, Place
from drynpu.options import NoticeCode, Schedule, Severity
from drynpu_script_check._mistake import Mistake
from drynpu_script_check._schedules import lint_schedule

_EXPORTS = frozenset({"export_chrome_trace", "export_stacks", "export_memory_timeline", "analyse"})
_MODULES = {"torch": "torch_npu.profiler.", "mindspore": "mindspore.profiler."}
_ENOUGH = 2
"""Steps of the training from which a profiler that counts none is named."""
_SCHEDULE_TITLES = {
    NoticeCode.NEVER_RECORDS: "Nothing is recorded",
    NoticeCode.INCOMPLETE_CYCLE: "The run ends inside the recording",
    NoticeCode.NO_WARMUP: "The profiler does not warm up",
    NoticeCode.MANY_DIRECTORIES: "Each cycle leaves a directory",
}
_SCHEDULE_FIXES = {
    NoticeCode.NEVER_RECORDS: "Make skip_first, wait or warmup smaller, or train longer.",
    NoticeCode.INCOMPLETE_CYCLE: "Make active or the steps before it smaller, or train longer.",
    NoticeCode.NO_WARMUP: "Give the schedule warmup=1.",
    NoticeCode.MANY_DIRECTORIES: "Give the schedule repeat=1, if one recording is enough.",
}
_OPTION_FIXES = {
    "aic_metrics": "Take profiler_level=Level1 or Level2 with aic_metrics, or leave aic_metrics out.",
    "experimental_config": "Give a torch_npu.profiler._ExperimentalConfig.",
    "activities": "Give a list with ProfilerActivity.CPU and ProfilerActivity.NPU.",
}
_LEVELS = {"ERROR": Severity.ERROR, "WARNING": Severity.WARNING}


def profiler_mistakes(observation: Observation, total_steps: int | None) -> Iterator[Mistake]:
    """
    Yield what is wrong with the profilers of a process.

    *total_steps* is the length of the real run where the user gave it; else it is the process's own, if it ended by
    itself.
    """
    for profiler in observation.profilers:
        if not profiler.started:
            yield Mistake(
                name="never-started",
                level=Severity.ERROR,
                title="The profiler is never started",
                evidence=f"{observation.steps} steps were made, and neither `with` nor start() began it.",
                fix="Use it as `with profile(...) as prof:`, or call prof.start() before the loop, prof.stop() after.",
                place=profiler.place,
            )
            continue
        yield from _handler(profiler, observation.framework)
        if profiler.has_schedule and not profiler.steps and profiler.optimizer_steps >= _ENOUGH:
            yield _never_steps(profiler)
        else:
            yield from _schedule(profiler, observation, total_steps)
    # What the profiler says by itself is about the check.
    said = (message for message in observation.messages if message.place is not None and message.severity in _LEVELS)
    yield from map(_option, said)


def _handler(profiler: ObservedProfiler, framework: str) -> Iterator[Mistake]:
    if profiler.handler or _exports_itself(profiler.place):
        return
    yield Mistake(
        name="handler-missing",
        level=Severity.ERROR,
        title="Nobody turns the recording into files to look at",
        evidence="The profiler has no on_trace_ready, and the script never exports: raw data alone would stay.",
        fix=f'Give it on_trace_ready={_MODULES.get(framework, "")}tensorboard_trace_handler("./prof").',
        place=profiler.place,
    )


def _exports_itself(place: Place | None) -> bool:
    """Return whether the file of *place* calls an export; a file that cannot be read may."""
    if place is None:
        return True
    try:
        tree = ast.parse(Path(place.file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return bool(names & _EXPORTS) or any(isinstance(node, ast.Name) and node.id in _EXPORTS for node in ast.walk(tree))


def _never_steps(profiler: ObservedProfiler) -> Mistake:
    recorded = ""
    if profiler.schedule is not None:
        first = Schedule(**profiler.schedule).first_recorded_step
        recorded = f" The schedule records from step {first} on, which never comes." if first else ""
    return Mistake(
        name="step-never-called",
        level=Severity.ERROR,
        title="prof.step() is never called",
        evidence=f"The optimizer made {profiler.optimizer_steps} steps while the profiler ran, and it counted none."
        + recorded,
        fix="Call prof.step() at the end of each pass of the loop.",
        place=profiler.place,
    )


def _schedule(profiler: ObservedProfiler, observation: Observation, total_steps: int | None) -> Iterator[Mistake]:
    if profiler.schedule is None:
        return
    schedule = Schedule(**profiler.schedule)
    total = total_steps if total_steps is not None or observation.limited else profiler.steps
    for notice in lint_schedule(schedule, total):
        yield Mistake(
            name=notice.code.value,
            level=notice.severity,
            title=_SCHEDULE_TITLES.get(notice.code, "The schedule does not fit the run"),
            evidence=notice.message,
            fix=_SCHEDULE_FIXES.get(notice.code, "Change the schedule."),
            place=profiler.place,
        )
    if total is None and schedule.first_recorded_step + schedule.active > observation.steps:
        needed = schedule.first_recorded_step + schedule.active
        yield Mistake(
            name="steps-needed",
            level=Severity.INFO,
            title=f"The first recording is complete after {needed} steps",
            evidence=f"The schedule leaves out {schedule.first_recorded_step} steps and records {schedule.active};"
            f" the check ran {observation.steps} and does not know how long the run is.",
            fix="Give the length of the run with --steps, and the schedule is checked against it.",
            place=profiler.place,
        )


def _option(message: ObservedMessage) -> Mistake:
    named = f"The option {message.option}" if message.option else "The profiler complains"
    return Mistake(
        name="option",
        level=_LEVELS[message.severity],
        title=named + (" does not do what it says" if message.option else ""),
        evidence=message.text,
        fix=_OPTION_FIXES.get(message.option, "Change what the message names; docs/options.md has every option."),
        place=message.place,
    )
