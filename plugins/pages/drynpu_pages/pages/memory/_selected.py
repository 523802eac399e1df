"""The shown part of the memory: a component, a stretch of time, and a position in it."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from attrs import field, frozen

from drynpu.analysis import MEMORY_RECORD, component_memory, host_phases, live_blocks, memory_blocks, step_phases
from drynpu.tables import Profile
from drynpu.views.content import PLACE, Control
from drynpu.views.runs import Rank, View

POSITIONS = (("", "Peak"), ("begin", "Begin"), ("end", "End"))
_FIRST = ("PTA", "MindSpore", "GE", "PTA+GE", "MindSpore+GE", "WORKSPACE", "APP")
"""Components in the order in which they are offered."""
_TITLES = {
    "PTA": "PyTorch",
    "MindSpore": "MindSpore",
    "GE": "CANN (GE)",
    "WORKSPACE": "Workspace",
    "APP": "Process (APP)",
}


def title_of(component: str) -> str:
    """Return what stands for a component (``PTA``, ``PTA+GE``) on the page."""
    return " + ".join(_TITLES.get(part, part) for part in component.split("+"))


def all_records(rank: Rank) -> pl.DataFrame:
    """Return the totals over time; of a profile that knows allocations alone, the sum of what is alive."""
    records: pl.DataFrame = rank.keep("memory-records", lambda: _records(rank.profile))
    return records


def _records(profile: Profile) -> pl.DataFrame:
    record, blocks = component_memory(profile), memory_blocks(profile)
    known = set(record["component"].unique())
    further = blocks.filter(~pl.col("component").is_in(known))
    return pl.concat([record, _sums(further)]) if further.height else record


def _sums(blocks: pl.DataFrame) -> pl.DataFrame:
    key = ["component", "device_id"]
    starts = blocks.select(*key, pl.col("start_ns").alias("time_ns"), "size_bytes")
    ends = blocks.drop_nulls("end_ns").select(*key, pl.col("end_ns").alias("time_ns"), -pl.col("size_bytes"))
    events = pl.concat([starts, ends]).sort("time_ns", maintain_order=True)
    return events.with_columns(
        pl.col("size_bytes").cum_sum().over(key).alias("allocated_bytes"),
        *(pl.lit(None, pl.Int64).alias(name) for name in ("reserved_bytes", "active_bytes", "stream")),
    ).select(pl.col(name).cast(dtype) for name, dtype in MEMORY_RECORD.items())


def controls(rank: Rank) -> Sequence[Control]:
    """Return the choices of the component and of the position; a click on the curve also sets the position."""
    options = _options(all_records(rank))
    if not options:
        return ()
    return (Control("component", "Component", options), Control(PLACE, "Position", POSITIONS))


def _options(records: pl.DataFrame) -> tuple[tuple[str, str], ...]:
    pairs = records.select("component", "device_id").unique().rows()
    several = len({device for _, device in pairs}) > 1
    order = {name: place for place, name in enumerate(_FIRST)}
    ordered = sorted(pairs, key=lambda pair: (order.get(pair[0], len(order)), *pair))
    return tuple(
        (f"{name}@{device}", f"{title_of(name)}, device {device}") if several else (name, title_of(name))
        for name, device in ordered
    )


@frozen(eq=False)
class Selected:
    """
    What is shown.

    Attributes
    ----------
    records:
        Totals of the component in the stretch of time, by time; at least one row.
    blocks:
        Blocks of the component, of the whole recording.
    phases:
        Steps with columns ``step start_ns forward_ns backward_ns end_ns``, null where unknown.
    origin_ns:
        Where the time axis begins.
    at_ns, peak_ns:
        The position, and where the component holds most in the stretch.
    measure:
        Column of what the peak is about: allocated, or reserved where nothing else is known.
    lost:
        Whether a position was chosen that is not in the stretch.
    """

    component: str
    records: pl.DataFrame = field(repr=False)
    blocks: pl.DataFrame = field(repr=False)
    phases: pl.DataFrame = field(repr=False)
    origin_ns: int
    at_ns: int
    peak_ns: int
    measure: str
    lost: bool

    @property
    def at_peak(self) -> bool:
        """Whether the position is the peak."""
        return self.at_ns == self.peak_ns

    @property
    def live(self) -> pl.DataFrame:
        """Blocks that are alive at the position."""
        return live_blocks(self.blocks, self.at_ns)

    def total(self, column: str, time_ns: int) -> int | None:
        """Return a total as it stands at a time; ``None`` if it is unknown."""
        before = self.records.filter(pl.col("time_ns") <= time_ns)
        return None if before.is_empty() else before[column][-1]

    def milliseconds(self, times_ns: pl.Series) -> list[float]:
        """Return times as they stand on the axis."""
        moments: list[float] = ((times_ns - self.origin_ns) / 1e6).to_list()
        return moments


def select(view: View) -> Selected | None:
    """Return what is selected; ``None`` where the profile holds no totals."""
    records = all_records(view.rank)
    options = _options(records)
    if not options:
        return None
    chosen = view.choice("component", options[0][0])
    chosen = chosen if chosen in dict(options) else options[0][0]
    component, _, device = chosen.partition("@")
    here = (pl.col("device_id") == int(device)) if device.isdecimal() else pl.lit(value=True)
    phases = _phases(view.rank.profile)
    part = records.filter((pl.col("component") == component) & here).sort("time_ns", maintain_order=True)
    window = phases.filter(pl.col("step") == view.step) if view.step else phases.clear()
    if window.height:
        inside = part.filter(pl.col("time_ns").is_between(window["start_ns"][0], window["end_ns"][0]))
        part = inside if inside.height else part
    measure = "reserved_bytes" if part["allocated_bytes"].null_count() == part.height else "allocated_bytes"
    place = part[measure].arg_max()
    peak = int(part["time_ns"][place if place is not None else 0])
    first, last = int(part["time_ns"][0]), int(part["time_ns"][-1])
    at, lost = _position(view.choice(PLACE, ""), first, last, peak)
    blocks = memory_blocks(view.rank.profile).filter(pl.col("component").is_in(component.split("+")) & here)
    origin = min(int(records["time_ns"].min()), first)  # type: ignore[arg-type]
    return Selected(component, part, blocks, phases, origin, at, peak, measure, lost)


def _position(text: str, first: int, last: int, peak: int) -> tuple[int, bool]:
    """Return the position that a choice stands for, and whether it lies outside."""
    if text in ("begin", "end"):
        return (first if text == "begin" else last), False
    if text.isdecimal() and len(text) <= len(str(2**63)):
        return (int(text), False) if first <= int(text) <= last else (peak, True)
    return peak, bool(text)


def _phases(profile: Profile) -> pl.DataFrame:
    """Return the steps where memory is allocated, on the host; steps of the device where only they are known."""
    phases = host_phases(profile)
    columns = ("step", "start_ns", "forward_ns", "backward_ns", "end_ns")
    if phases.height:
        return phases.rename({"backward_end_ns": "backward_ns"}).select(columns)
    device_phases = step_phases(profile)
    first = device_phases["device_id"].min()
    return (
        device_phases.filter(pl.col("device_id") == first).select(columns)
        if device_phases.height
        else device_phases.select(columns)
    )
