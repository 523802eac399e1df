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
    """As MindSpore writes it: 0 throughout on the CPU, until :func:`on_threads` knows better."""
    described: tuple[str, ...]
    description: I32

    def __len__(self) -> int:
        return len(self.name)


def read_launches(directory: Path) -> Launches:
    """
    Return what the profiler left in *directory*; nothing for files that are not there.

    Files bear the number that ``RANK_ID`` says, or 0.
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


def on_threads(launches: Launches, events: I64) -> Launches:
    """
    Return the launches on the threads that MindSpore's own *events* tell: start, end, thread, int64 ``[m, 3]``.

    A launch is told from outside by the profiler and from inside by the event, which so lies in its middle; one without
    an event stays where it was.
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
    whole = [part for part in parts if len(part) == 3 and part[2].strip()]
    counts = [part[2].count(" ") + (not part[2].endswith(" ")) for part in whole]
    text = "\n".join(part[2].strip().replace(" ", "\n") for part in whole)
    schema = {"start_ns": pl.Int64, "duration_ms": pl.Float64, "thread": pl.Int64}
    table = pl.read_csv(StringIO(text), has_header=False, schema=schema) if text else pl.DataFrame(schema=schema)
    names = tuple(part[0] for part in whole)
    return names, np.repeat(np.arange(len(names), dtype=np.int32), counts), table


def _descriptions(lines: list[str], names: tuple[str, ...], name: I32) -> tuple[tuple[str, ...], I32]:
    """
    Pair the lines with the launches.

    A line bears the last part of a launch's name, or none. Kernels of a graph may run on several threads, so that the
    order of the lines is not quite that of the starts; so the k-th line of a name belongs to its k-th launch. Where
    there are not as many lines as launches of a name, none of them is used.
    """
    described = pl.Series(lines, dtype=pl.String)
    distinct = described.unique().sort()
    line = distinct.search_sorted(described).to_numpy() if lines else np.empty(0, np.int64)
    short = [name.rpartition("/")[2] for name in names]
    places = {text: number for number, text in enumerate(dict.fromkeys(short))}
    group = np.array([places[text] for text in short] or [0], np.int64)[name]
    texts = tuple(distinct.to_list())
    told = [text.split(";", 2)[1] if text.count(";") > 1 else "" for text in texts]
    of_line = np.array([places.get(text, -1) for text in told] or [0], np.int64)[line]
    found = np.full(len(name), -1, np.int32)
    wanted, lines_of = (
        np.bincount(group, minlength=len(places)),
        np.bincount(of_line[of_line >= 0], minlength=len(places)),
    )
    kept = np.flatnonzero(wanted == lines_of)
    launches = np.flatnonzero(np.isin(group, kept))
    records = np.flatnonzero(np.isin(of_line, kept))
    launches = launches[np.argsort(group[launches], kind="stable")]
    records = records[np.argsort(of_line[records], kind="stable")]
    found[launches] = line[records]
    return texts, found
