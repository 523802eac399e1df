"""What each rank of a synthetic cluster does longer or shorter than the recorded rank that it is made from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu import OutputError
from drynpu.arrays import F64, I64
from drynpu_cluster import _facts as f

STEP_PREFIX = "step"
"""What communication files put before the number of a step."""


def _path_text(path: Path | str | None) -> str:
    return "" if path is None else str(path)


@frozen
class SynthOptions:
    """
    How a synthetic cluster differs from what was recorded.

    Attributes
    ----------
    jitter:
        Standard deviation of the logarithm of a rank's computing and free time in a step, and of its transit time.
    step_change:
        The same for a step on all ranks together: batches that are longer or shorter.
    slow_rank, slow_factor:
        The rank whose computing and free time are multiplied; ``None`` draws it. A factor of 1 makes none.
    slow_link, link_factor:
        The link whose transit time is multiplied; ``None`` draws one that was recorded.
    topology:
        File with the links of the cluster; empty for links as they were recorded.
    raw:
        Ranks have raw records as well.
    """

    ranks: int
    seed: int = 0
    jitter: float = 0.02
    step_change: float = 0.05
    slow_rank: int | None = None
    slow_factor: float = 1.5
    slow_link: tuple[int, int] | None = None
    link_factor: float = 4.0
    topology: str = field(default="", converter=_path_text)
    raw: bool = False


@frozen
class StepTitles:
    """How a file spells the columns of step times; ``apart`` is communication that is not overlapped."""

    computing: str
    apart: str
    overlapped: str
    communication: str
    free: str
    stage: str
    bubble: str
    rest: str


TEXT_TITLES = StepTitles(
    "Computing",
    "Communication(Not Overlapped)",
    "Overlapped",
    "Communication",
    "Free",
    "Stage",
    "Bubble",
    "Communication(Not Overlapped and Exclude Receive)",
)
DB_TITLES = StepTitles(
    "computing",
    "communication_not_overlapped",
    "overlapped",
    "communication",
    "free",
    "stage",
    "bubble",
    "communication_not_overlapped_and_exclude_receive",
)


@frozen(eq=False)
class RecordedRank:
    """
    What the plan needs of a recorded rank.

    Attributes
    ----------
    steps:
        ``step``, ``alone_us`` (computing and free), ``apart_us`` (communication that is not overlapped).
    waits:
        ``step``, ``wait_ms`` and ``count`` of its collectives, ``transit_ms`` of all its operators.
    links:
        Its links to other ranks, ``source`` and ``target`` by place among the recorded ranks.
    """

    steps: pl.DataFrame
    waits: pl.DataFrame
    links: tuple[tuple[int, int], ...]


@frozen
class StepChange:
    """
    One step of one rank.

    Attributes
    ----------
    alone:
        Factor of computing and free time.
    transit:
        Factor of transit times.
    wait_ms:
        What the rank waits in each of its collectives.
    apart_us:
        Communication that is not overlapped.
    """

    alone: float
    transit: float
    wait_ms: float
    apart_us: float


@frozen
class RankPlan:
    """
    All steps of one rank, by name.

    Attributes
    ----------
    slow_link:
        Its link that is slow, as ranks of the cluster; ``None`` where a topology holds it.
    node, device:
        Where the rank sits in a topology; ``None`` without one.
    """

    rank: int
    place: int
    copy: int
    steps: Mapping[str, StepChange]
    slow_link: tuple[str, str] | None
    link_factor: float
    node: int | None = None
    device: int | None = None

    def link_change(self, step: str, ends: tuple[str, str]) -> float:
        """Return the factor of transit times over a link of the rank, its ends as numbers in the largest group."""
        plain = self.steps[step].transit
        if self.slow_link is None:
            return plain
        return plain if ends == self.slow_link else plain / self.link_factor


@frozen
class SynthPlan:
    """A whole cluster: the ranks, and what was drawn."""

    ranks: tuple[RankPlan, ...]
    slow_rank: int | None
    slow_link: tuple[int, int] | None


@frozen(eq=False)
class LinkedTransit:
    """
    What a topology makes of the communication.

    Attributes
    ----------
    node_devices:
        Devices of a node.
    slow_link:
        The link that it has slower; ``None`` for none.
    transit_ms:
        Transit times before jitter, ``[ranks, steps]``.
    """

    node_devices: int
    slow_link: tuple[int, int] | None
    transit_ms: F64


def plan_cluster(
    recorded: Sequence[RecordedRank], options: SynthOptions, linked: LinkedTransit | None = None
) -> SynthPlan:
    """
    Return what every rank does; the same options give the same plan. *linked* is what follows from a topology.

    Rank r is made from the recorded rank r modulo their number. What a rank does alone takes longer or shorter; in
    each step all wait in their collectives until the last is there, so that a step ends at the same time on all.

    Raises
    ------
    OutputError
        Recorded ranks have other steps than the first, or a slow rank or link is none of the cluster.
    """
    names = recorded[0].steps["step"].to_list()
    if any(rank.steps["step"].to_list() != names for rank in recorded):
        raise OutputError("the recorded ranks have different steps; a cluster is made of ranks with the same")
    random = np.random.default_rng(options.seed)
    slow_rank, slow_link = _drawn(recorded, options, random, linked)
    places = np.arange(options.ranks) % len(recorded)
    alone = np.exp(random.normal(0, options.jitter, (options.ranks, len(names))))
    alone *= np.exp(random.normal(0, options.step_change, len(names)))
    transit = np.exp(random.normal(0, options.jitter, (options.ranks, len(names))))
    if slow_rank is not None:
        alone[slow_rank] *= options.slow_factor
    if slow_link is not None and linked is None:
        transit[slow_link[0]] *= options.link_factor
    waits, apart = _waits(recorded, places, alone, transit, linked)
    counts = np.array([_by_step(rank.waits, "count", names) for rank in recorded])[places]
    each = waits / 1000 / np.maximum(counts, 1)
    plans = []
    for rank in range(options.ranks):
        values = zip(alone[rank], transit[rank], each[rank], apart[rank], strict=True)
        steps = {name: StepChange(*map(float, value)) for name, value in zip(names, values, strict=True)}
        slow = slow_link if linked is None else None
        link = (str(rank), str(slow[1])) if slow is not None and slow[0] == rank else None
        copy, place = divmod(rank, len(recorded))
        node, device = (None, None) if linked is None else divmod(rank, linked.node_devices)
        plans.append(RankPlan(rank, place, copy, steps, link, options.link_factor, node, device))
    return SynthPlan(tuple(plans), slow_rank, slow_link)


def _drawn(
    recorded: Sequence[RecordedRank],
    options: SynthOptions,
    random: np.random.Generator,
    linked: LinkedTransit | None,
) -> tuple[int | None, tuple[int, int] | None]:
    """Return the slow rank and the slow link."""
    drawn = int(random.integers(options.ranks))
    slow_rank = drawn if options.slow_rank is None else options.slow_rank
    if not 0 <= slow_rank < options.ranks:
        raise OutputError(f"slow rank {slow_rank}: the cluster has ranks 0 to {options.ranks - 1}")
    if linked is not None:
        return slow_rank if options.slow_factor != 1 else None, linked.slow_link
    copies = options.ranks // len(recorded)
    known = sorted({link for rank in recorded for link in rank.links})
    slow_link = options.slow_link
    if slow_link is None and known and copies:
        shift = int(random.integers(copies)) * len(recorded)
        source, end = known[int(random.integers(len(known)))]
        slow_link = (source + shift, end + shift)
    if slow_link is not None and not _is_link(slow_link, known, len(recorded), options.ranks):
        raise OutputError(
            f"slow link {slow_link[0]}-{slow_link[1]}: no recorded rank uses it; links were recorded between "
            f"{', '.join(f'{source}-{end}' for source, end in known[:8]) or 'no ranks'}"
        )
    return (
        slow_rank if options.slow_factor != 1 else None,
        slow_link if options.link_factor != 1 else None,
    )


def _is_link(link: tuple[int, int], known: Sequence[tuple[int, int]], recorded: int, ranks: int) -> bool:
    copy = link[0] // recorded
    return max(link) < ranks and copy == link[1] // recorded and (link[0] % recorded, link[1] % recorded) in known


def _by_step(table: pl.DataFrame, column: str, names: Sequence[str]) -> list[float]:
    values = dict(table.select("step", column).iter_rows()) if table.height else {}
    return [float(values.get(name) or 0) for name in names]


def _waits(
    recorded: Sequence[RecordedRank], places: I64, alone: F64, transit: F64, linked: LinkedTransit | None
) -> tuple[F64, F64]:
    """Return, in us by rank and step, how long a rank waits, and its communication that is not overlapped."""
    names = recorded[0].steps["step"].to_list()
    base = np.array([rank.steps["alone_us"].to_numpy() for rank in recorded])[places]
    apart = np.array([rank.steps["apart_us"].to_numpy() for rank in recorded])[places]
    waited = np.array([_by_step(rank.waits, "wait_ms", names) for rank in recorded])[places] * 1000
    joins = np.array([_by_step(rank.waits, "count", names) for rank in recorded])[places] > 0
    moved = np.array([_by_step(rank.waits, "transit_ms", names) for rank in recorded])[places] * 1000
    planned = moved if linked is None else linked.transit_ms * 1000
    # Operators grow by what their transit grows, as in `changed_times`.
    moving = np.maximum(np.maximum(apart - waited, 0) + planned * transit - moved, 0)
    arrival = base * alone + moving
    waits = np.where(joins, arrival.max(axis=0) - arrival, 0.0)
    return waits, moving + waits


def step_key(name: str) -> str:
    """Return the number of a step, which communication files spell ``step7`` and step times ``7``."""
    return name.removeprefix(STEP_PREFIX)


def changed_times(times: Mapping[str, float], change: StepChange, *, collective: bool) -> dict[str, float]:
    """
    Return the times of a communication operator, in ms by the names of communication.json, as the plan has them.

    A collective waits what the plan says, a message what it waited; transit takes its factor.
    """
    transit, wait = times.get(f.TRANSIT, 0), times.get(f.WAIT, 0)
    synchronization = times.get(f.SYNCHRONIZATION, 0)
    new_transit = transit * change.transit
    new_wait = change.wait_ms if collective else wait
    share = min(synchronization / wait, 1.0) if wait > 0 else 1.0
    changed = dict(times)
    changed[f.TRANSIT], changed[f.WAIT], changed[f.SYNCHRONIZATION] = new_transit, new_wait, new_wait * share
    changed[f.ELAPSE] = max(times.get(f.ELAPSE, 0) - transit - wait, 0.0) + new_transit + new_wait
    if f.WAIT_RATIO in times:
        changed[f.WAIT_RATIO] = f.ratio(new_wait, new_wait + new_transit)
        changed[f.SYNCHRONIZATION_RATIO] = f.ratio(new_wait * share, new_wait * share + new_transit)
    return changed


def changed_step(values: Mapping[str, float], change: StepChange, titles: StepTitles) -> dict[str, float]:
    """Return the row of a step as the plan has it; columns that the plan does not concern stay."""
    changed = dict(values)
    apart = change.apart_us
    changed[titles.computing] = values[titles.computing] * change.alone
    changed[titles.free] = values[titles.free] * change.alone
    changed[titles.apart] = apart
    overlapped = values.get(titles.overlapped, 0.0) * change.alone
    bubble = min(values.get(titles.bubble, 0.0), apart)
    whole = changed[titles.computing] + apart + changed[titles.free]
    others = {
        titles.overlapped: overlapped,
        titles.communication: apart + overlapped,
        titles.bubble: bubble,
        titles.stage: whole - bubble,
        titles.rest: apart - bubble,
    }
    changed.update({title: value for title, value in others.items() if title in values})
    return changed
