"""What is approved of a profile: its tables, what follows from them, and the files that are made of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from attrs import evolve
from describe import describe, file_lines

from drynpu import DrynpuError, analysis
from drynpu.analysis import hints
from drynpu.analysis.calculation import kernel_work, scope_flops, work_totals
from drynpu.kernels import usual_calibration
from drynpu.options import ExportType
from drynpu.platforms import load_chip
from drynpu.products import export_msprof, export_msprof_db, export_result, export_stacks
from drynpu.tables import Profile
from drynpu_calibration import measured_kernels, validate_kernels
from drynpu_msprof._iteration import select_iteration
from drynpu_msprof.query import query_profile
from drynpu_pages.data_preparation import (
    loader_waits,
    pipeline_queues,
    queue_records,
    queue_status,
    suspect_operators,
)
from drynpu_pages.thread_load import thread_load

EXPORTED = datetime(2026, 1, 2, 3, 4, 5)
LONG_TABLES = ("api", "tasks", "kernels", "host_ops", "queue", "allocations", "python_calls", "gc", "communication_ops")


def tables(profile: Profile) -> Iterator[str]:
    """Yield what a profile says of itself, and all its tables."""
    for name in ("pid", "pid_name", "rank_id", "device_ids", "platform_version", "aic_mhz", "aiv_mhz", "aic_cores"):
        yield from describe(getattr(profile, name), name)
    for name in ("aiv_cores", "level", "aic_metrics", "begin_ns", "end_ns", "notes", "product", *LONG_TABLES):
        yield from describe(getattr(profile, name), name)
    for name in sorted(profile.group_tables):
        yield from describe(profile.frame(name), name)


def derived(profile: Profile) -> Iterator[str]:
    """Yield what the functions of the analysis give for a profile."""
    functions = {name: getattr(analysis, name) for name in analysis.__all__} | {
        function.__name__: function
        for function in (loader_waits, pipeline_queues, queue_records, query_profile, thread_load)
    }
    for name, function in sorted(functions.items()):
        if inspect.isfunction(function) and list(inspect.signature(function).parameters) == ["profile"]:
            yield from describe(function(profile), name)
    yield from _steps(profile)
    yield from _communication(profile)
    yield from _memory(profile)
    yield from describe(scope_flops(profile), "scope_flops")
    work = kernel_work(profile)
    yield from describe(work, "kernel_work")
    yield from describe(work_totals(work), "work_totals")
    for port in ("nic", "roce"):
        yield from describe(analysis.port_summary(profile, port), f"port_summary {port}")
    for kind in ("hbm", "ddr"):
        yield from describe(analysis.memory_averages(profile, kind), f"memory_averages {kind}")
    for metric in analysis.STACK_METRICS:
        yield from describe(analysis.stack_times(profile, metric), f"stack_times {metric}")
    queues = pipeline_queues(profile)
    yield from describe(suspect_operators(queues), "suspect_operators")
    yield from describe(queue_status(queue_records(profile)), "queue_status")
    launches = analysis.mindspore_launches(profile)
    yield from describe(analysis.scope_bars(profile, launches), "scope_bars")
    for model_id, number in (
        profile.frame("iterations").select("model_id", "iteration").unique().sort("model_id", "iteration").rows()[:6]
    ):
        yield from describe(_iteration(profile, model_id, number), f"iteration {number} of {model_id}")
    times = profile.host_ops["start_ns"].to_numpy()
    yield from describe(analysis.modules_at(profile, times), "modules_at")


def _iteration(profile: Profile, model_id: int, number: int) -> object:
    try:
        chosen = select_iteration(profile, model_id, number)
    except DrynpuError as error:
        return str(error)
    return chosen.tasks.select("start_ns", "duration_ns", "task_id")


def _steps(profile: Profile) -> Iterator[str]:
    ranges, overlaps = analysis.step_ranges(profile), analysis.overlap(profile)
    trace = analysis.step_trace(profile, ranges, overlaps)
    yield from describe(trace, "step_trace")
    for with_end in (True, False):
        starts = profile.compact("tasks", "start_ns")["start_ns"]
        yield from describe(analysis.steps_at(starts, ranges, with_end=with_end), f"steps_at {with_end}")
    steps = analysis.mindspore_steps(profile)
    for with_host in (True, False):
        found = analysis.mindspore_step_trace(profile, steps, overlaps, with_host=with_host)
        yield from describe(found, f"mindspore_step_trace {with_host}")
    for otherwise_last in (True, False):
        found = analysis.mindspore_step_at(starts, steps, otherwise_last=otherwise_last)
        yield from describe(found, f"mindspore_step_at {otherwise_last}")
    if steps.height > 1:
        chosen = analysis.select_mindspore_steps(profile, [2])
        yield from describe(chosen.tasks.select("start_ns", "duration_ns", "task_id"), "tasks of the second step")


def _communication(profile: Profile) -> Iterator[str]:
    transfers = analysis.communication_transfers(profile)
    times = analysis.communication_time(profile, transfers)
    yield from describe(times, "communication_time")
    yield from describe(analysis.communication_steps(profile, times), "communication_steps")
    yield from describe(analysis.launched_communication_steps(profile, times), "launched_communication_steps")


def _memory(profile: Profile) -> Iterator[str]:
    blocks = analysis.memory_blocks(profile)
    middle_ns = (profile.begin_ns + profile.end_ns) // 2
    for time_ns in (middle_ns, *blocks["start_ns"].head(3).to_list()):
        yield from describe(analysis.live_blocks(blocks, time_ns), "live_blocks")


def seen(profile: Profile) -> Iterator[str]:
    """Yield the timeline as it is seen whole and in parts."""
    from drynpu_pages import tracks as timeline  # a plugin, which the other approved results do without

    index = timeline.timeline_index(profile)
    tracks = range(len(index.tracks))
    yield from describe((index.start_ns, index.end_ns, index.steps), "timeline")
    for track in index.tracks:
        yield f"## {track.kind.name} {track.title}: {track.source}, device {track.device_id}, {track.events} events"
        yield from describe([(lane.start_ns, lane.end_ns, lane.code, lane.row) for lane in track.lanes], "lanes")
    whole_ns = index.end_ns - index.start_ns
    for share, pixels in ((0, 700), (0.25, 90), (0.5, 40)):
        start_ns = index.start_ns + int(share * whole_ns)
        for most_lanes, most_boxes in ((8, 3000), (2, 60)):
            boxes = timeline.visible(
                index, tracks, start_ns, index.end_ns, pixels=pixels, most_lanes=most_lanes, most_boxes=most_boxes
            )
            yield from describe(boxes, f"visible from {share} in {pixels}, {most_lanes} lanes")
            yield from describe(boxes.busy_share, "busy_share")


def advised(profile: Profile) -> Iterator[str]:
    """Yield hints, the comparison of the profile with itself, and how well the cost model tells its kernels."""
    summary = analysis.summarise(profile)
    for finding in hints.find_all(profile, summary):
        yield from describe(finding, "finding")
    half = evolve(profile, kernels=profile.kernels.head(profile.kernels.height // 2))
    comparison = analysis.compare_profiles((profile, summary), (half, analysis.summarise(half)))
    yield from describe(comparison, "compared with half of its kernels")


def joined(profiles: Sequence[Profile]) -> Iterator[str]:
    """Yield what is derived of the ranks of a run together."""
    summaries = [analysis.summarise(each) for each in profiles]
    labels = [str(each.rank_id) for each in profiles]
    steps = analysis.cluster_steps(list(zip(labels, summaries, strict=True)))
    links = analysis.cluster_links(profiles)
    yield from describe(steps, "cluster_steps")
    yield from describe(links, "cluster_links")
    yield from describe(analysis.slow_ranks(steps), "slow_ranks")
    yield from describe(analysis.slow_links(links), "slow_links")
    yield from describe(analysis.cluster_ranks(list(zip(labels, profiles, summaries, strict=True))), "cluster_ranks")
    pair = [(each, summary) for each, summary in zip(profiles, summaries, strict=True)]
    yield from describe(analysis.compare_profiles(pair[0], pair[-1]), "compare_profiles")


def predicted(profile: Profile, chip: str) -> Iterator[str]:
    """Yield the kernels of a profile as measurements of the cost model."""
    measured = measured_kernels(profile, load_chip(chip), "approved")
    yield from describe(measured, "measured_kernels")
    for by in ("family", "type"):
        yield from describe(validate_kernels(measured, usual_calibration(), by=by), f"validate_kernels {by}")


def text_files(profile: Profile, folder: Path) -> Iterator[str]:
    """Yield the deliverables in text, of the toolkit and of the framework's profiler."""
    if profile.prof_path is not None:
        export_msprof(profile, folder / "toolkit", EXPORTED)
        export_msprof(profile, folder / "toolkit_json", EXPORTED, json_tables=True)
    _export(profile, folder, ExportType.TEXT)
    for metric in analysis.STACK_METRICS:
        export_stacks(profile, folder / f"stacks_{metric}", metric)
    yield from file_lines(folder)


def databases(profile: Profile, folder: Path) -> Iterator[str]:
    """Yield the deliverables in databases."""
    if profile.prof_path is not None:
        folder.mkdir(exist_ok=True)
        export_msprof_db(profile, folder, EXPORTED)
    _export(profile, folder, ExportType.DB)
    yield from file_lines(folder)


def _export(profile: Profile, folder: Path, form: ExportType) -> None:
    if profile.path != profile.prof_path:
        directory = folder / "result"
        directory.mkdir(parents=True)
        export_result(evolve(profile, path=directory), [form])


PARTS: dict[str, Callable[..., Iterator[str]]] = {
    "tables": tables,
    "derived": derived,
    "seen": seen,
    "advised": advised,
    "text_files": text_files,
    "databases": databases,
}
"""Name of the part -> what yields its lines; parts of files need an empty folder besides the profile."""
WITH_FOLDER = ("text_files", "databases")
