"""A synthetic rank as texts, made from the files of a recorded one."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from drynpu.layouts.communication_files import START_TIME
from drynpu.layouts.result_files import (
    COMMUNICATION_FILE,
    COMMUNICATION_MATRIX_FILE,
    KERNEL_DETAILS_FILE,
    STEP_TRACE_TIME_FILE,
)
from drynpu.raw import ClockAnchors
from drynpu.writers.files import new_file
from drynpu.writers.folders import FRAMEWORK_OUTPUT
from drynpu.writers.number_text import us_text
from drynpu.writers.summary_json import DEVICE_ID
from drynpu_cluster import _facts as f
from drynpu_cluster.synth._groups import GroupCopies
from drynpu_cluster.synth._linked import LinkedRank
from drynpu_cluster.synth._plan import TEXT_TITLES, RankPlan, changed_step, changed_times, step_key
from drynpu_cluster.synth._warp import Span, Warp, build_warp, on_grid

FILES = (STEP_TRACE_TIME_FILE, COMMUNICATION_FILE, COMMUNICATION_MATRIX_FILE, KERNEL_DETAILS_FILE)
"""Files of a recorded rank that a synthetic one has as well."""

_START, _DURATION, _NAME = "Start Time(us)", "Duration(us)", "Name"
Document = dict[str, Any]


def write_text_rank(
    source: Path,
    output: Path,
    plan: RankPlan,
    groups: GroupCopies,
    linked: LinkedRank | None,
    anchors: ClockAnchors | None = None,
) -> Warp:
    """
    Write the results of a synthetic rank to the folder *output*, from those in the directory *source*.

    With the links of a topology its communication comes from *linked*. With *anchors* kernels begin and end on
    ticks of the device. Returns the map of times.
    """
    recorded = source / FRAMEWORK_OUTPUT
    _steps(recorded / FILES[0], output / FILES[0], plan)
    times = _document(recorded / FILES[1])
    if times and linked is None:
        _write(output / FILES[1], _times(times, plan, groups))
    matrix = _document(recorded / FILES[2]) if linked is None else {}
    if matrix:
        _write(output / FILES[2], _matrix(matrix, plan, groups))
    for name, document in (linked.documents if linked is not None else {}).items():
        _write(output / name, document)
    every = tuple(spans(times, plan)) if linked is None else linked.spans
    return _kernels(recorded / FILES[3], output / FILES[3], plan, every, _names(times, groups), anchors)


def _document(path: Path) -> Document:
    return dict(orjson.loads(path.read_bytes())) if path.is_file() else {}


def _write(path: Path, document: object) -> None:
    with new_file(path) as stream:
        stream.write(orjson.dumps(document))


def _steps(source: Path, path: Path, plan: RankPlan) -> None:
    if not source.is_file():
        return
    with source.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    titles = rows[0]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(titles)
    for row in rows[1:]:
        cells = dict(zip(titles, row, strict=True))
        numbers = {title: value for title in titles if (value := _number(title, cells[title])) is not None}
        shown = changed_step(numbers, plan.steps[cells["Step"]], TEXT_TITLES)
        if plan.device is not None and DEVICE_ID in cells:
            cells[DEVICE_ID] = str(plan.device)
        writer.writerow([round(shown[title], 3) if title in shown else cells[title] for title in titles])
    with new_file(path) as stream:
        stream.write(text.getvalue().encode())


def _number(title: str, text: str) -> float | None:
    """Return a cell as a number; names and what is no number stay as they are."""
    if title in ("Step", DEVICE_ID):
        return None
    try:
        return float(text)
    except ValueError:
        return None


def _changed(document: Document, groups: GroupCopies, change: Callable[[str, str, Document], Document]) -> Document:
    """
    Return ``{step: {kind: {name: content}}}`` with changed contents and names; sums of a file are left out.

    *change* gets the number of the step, ``<kind>/<name>`` and the content.
    """
    return {
        step: {
            kind: {
                groups.renamed(name): change(step_key(step), f"{kind}/{name}", content)
                for name, content in contents.items()
                if not name.startswith("Total")
            }
            for kind, contents in kinds.items()
        }
        for step, kinds in document.items()
    }


def _times(document: Document, plan: RankPlan, groups: GroupCopies) -> Document:
    def change(step: str, place: str, content: Document) -> Document:
        planned = plan.steps[step]
        times = changed_times(content[f.TIME_INFO], planned, collective=place.startswith(f.COLLECTIVE))
        moved = {
            transport: _moved(values, planned.transit)
            for transport, values in content.get(f.BANDWIDTH_INFO, {}).items()
        }
        return {f.TIME_INFO: times, f.BANDWIDTH_INFO: moved}

    return _changed(document, groups, change)


def _moved(values: Document, factor: float) -> Document:
    """Return bytes of a transport with times that take a factor."""
    time_ms = values.get(f.TRANSIT, 0) * factor
    sizes = {size: [count, spent * factor] for size, (count, spent) in values.get(f.SIZES, {}).items()}
    changed = {**values, f.TRANSIT: time_ms, f.RATE: f.ratio(values.get(f.SIZE, 0), time_ms)}
    return {**changed, f.SIZES: sizes} if f.SIZES in values else changed


def _matrix(document: Document, plan: RankPlan, groups: GroupCopies) -> Document:
    def change(step: str, place: str, links: Document) -> Document:
        key = place.rpartition("@")[2]
        changed = {}
        for link, content in links.items():
            source, _, end = link.partition("-")
            ends = groups.link(source, end, key)
            moved = _moved(content, plan.link_change(step, ends))
            if moved.get(f.OPERATOR_NAME):
                moved[f.OPERATOR_NAME] = groups.renamed_operator(moved[f.OPERATOR_NAME], key)
            changed["-".join(ends)] = moved
        return changed

    return _changed(document, groups, change)


def spans(times: Mapping[str, Mapping[str, Mapping[str, Document]]], plan: RankPlan) -> Iterator[Span]:
    """Yield the communication operators of a file with the durations that they have in the plan."""
    for step, kinds in times.items():
        planned = plan.steps[step_key(step)]
        for kind, contents in kinds.items():
            for name, content in contents.items():
                known = content[f.TIME_INFO]
                if name.startswith("Total"):
                    continue
                new = changed_times(known, planned, collective=kind == f.COLLECTIVE)
                start_ns = round(known[START_TIME] * 1000)
                yield Span(start_ns, round(known[f.ELAPSE] * 1e6), round(new[f.ELAPSE] * 1e6), planned.alone)


def _names(times: Document, groups: GroupCopies) -> Mapping[str, str]:
    """Return names of operators -> their names in the copy, where they change."""
    every = {name for kinds in times.values() for contents in kinds.values() for name in contents}
    pairs = {name.rpartition("@")[0]: groups.renamed(name).rpartition("@")[0] for name in every}
    return {name: new for name, new in pairs.items() if name != new}


def _kernels(
    source: Path,
    path: Path,
    plan: RankPlan,
    collectives: Sequence[Span],
    names: Mapping[str, str],
    anchors: ClockAnchors | None,
) -> Warp:
    """Write the kernels at their times in the timeline of the rank, and return it; all else stands as recorded."""
    alone = next(iter(plan.steps.values())).alone
    table = pl.read_csv(source, infer_schema=False) if source.is_file() else pl.DataFrame()
    if table.is_empty() or not {_START, _DURATION} <= set(table.columns):
        return build_warp(min((span.start_ns for span in collectives), default=0), collectives, alone)
    start, duration = (_ns(pl.col(title)) for title in (_START, _DURATION))
    numbers = table.select(start.alias("start"), (start + duration).alias("end"))
    warp = build_warp(int(numbers["start"].to_numpy().min()), collectives, alone)
    moved = [warp(numbers[name].to_numpy()) for name in ("start", "end")]
    begin, end = (pl.Series(values if anchors is None else on_grid(anchors, values)) for values in moved)
    tab = "\t" if table[_START].str.ends_with("\t").any() else ""
    shown = table.with_columns(
        pl.select(us_text(pl.lit(begin), tab)).to_series().alias(_START),
        pl.select(us_text(pl.lit(end - begin))).to_series().alias(_DURATION),
    )
    if names and _NAME in shown.columns:
        shown = shown.with_columns(pl.col(_NAME).replace(names))
    if plan.device is not None and DEVICE_ID in shown.columns:
        shown = shown.with_columns(pl.lit(str(plan.device)).alias(DEVICE_ID))
    with new_file(path) as stream:
        shown.write_csv(stream)
    return warp


def _ns(column: pl.Expr) -> pl.Expr:
    """Return us as text in whole ns: the digits are more than a float keeps."""
    parts = column.str.strip_chars().str.split_exact(".", 1)
    whole, rest = parts.struct.field("field_0"), parts.struct.field("field_1").fill_null("")
    return whole.cast(pl.Int64, strict=False).fill_null(0) * 1000 + rest.str.slice(0, 3).str.pad_end(3, "0").cast(
        pl.Int64
    )
