"""Where results go: paths that cannot be written, files of several ranks in one place, files that nothing opens."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from drynpu.analysis import Summary
from drynpu.checks import Observation, ObservedOutput, ObservedProfiler
from drynpu.layouts.result_files import TRACE_VIEW_FILE
from drynpu.options import Schedule, Severity, from_mapping
from drynpu.views.theme import size_text
from drynpu_script_check._footprint import estimate_footprint
from drynpu_script_check._mistake import Mistake

_CHROME_BYTES = 256 << 20
"""The largest file that chrome://tracing loads (Skia's documentation of its traces)."""
_PERFETTO_BYTES = 2 << 30
"""What the Perfetto UI has to hold a whole trace in, without a local trace_processor (its page on large traces)."""
_SHEET_ROWS = 1_048_576
"""Rows of a sheet in the usual spreadsheet programs."""
_RESULTS = ("_ascend_pt", "_ascend_ms")


def output_mistakes(observations: Sequence[Observation]) -> Iterator[Mistake]:
    """Yield what is wrong with the places that results go to."""
    for output in dict.fromkeys(output for each in observations for output in each.outputs):
        yield from _path(output)
    files = [{output.path for output in each.outputs if output.kind == "file"} for each in observations]
    shared = Counter(path for paths in files for path in paths)
    for path, count in shared.items():
        first = next(output for each in observations for output in each.outputs if output.path == path)
        if count > 1:
            yield Mistake(
                name="ranks-overwrite",
                level=Severity.ERROR,
                title="Ranks overwrite each other's file",
                evidence=f"{count} processes export to {path}.",
                fix="Put the rank into the name, or use tensorboard_trace_handler, which makes a directory for each.",
                place=first.place,
            )
    for each in observations:
        yield from _repeated(each)
    unknown = [each for each in observations if each.profilers and not each.rank]
    if len(unknown) > 1:
        yield Mistake(
            name="rank-unknown",
            level=Severity.WARNING,
            title="The results do not say their rank",
            evidence=f"{len(unknown)} processes have a profiler and no RANK in their environment.",
            fix="Start them with torchrun, or set RANK for each: tools that join ranks read it from a file's name.",
            place=unknown[0].profilers[0].place,
        )


def _repeated(observation: Observation) -> Iterator[Mistake]:
    times = Counter((output.path, output.place) for output in observation.outputs if output.kind == "file")
    for (path, place), count in times.items():
        if count > 1:
            yield Mistake(
                name="export-overwritten",
                level=Severity.WARNING,
                title="Each recording overwrites the file of the one before",
                evidence=f"{path} is exported {count} times in the first {observation.steps} steps.",
                fix="Put prof.step_num into the name, or give the schedule repeat=1.",
                place=place,
            )


def _path(output: ObservedOutput) -> Iterator[Mistake]:
    path = Path(output.path).expanduser()
    directory = path if output.kind == "directory" else path.parent
    reason = _refusal(directory.absolute())
    if reason:
        yield Mistake(
            name="not-writable",
            level=Severity.ERROR,
            title="Results cannot be written",
            evidence=f"{output.path}: {reason}.",
            fix="Name a directory that this user can create.",
            place=output.place,
        )
        return
    inside = next((part for part in directory.absolute().parts if _is_result(part)), "")
    if inside:
        yield Mistake(
            name="inside-results",
            level=Severity.WARNING,
            title="Results go into the results of another run",
            evidence=f"{output.path} is inside {inside}: tools that look for profiles take the two for one.",
            fix="Name a directory beside it.",
            place=output.place,
        )
    if not path.is_absolute():
        yield Mistake(
            name="relative-path",
            level=Severity.INFO,
            title="The results' path is relative",
            evidence=f"{output.path or 'No path'}: results go to {path.absolute()} if the run starts where this did.",
            fix="Name an absolute path where a scheduler starts the run.",
            place=output.place,
        )


def _is_result(name: str) -> bool:
    return name.endswith(_RESULTS) or name.startswith("PROF_")


def _refusal(directory: Path) -> str:
    """Return why *directory* cannot be made or written to, "" if it can: by trying, as its mode alone does not say."""
    nearest = directory
    while not nearest.exists():
        nearest = nearest.parent
    if not nearest.is_dir():
        return f"{nearest} is a file"
    try:
        Path(tempfile.mkdtemp(prefix=".drynpu_", dir=nearest)).rmdir()
    except OSError as error:
        return f"nothing can be made in {nearest}: {error.strerror}"
    return ""


def size_mistakes(profiler: ObservedProfiler, summary: Summary, total_steps: int | None) -> Iterator[Mistake]:
    """
    Yield which files of a profiler would be too large to look at, or for the disk.

    Sizes of a step come from the recorded first steps in *summary*; a profiler without a schedule records the
    *total_steps* of the run.
    """
    recorded = max(summary.steps.height, 1)
    steps = total_steps if profiler.schedule is None else Schedule(**profiler.schedule).active
    if steps is None:
        return
    kernels = summary.kernel_count / recorded
    trace = next((size for name, size in summary.files.items() if name.endswith(TRACE_VIEW_FILE)), 0) / recorded
    common = f"about {trace / 1e6:.1f} MB a step as the check recorded it, {steps} steps are recorded"
    for limit, level, viewer in (
        (_PERFETTO_BYTES, Severity.ERROR, "ui.perfetto.dev holds 2 GB, and chrome://tracing loads 256 MB"),
        (_CHROME_BYTES, Severity.WARNING, "chrome://tracing loads 256 MB"),
    ):
        if trace * steps > limit:
            yield Mistake(
                name="trace-too-large",
                level=level,
                title=f"trace_view.json would have about {size_text(trace * steps)}",
                evidence=f"{viewer}: {common}.",
                fix=f"Record fewer steps: active={max(int(_CHROME_BYTES // max(trace, 1.0)), 1)} stays below 256 MB. Or"
                " export_type=Db.",
                place=profiler.place,
            )
            break
    if kernels * steps > _SHEET_ROWS:
        yield Mistake(
            name="table-too-long",
            level=Severity.WARNING,
            title=f"kernel_details.csv would have about {kernels * steps / 1e6:.1f} million rows",
            evidence=f"Spreadsheets open {_SHEET_ROWS}: {kernels:.0f} kernels a step, {steps} steps are recorded.",
            fix=f"Record fewer steps: active={max(int(_SHEET_ROWS / kernels), 1)} fits.",
            place=profiler.place,
        )
    yield from _disk(profiler, kernels * steps, trace * steps)


def _disk(profiler: ObservedProfiler, kernels: float, trace: float) -> Iterator[Mistake]:
    raw = estimate_footprint(from_mapping(profiler.request)).bytes_per_kernel * kernels
    free = shutil.disk_usage(Path.cwd()).free
    if raw + trace > free:
        yield Mistake(
            name="disk-full",
            level=Severity.ERROR,
            title="The results would not fit the disk",
            evidence=f"About {size_text(raw + trace)} (raw data of {kernels:.0f} kernels and the timeline);"
            f" {size_text(free)} are free here.",
            fix="Record fewer steps, or name a directory on another disk.",
            place=profiler.place,
        )
