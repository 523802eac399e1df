"""
What MindSpore's CPU profiler leaves (mindspore_profiler.md 11, 13), as columns.

``cpu_op_execute_timestamp_<d>.txt`` has one line per distinct name with all its launches;
``cpu_framework_<d>.txt`` one line per launch, in the order in which they were recorded.
"""

from __future__ import annotations

from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
from attrs import evolve, frozen

from drynpu.arrays import I32, I64
from drynpu_mindspore.capture._captured import NO_TOTALS

_NS_PER_MS = 1_000_000
_UNKNOWN = ";;"
"""How the line of a launch begins of which the profiler knows nothing but name and time (pyboost operators)."""


@frozen(eq=False, kw_only=True)
class Launches:
    """
    Launches in the order of their starts; every column has shape ``[n]``.

    ``names`` are as MindSpore writes them: with scope (``Default/network-Net/fc-Dense/MatMul-op0``) from a graph,
    ``Default/Conv2D-op0`` or ``MatMul`` in PyNative. ``described[description[i]]`` is what ``cpu_framework`` says of
    the launch (``MatMul;MatMul-op0;<graph>;input_1:[2, 3];...``), -1 where it says nothing.
    """

    names: tuple[str, ...]
    name: I32
    start_ns: I64
    """Unix time."""
    end_ns: I64
    thread: I64
    """As MindSpore writes it, which is always 0 on the CPU; :func:`on_threads` fills in the real ones."""
    described: tuple[str, ...]
    description: I32

    def __len__(self) -> int:
        return len(self.name)


def read_launches(directory: Path) -> Launches:
    """
    Return the launches in the profiler's files in *directory*; files that are not there give none.

    The names of the files end in the number in ``RANK_ID``, or in 0.
    """
    times, recorded = (
        next(directory.glob(f"{kind}_*.txt"), directory / kind)
        for kind in ("cpu_op_execute_timestamp", "cpu_framework")
    )
    names, name, table = _timestamps(_lines(times))
    start = table["start_ns"].to_numpy()
    length = np.rint(table["duration_ms"].to_numpy() * _NS_PER_MS).astype(np.int64)
    order = np.argsort(start, kind="stable")
    name = name[order]
    described, description = _descriptions(_lines(recorded), names, name)
    return Launches(
        names=names,
        name=name,
        start_ns=start[order],
        end_ns=(start + length)[order],
        thread=table["thread"].to_numpy()[order],
        described=described,
        description=description,
    )


def read_pool(directory: Path, begin_ns: int) -> I64:
    """
    Return Unix ns, bytes allocated and bytes reserved after each event of MindSpore's memory pool, int64 ``[n, 3]``.

    The profiler leaves them in ``cpu_ms_memory_record``, for all times at which it ran in this process; those before
    *begin_ns* are left out. There are none where it was not asked for memory.
    """
    path = next(directory.glob("cpu_ms_memory_record_*.txt"), None)
    if path is None:
        return NO_TOTALS
    table = pl.read_csv(path, columns=[0, 1, 2], schema_overrides=[pl.Int64] * 4)
    totals = table.to_numpy().astype(np.int64).reshape(-1, 3)
    return totals[totals[:, 0] >= begin_ns]


def on_threads(launches: Launches, events: I64) -> Launches:
    """
    Return the launches with the threads of MindSpore's own *events* (start, end, thread; int64 ``[m, 3]``).

    The profiler times a launch from outside and the event times it from inside, so the middle of the event lies in the
    launch. A launch without an event keeps its thread.
    """
    if not len(events):
        return launches
    middle = (events[:, 0] + events[:, 1]) // 2
    order = np.argsort(middle, kind="stable")
    at = np.minimum(np.searchsorted(middle[order], launches.start_ns), len(order) - 1)
    inside = (launches.start_ns <= middle[order][at]) & (middle[order][at] <= launches.end_ns)
    return evolve(launches, thread=np.where(inside, events[order, 2][at], launches.thread))


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []


def _timestamps(lines: list[str]) -> tuple[tuple[str, ...], I32, pl.DataFrame]:
    """Return distinct names, the name of every launch, and the launches; a line that is cut short is left out."""
    parts = [line.split(";") for line in lines]
    complete = [part for part in parts if len(part) == 3 and part[2].strip()]
    counts = [part[2].count(" ") + (not part[2].endswith(" ")) for part in complete]
    text = "\n".join(part[2].strip().replace(" ", "\n") for part in complete)
    schema = {"start_ns": pl.Int64, "duration_ms": pl.Float64, "thread": pl.Int64}
    table = pl.read_csv(StringIO(text), has_header=False, schema=schema) if text else pl.DataFrame(schema=schema)
    names = tuple(part[0] for part in complete)
    return names, np.repeat(np.arange(len(names), dtype=np.int32), counts), table


def _descriptions(lines: list[str], names: tuple[str, ...], name: I32) -> tuple[tuple[str, ...], I32]:
    """
    Return the distinct lines, and the line of each launch (-1 for none).

    A line has the last part of a launch's name, or no name. Kernels of a graph may run on several threads, so the order
    of the lines differs a little from the order of the starts: the k-th line of a name belongs to its k-th launch.
    Where a name has another number of lines than of launches, its lines are not used.
    """
    described = pl.Series(lines, dtype=pl.String)
    distinct = described.unique().sort()
    line = distinct.search_sorted(described).to_numpy() if lines else np.empty(0, np.int64)
    short = [name.rpartition("/")[2] for name in names]
    places = {text: number for number, text in enumerate(dict.fromkeys(short))}
    group = np.array([places[text] for text in short] or [0], np.int64)[name]
    texts = tuple(distinct.to_list())
    labels = [text.split(";", 2)[1] if text.count(";") > 1 else "" for text in texts]
    line_group = np.array([places.get(text, -1) for text in labels] or [0], np.int64)[line]
    launch_line = np.full(len(name), -1, np.int32)
    wanted, recorded = (
        np.bincount(group, minlength=len(places)),
        np.bincount(line_group[line_group >= 0], minlength=len(places)),
    )
    kept = np.flatnonzero(wanted == recorded)
    launches = np.flatnonzero(np.isin(group, kept))
    records = np.flatnonzero(np.isin(line_group, kept))
    launches = launches[np.argsort(group[launches], kind="stable")]
    records = records[np.argsort(line_group[records], kind="stable")]
    launch_line[launches] = line[records]
    return texts, launch_line
