"""What launched an event of the timeline, and what an event launched (torch_npu_profiler.md 5.3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import polars as pl
from attrs import frozen

from drynpu.analysis.launches import mindspore_launches
from drynpu.analysis.links import link_operators
from drynpu.tables import Profile
from drynpu_pages.tracks._tracks import Spot, TimelineIndex

_MOST = 200
_ON_STREAMS = pl.col("stream_id") >= 0


@frozen
class Launches:
    """
    Events on the way from an operator to the device.

    Attributes
    ----------
    before:
        What led to an event: operator, entries of the task queue, call of the toolkit.
    after:
        What it put on the devices, by start; the first of many.
    count:
        How many these are in all.
    """

    before: Sequence[Spot] = ()
    after: Sequence[Spot] = ()
    count: int = 0


def launches_of(profile: Profile, index: TimelineIndex, spot: Spot) -> Launches:
    """Return what led to an event and what it launched; empty where nothing is known."""
    source, row = index.tracks[spot.track].source, int(index.lane(spot).row[spot.place])
    finder = _Finder(profile, index)
    if source in ("tasks", "communication_ops"):
        return Launches(before=finder.before(source, row))
    if source == "host_ops":
        start, end = index.times(spot)
        tid = profile.compact("host_ops", "tid")["tid"][row]
        links = link_operators(profile).kernel_op
        return finder.work(links.filter((pl.col("op_tid") == tid) & pl.col("op_start_ns").is_between(start, end)))
    if source == "framework_events":
        start, end = index.times(spot)
        known = mindspore_launches(profile)
        tid = profile.frame("framework_events")["tid"][row]
        return finder.work(
            known.filter((pl.col("launch_tid") == tid) & pl.col("launch_start_ns").is_between(start, end))
        )
    if source == "queue":
        return finder.entry(row)
    if source == "api":
        connection = profile.compact("api", "connection_id")["connection_id"][row]
        return finder.connected(connection)
    return Launches()


@frozen
class _Finder:
    profile: Profile
    index: TimelineIndex

    def before(self, source: str, row: int) -> Sequence[Spot]:
        """Return the operator, the entries of the task queue and the call behind work on a device."""
        work = self._work_row(source, row)
        place = (pl.col("device_id") == work["device_id"]) & (pl.col("start_ns") == work["start_ns"])
        place &= pl.col("connection_id") == work["connection_id"]
        place &= _ON_STREAMS if source == "tasks" else ~_ON_STREAMS
        operator = link_operators(self.profile).kernel_op.filter(place)
        spots: list[Spot | None] = []
        for op, correlation in operator.select("op_id", "correlation_id").head(1).iter_rows():
            spots += [*self._rows("host_ops", [op]), *self._entries(correlation)]
        spots += self._framework_event(place)
        calls = self.profile.compact("api", "connection_id").with_row_index("row")
        spots += self._rows("api", calls.filter(pl.col("connection_id") == work["connection_id"])["row"])
        return [each for each in spots if each is not None]

    def _framework_event(self, place: pl.Expr) -> list[Spot | None]:
        """Return the event of MindSpore that launched the work at a place."""
        events = self.profile.frame("framework_events").with_row_index("row")
        if events.is_empty():
            return []
        launch = mindspore_launches(self.profile).filter(place)
        columns = launch.select("launch", "launch_tid", "launch_start_ns").head(1)
        for name, tid, start in columns.iter_rows():
            same = (pl.col("name") == name) & (pl.col("tid") == tid) & (pl.col("start_ns") == start)
            return self._rows("framework_events", events.filter(same)["row"].head(1))
        return []

    def work(self, linked: pl.DataFrame) -> Launches:
        """Return the events of work on the devices; *linked* has its device, stream and start."""
        on_streams = linked.filter(_ON_STREAMS).select("device_id", "stream_id", "start_ns").unique()
        tasks = self.profile.compact("tasks", "device_id", "stream_id", "start_ns").with_row_index("row")
        rows = tasks.join(on_streams, on=["device_id", "stream_id", "start_ns"], how="semi")
        collectives = linked.filter(~_ON_STREAMS).select("device_id", "start_ns").unique()
        operations = self.profile.communication_ops.with_row_index("row")
        joint = operations.join(collectives, on=["device_id", "start_ns"], how="semi")
        return self._after(rows, joint)

    def connected(self, connection: int) -> Launches:
        """Return the events that a call of the toolkit led to."""
        same = pl.col("connection_id") == connection
        tasks = self.profile.compact("tasks", "connection_id", "start_ns").with_row_index("row").filter(same)
        return self._after(tasks, self.profile.communication_ops.with_row_index("row").filter(same))

    def entry(self, row: int) -> Launches:
        """Return the other side of an entry of the task queue, its operator, and what it launched."""
        correlation = self.profile.compact("queue", "correlation_id")["correlation_id"][row]
        linked = link_operators(self.profile).kernel_op.filter(pl.col("correlation_id") == correlation)
        launches = self.work(linked)
        before = [*self._rows("host_ops", linked["op_id"].unique()), *self._entries(correlation)]
        return Launches([each for each in before if each is not None], launches.after, launches.count)

    def _after(self, tasks: pl.DataFrame, collectives: pl.DataFrame) -> Launches:
        spots = self._rows("tasks", tasks.sort("start_ns")["row"].head(_MOST))
        spots += self._rows("communication_ops", collectives.sort("start_ns")["row"].head(_MOST))
        known = [each for each in spots if each is not None]
        return Launches((), sorted(known, key=self.index.times)[:_MOST], tasks.height + collectives.height)

    def _entries(self, correlation: int) -> list[Spot | None]:
        if self.profile.queue.is_empty():
            return []
        queue = self.profile.compact("queue", "correlation_id").with_row_index("row")
        return self._rows("queue", queue.filter(pl.col("correlation_id") == correlation)["row"])

    def _rows(self, source: str, rows: Iterable[int]) -> list[Spot | None]:
        return [self.index.spot_of(source, row, self._start(source, row)) for row in rows]

    def _start(self, source: str, row: int) -> int:
        start: int = self._table(source)["start_ns"][row]
        return start

    def _table(self, source: str) -> pl.DataFrame:
        if source in ("communication_ops", "framework_events"):
            return self.profile.communication_ops if source == "communication_ops" else self.profile.frame(source)
        return self.profile.compact(source, "start_ns")

    def _work_row(self, source: str, row: int) -> dict[str, int]:
        columns = ["device_id", "connection_id", "start_ns"]
        table = self.profile.communication_ops if source != "tasks" else self.profile.compact("tasks", *columns)
        return dict(zip(columns, table.select(columns).row(row), strict=True))
