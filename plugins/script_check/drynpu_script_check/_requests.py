"""What a profiler asks for and will not get: data that is not simulated, counters without a level."""

from __future__ import annotations

from collections.abc import Iterator

from drynpu.checks import Observation, ObservedCall, ObservedProfiler
from drynpu.options import NOT_SIMULATED, Level, MetricGroup, Severity, deliverables, from_mapping
from drynpu.platforms import Chip
from drynpu_script_check._mistake import Mistake

_PROFILING = "acl.prof."
_NAMED = 3
"""Files of one reason that are named."""


def request_mistakes(observation: Observation, chip: Chip, *, failed: bool = False) -> Iterator[Mistake]:
    """Yield what is wrong with what the profilers of a process ask for; where it has not *failed*, what never ends."""
    for profiler in observation.profilers:
        yield from _not_simulated(profiler, chip)
        yield from _counters(profiler)
        if not profiler.ended and not observation.limited and not failed:
            yield Mistake(
                name="never-stopped",
                level=Severity.WARNING,
                title="The profiler is never stopped",
                evidence="The script came to its end while it recorded: what a device still holds then is lost.",
                fix="Stop it before the end: acl.prof.stop and acl.prof.finalize, or acl.finalize for one of acl.json.",
                place=profiler.place,
            )
    for call in observation.calls:
        yield _failed_call(call)


def _not_simulated(profiler: ObservedProfiler, chip: Chip) -> Iterator[Mistake]:
    files: dict[str, list[str]] = {}
    options: dict[str, str] = {}
    for row in deliverables(from_mapping(profiler.request), chip.platform_version):
        reason = NOT_SIMULATED.get(row.name)
        if reason is not None:
            files.setdefault(reason, []).append(row.title)
            options[reason] = row.option
    for reason, titles in files.items():
        named = ", ".join(dict.fromkeys(titles[:_NAMED])) + (" ..." if len(titles) > _NAMED else "")
        yield Mistake(
            name="not-simulated",
            level=Severity.INFO,
            title=f"The option {options[reason]} leaves files on a device alone",
            evidence=f"{named}: {reason}.",
            fix="Expect them on a device, not here.",
            place=profiler.place,
        )


def _counters(profiler: ObservedProfiler) -> Iterator[Mistake]:
    request = from_mapping(profiler.request)
    if request.aic_metrics in (None, MetricGroup.NONE) or request.level not in (Level.NONE, Level.L0):
        return
    yield Mistake(
        name="counters-without-level",
        level=Severity.WARNING,
        title="Counters are asked for at a level that has none",
        evidence=f"aic_metrics is {getattr(request.aic_metrics, 'value', request.aic_metrics)} and the level"
        f" {request.level.value}: kernels are not recorded with their counters.",
        fix="Ask for level l1 (task_trace, task-time or profiler_level of level 1), or leave the metrics out.",
        place=profiler.place,
    )


def _failed_call(call: ObservedCall) -> Mistake:
    profiles = call.name.startswith(_PROFILING)
    reason = f" ({call.reason})" if call.reason else ""
    times = "" if call.times == 1 else f" {call.times} times"
    return Mistake(
        name="call-fails",
        level=Severity.ERROR if profiles else Severity.WARNING,
        title=f"{call.name} fails",
        evidence=f"It returned {call.code}{reason}{times}"
        + ("; what it was to record is lost." if profiles else ", and the script went on."),
        fix="Look at the code that each call returns, and at acl.get_recent_err_msg().",
        place=call.place,
    )
