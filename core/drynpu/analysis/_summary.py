"""The short account of a profile that a user reads first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
from attrs import field, frozen

from drynpu._progress import at_stage
from drynpu.analysis._absent_files import AbsentFile, absent_files
from drynpu.analysis._graph import GraphIterations, graph_iterations
from drynpu.analysis._intervals import step_intervals_us, total_interval_us
from drynpu.analysis._memory import MEMORY_RECORD
from drynpu.analysis._steps import step_ranges
from drynpu.analysis.launches import mindspore_step_trace, mindspore_steps
from drynpu.analysis.overlaps import OVERLAP_KINDS, STEP_TRACE, overlap, step_trace
from drynpu.kernels import UNMAPPED_SUFFIX
from drynpu.layouts.operator_memory import NPU_DEVICE_TYPE
from drynpu.options import Clock
from drynpu.tables import Profile
from drynpu.writers.folders import FRAMEWORK_OUTPUT, TOOLKIT_OUTPUT
from drynpu.writers.number_text import UNKNOWN

_POOLS = ("PTA", "MindSpore")
"""Components of memory_record that are pools of a framework."""


@frozen
class KernelShare:
    """
    Kernels of one type on one kind of core.

    ``count`` has all of them, ``total_us`` the time of those whose time is known (``None``: of none), ``ratio`` its
    share of all kernel time, 0 to 1.
    """

    op_type: str
    core: str
    count: int
    total_us: float | None
    ratio: float


@frozen
class Busy:
    """How a device spent the time from its first to its last event; shares of it, 0 to 1."""

    device_id: int
    span_us: float
    computing: float
    communication: float
    communication_not_overlapped: float
    free: float


@frozen(eq=False, kw_only=True)
class Summary:
    """
    What a profile says in a few lines.

    ``chip`` and ``clock`` are what the simulation wrote into the metadata, ``N/A`` for a genuine profile without it.
    ``served_by`` is what played the NPU for the framework, ``N/A`` where there is only one such thing.
    ``steps`` has the columns of ``step_trace``. ``unmapped`` counts kernels of operators without a rule by name,
    ``unknown`` by type the kernels whose time is not known.
    Peaks are bytes, ``None`` if memory was not recorded. ``files`` maps every deliverable to its size in bytes.
    ``iterations`` are iterations of compiled graphs.
    ``missing`` names what results that others wrote do not hold; ``None`` for a profile with raw data.
    ``kernel_interval_us`` holds ``kernel_us`` four times out of five, each pair of ``step_intervals_us`` the time of
    the step in that row; ``None`` where times are measured, as for steps on the clock ``wall``.
    ``role`` says whether graphs of a compiled model were trained; empty where none ran.
    ``absent`` are the files that the options ask for and that are not there.
    """

    path: Path
    chip: str
    clock: str
    level: str
    device_ids: tuple[int, ...]
    steps: pl.DataFrame = field(repr=False)
    kernels: tuple[KernelShare, ...]
    kernel_count: int
    kernel_us: float
    unmapped: Mapping[str, int]
    busy: tuple[Busy, ...]
    peak_allocated_bytes: int | None
    peak_reserved_bytes: int | None
    files: Mapping[str, int]
    notes: tuple[str, ...]
    missing: tuple[str, ...] | None = None
    unknown: Mapping[str, int] = field(factory=dict)
    served_by: str = UNKNOWN
    iterations: tuple[GraphIterations, ...] = ()
    kernel_interval_us: tuple[float, float] | None = None
    step_intervals_us: tuple[tuple[float, float], ...] | None = None
    absent: tuple[AbsentFile, ...] = ()
    role: str = ""

    @property
    def in_short(self) -> str:
        """What ran, in a few words: graphs, kernels, their time."""
        runs = sum(graph.count for graph in self.iterations)
        parts = [self.role, f"{runs} iterations" if runs else "", f"{self.kernel_count} kernels"]
        return ", ".join([*filter(None, parts), f"{self.kernel_us / 1000:.3f} ms"])

    @property
    def unmapped_count(self) -> int:
        """Number of kernels of operators without a rule."""
        return sum(self.unmapped.values())


def summarise(profile: Profile) -> Summary:
    """Return the summary of *profile*; works with any part of it absent."""
    at_stage("Summing up")
    overlaps = overlap(profile)
    stated = _pool_totals(profile)
    memory = profile.allocations.filter(pl.col("device_type") == NPU_DEVICE_TYPE)
    totals = profile.frame("memory_totals")
    kernels = profile.compact("kernels", "op_type", "name", "task_type", "duration_ns")
    shares, chip = _kernel_shares(kernels), _simulated_as(profile, "chip")
    steps, kernel_us = _steps(profile, overlaps), int(kernels["duration_ns"].sum()) / 1000
    interval = total_interval_us(((each.op_type, each.total_us or 0.0) for each in shares), chip)
    clock = _simulated_as(profile, "clock")
    # On the clock ``wall`` a step is as long as it was on this CPU, and says nothing of a device.
    modelled = interval if clock != Clock.WALL.value else None
    files = _files(profile)
    return Summary(
        path=profile.path,
        chip=chip,
        clock=clock,
        level=profile.level,
        device_ids=profile.device_ids,
        steps=steps,
        kernels=shares,
        kernel_count=kernels.height,
        kernel_us=kernel_us,
        unmapped=_unmapped(profile),
        unknown=_unknown(kernels),
        busy=_busy(overlaps),
        peak_allocated_bytes=_peak(
            memory["total_allocated_bytes"], totals["allocated_bytes"], stated["allocated_bytes"]
        ),
        peak_reserved_bytes=_peak(memory["total_reserved_bytes"], totals["reserved_bytes"], stated["reserved_bytes"]),
        files=files,
        absent=absent_files(profile, files),
        role=_role(kernels) if profile.frame("iterations").height else "",
        missing=None if profile.results is None else _missing(profile),
        notes=(*profile.notes, *_run_notes(profile)),
        served_by=_simulated_as(profile, "served_by"),
        kernel_interval_us=interval,
        iterations=graph_iterations(profile),
        step_intervals_us=None if modelled is None else step_intervals_us(steps, modelled, kernel_us),
    )


def _run_notes(profile: Profile) -> tuple[str, ...]:
    """Return what the recording said of its run."""
    simulated = profile.metadata.get("drynpu")
    notes = simulated.get("run_notes") if isinstance(simulated, Mapping) else None
    return tuple(map(str, notes)) if isinstance(notes, list) else ()


def _steps(profile: Profile, overlaps: pl.DataFrame) -> pl.DataFrame:
    """Return the step trace as the profiler that left the profile counts it."""
    if profile.product != "mindspore" or "step_trace" in (profile.results or {}):
        return step_trace(profile, step_ranges(profile), overlaps)
    steps = mindspore_steps(profile)
    if overlaps.is_empty():
        return pl.DataFrame(schema=STEP_TRACE)
    trace = mindspore_step_trace(profile, steps, overlaps, with_host=bool(profile.host_ops.height))
    times = [
        (pl.col(f"{name.removesuffix('_us')}_ns") / 1000).alias(name) for name in STEP_TRACE if name.endswith("_us")
    ]
    step = pl.col("step") if steps.height else pl.lit("")
    device = pl.lit(profile.device_ids[0] if profile.device_ids else 0, pl.Int64)
    return trace.select(device.alias("device_id"), step.alias("step"), *times)


def _simulated_as(profile: Profile, key: str) -> str:
    """Return a value that the simulation noted in the metadata: under ``drynpu``, or as ``drynpu_<key>``."""
    simulated = profile.metadata.get("drynpu")
    value = simulated.get(key) if isinstance(simulated, Mapping) else profile.metadata.get(f"drynpu_{key}")
    return str(value) if value else UNKNOWN


_TRAINS = r"^(Resource)?(Sparse)?Apply|Backprop|Grad(D|V\d)?$|^Lamb|^Adam"
"""In types of kernels that a graph has only for training."""
_EVALUATES = r"^Assign(Add|Sub)|CrossEntropy|Loss|^L2Loss"
"""In types of kernels of a graph that compares with what is expected, or adds a metric up."""


def _role(kernels: pl.DataFrame) -> str:
    types = kernels["op_type"].cast(pl.String).unique()
    if types.str.contains(_TRAINS).any():
        return "training"
    return "evaluation" if types.str.contains(_EVALUATES).any() else "prediction"


def _kernel_shares(kernels: pl.DataFrame) -> tuple[KernelShare, ...]:
    whole = max(int(kernels["duration_ns"].sum()), 1)
    # Without types, at Level0, the name says what a kernel is, but for the number that tells it from others.
    name = pl.col("name").cast(pl.String).str.replace(r"_\d+$", "").str.replace(r"([^V\d])\d+$", "${1}")
    typed = pl.col("op_type").cast(pl.String)
    rows = (
        kernels.with_columns(pl.when(typed.is_in(["", UNKNOWN])).then(name).otherwise(typed).alias("op_type"))
        .group_by("op_type", "task_type")
        .agg(pl.len().alias("count"), pl.col("duration_ns").sum().alias("total"))
        .with_columns(pl.col("op_type", "task_type").cast(pl.String))
        .sort("total", "op_type", "task_type", descending=[True, False, False])
    )
    return tuple(
        KernelShare(op_type or UNKNOWN, core or UNKNOWN, count, total / 1000 if total else None, total / whole)
        for op_type, core, count, total in rows.iter_rows()
    )


def _unknown(kernels: pl.DataFrame) -> dict[str, int]:
    """Return how many kernels of each type end as they start, which says that nobody knows how long they took."""
    rows = kernels.filter(pl.col("duration_ns") == 0).group_by(pl.col("op_type").cast(pl.String)).len()
    return dict(rows.sort("len", "op_type", descending=[True, False]).iter_rows())


def _unmapped(profile: Profile) -> dict[str, int]:
    """
    Return how often operators without a rule ran, most frequent first.

    The metadata count them as they were recorded. Where there are none, the names of kernels tell, by type: a graph
    calls its kernels as their nodes.
    """
    simulated = profile.metadata.get("drynpu")
    counted = simulated.get("unmapped_operators") if isinstance(simulated, Mapping) else None
    if isinstance(counted, Mapping):
        known = {str(name): count for name, count in counted.items() if isinstance(count, int)}
        return dict(sorted(known.items(), key=lambda item: -item[1]))
    rows = profile.kernels.filter(pl.col("name").str.ends_with(UNMAPPED_SUFFIX)).group_by("op_type").len()
    return dict(rows.sort("len", "op_type", descending=[True, False]).iter_rows())


def _busy(overlaps: pl.DataFrame) -> tuple[Busy, ...]:
    length = pl.col("end_ns") - pl.col("start_ns")
    rows = overlaps.group_by("device_id").agg(
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("span"),
        *(length.filter(pl.col("kind") == kind).sum().alias(kind) for kind in OVERLAP_KINDS),
    )
    return tuple(
        Busy(device, span / 1000, *(part / max(span, 1) for part in parts))
        for device, span, *parts in rows.sort("device_id").iter_rows()
    )


def _peak(*totals: pl.Series) -> int | None:
    """Return the peak of the first totals that there are: after each allocation, or of the pool as a whole."""
    peaks = [values.max() for values in totals]
    return next((int(peak) for peak in peaks if isinstance(peak, int)), None)


def _pool_totals(profile: Profile) -> pl.DataFrame:
    """Return what results say of the pool of the framework; the totals of the toolkit's own pool are apart."""
    records = (profile.results or {}).get("memory_record", pl.DataFrame(schema=MEMORY_RECORD))
    return records.filter(pl.col("component").is_in(_POOLS))


def _missing(profile: Profile) -> tuple[str, ...]:
    """Return what a recording may have, and these results do not."""
    stated = profile.results or {}
    shapes = profile.kernels.select((pl.col("input_shapes") != "").any()).item() if profile.kernels.height else True
    parts = {
        "operators of the framework": profile.host_ops.height or profile.frame("framework_events").height,
        "calls of the toolkit": profile.api.height,
        "kernels": profile.kernels.height,
        "shapes of kernels": shapes,
        "counters of kernels": profile.pmu_columns,
        "collectives": profile.communication_ops.height,
        "tasks of collectives": profile.frame("communication_tasks").height or not profile.communication_ops.height,
        "steps": "step_trace" in stated or "step_ranges" in stated or step_ranges(profile).height,
        "memory of operators": "operator_memory" in stated,
        "memory over time": "memory_record" in stated,
    }
    return tuple(name for name, known in parts.items() if not known)


def _files(profile: Profile) -> dict[str, int]:
    if profile.results is not None:
        root = profile.path if profile.path.is_dir() else profile.path.parent
        return {str(file.relative_to(root)): file.stat().st_size for file in profile.result_files}
    folders = [profile.path / FRAMEWORK_OUTPUT]
    if profile.prof_path is not None:
        folders.append(profile.prof_path / TOOLKIT_OUTPUT)
    results = (file for folder in folders if folder.is_dir() for file in sorted(folder.iterdir()) if file.is_file())
    return {str(file.relative_to(profile.path)): file.stat().st_size for file in results}
