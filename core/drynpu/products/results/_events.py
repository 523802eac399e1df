"""Timelines (trace_view.json, msprof_*.json) to one table of events (cann_msprof.md 4.5, torch_npu_profiler.md 4.1)."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import orjson
import polars as pl
from attrs import field, frozen

from drynpu.products.results._spellings import argument_columns, spellings, us_to_ns, value

_ARGUMENTS = argument_columns()
_FIELDS = ("ph", "name", "pid", "tid", "ts", "dur", "cat", "id")
_SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    **dict.fromkeys(_FIELDS, pl.String),
    "args": pl.Struct({title: pl.String for column in _ARGUMENTS for title in column.spellings}),
}
PID_FACTOR = 1 << 10
"""Process ids of the toolkit's layers are the host's times this, plus layer and device (cann_msprof.md 4.5)."""
_HOST_SLOT = 2**5 - 1  # five bits are the device's
_LAST_NS = 2**62  # a start and a duration below this have an end that an Int64 holds


@frozen(eq=False)
class Trace:
    """
    The events of a timeline.

    Attributes
    ----------
    events:
        ``ph``, ``name``, ``pid``, ``tid``, ``cat``, ``start_ns``, ``duration_ns`` and the arguments of
        ``spellings.yaml``; metadata left out.
    processes:
        ``pid`` and ``process``, the name that is shown for it.
    threads:
        ``pid``, ``tid`` and ``thread``, the name that is shown for it.
    """

    events: pl.DataFrame = field(repr=False)
    processes: pl.DataFrame
    threads: pl.DataFrame = field(repr=False)

    def layer(self, name: str) -> pl.DataFrame:
        """Return the events of the processes that ``layers`` of ``spellings.yaml`` names, with ``device_id``."""
        shown = self.processes.filter(pl.col("process").is_in(spellings()["layers"][name]))
        events = self.events.join(shown, on="pid", how="semi", maintain_order="left")
        device = pl.col("pid") & _HOST_SLOT
        return events.with_columns(pl.when(device == _HOST_SLOT).then(0).otherwise(device).alias("device_id"))

    @property
    def unread(self) -> list[str]:
        """Names of the processes that no table is made of."""
        read = {name for names in spellings()["layers"].values() for name in names}
        return sorted(set(self.processes["process"].drop_nulls()) - read)

    @property
    def devices(self) -> list[int]:
        """Numbers of the devices whose tasks are shown."""
        return list(self.layer("hardware")["device_id"].unique().sort())

    @property
    def host_pid(self) -> int:
        """Process id of the recorded process, as the toolkit's processes carry it; 0 without any."""
        layers = [name for names in spellings()["layers"].values() for name in names]
        host = [*spellings()["layers"]["host"], *spellings()["layers"]["framework"]]
        named = self.processes.filter(pl.col("process").is_in([name for name in layers if name not in host]))
        numbers = (named["pid"] // PID_FACTOR).drop_nulls()  # a process may lack its number
        return int(numbers[0]) if numbers.len() else 0


def read_trace(files: Sequence[Path], notes: list[str]) -> Trace | None:
    """Return the events of a timeline in parts; a part that cannot be read is left out with a note."""
    parts = []
    for file in files:
        try:
            parts.append(_read(file, notes))
        except (OSError, ValueError, pl.exceptions.PolarsError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            notes.append(f"{file.name} could not be read and was left out: {reason}")
    if not parts:
        return None
    rows = pl.concat(parts)
    metadata, timed = rows.filter(pl.col("ph") == "M"), rows.filter(pl.col("ph").ne_missing("M"))
    placed = (pl.col("ph") == "C") | pl.all_horizontal(pl.col("pid", "tid").is_not_null())
    numbered = ~pl.col("cat").is_in(["enqueue", "dequeue"]) | pl.col("correlation_id").is_not_null()
    in_time = pl.col("start_ns", "duration_ns").abs() < _LAST_NS
    events = timed.filter(placed, numbered, in_time, pl.col("ph").is_not_null())
    if without := timed.height - events.height:
        said = "no usable ph, pid, tid, ts, dur or, in the task queue, correlation_id"
        notes.append(f"{without} events of the timeline have {said}, and were left out")
    named = metadata.filter(pl.col("name") == "process_name").select("pid", pl.col("label").alias("process"))
    threads = metadata.filter(pl.col("name") == "thread_name").select("pid", "tid", pl.col("label").alias("thread"))
    return Trace(
        events,
        named.unique("pid", keep="last", maintain_order=True),
        threads.unique(["pid", "tid"], keep="last", maintain_order=True),
    )


def _read(file: Path, notes: list[str]) -> pl.DataFrame:
    content = file.read_bytes()
    if content.lstrip()[:1] == b"{":
        content = orjson.dumps(orjson.loads(content).get("traceEvents", []))
    # Numbers and texts alike become text here: versions differ in which of them they write as what.
    try:
        cells = pl.read_json(BytesIO(content), schema=_SCHEMA)
    except pl.exceptions.PolarsError:
        if not isinstance(events := orjson.loads(content), list):
            raise ValueError("the file is no list of events") from None
        whole = [event for event in events if isinstance(event, dict) and isinstance(event.get("args", {}), dict)]
        cells = pl.read_json(BytesIO(orjson.dumps(whole)), schema=_SCHEMA)
        notes.append(f"{file.name}: {len(events) - len(whole)} events without members or arguments were left out")
    arguments = []
    for column in _ARGUMENTS:
        parts = [pl.col("args").struct.field(title) for title in column.spellings]
        arguments.append(value(pl.coalesce(parts), column.kind, column.spellings[0]).alias(column.name))
    return cells.select(
        "ph",
        pl.col("name").fill_null(""),
        pl.col("pid", "tid").cast(pl.Int64, strict=False),
        pl.col("cat").fill_null(""),
        us_to_ns(pl.col("ts")).alias("start_ns"),
        us_to_ns(pl.col("dur")).fill_null(0).alias("duration_ns"),
        *arguments,
    )
