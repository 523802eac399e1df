"""Communication of a synthetic cluster whose links a topology states: each operator is planned anew on its group."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import numpy as np
import orjson
import polars as pl
from attrs import frozen

from drynpu import OutputError
from drynpu.analysis.communication import COMMUNICATION_TRANSFERS
from drynpu.deliverables.communication.files import step_documents
from drynpu.device.collectives import (
    CollectiveRequest,
    Topology,
    choose,
)
from drynpu.layouts.communication_files import START_TIME
from drynpu.layouts.result_files import METADATA_FILE
from drynpu.options import Settings
from drynpu.platforms import Chip, SlowLink, load_topology
from drynpu.recorder import load_chosen_chip
from drynpu_cluster import _facts as f
from drynpu_cluster._find import ClusterSource
from drynpu_cluster._groups import Group
from drynpu_cluster.synth._groups import GroupCopies
from drynpu_cluster.synth._plan import LinkedTransit, RankPlan, SynthOptions, changed_times, step_key
from drynpu_cluster.synth._task_plans import TaskPlan, plan_tasks
from drynpu_cluster.synth._warp import Span
from drynpu_cluster.synth._works import OperatorWork

_TIMES = {
    "elapse_ns": f.ELAPSE,
    "transit_ns": f.TRANSIT,
    "wait_ns": f.WAIT,
    "synchronization_ns": f.SYNCHRONIZATION,
    "idle_ns": f.IDLE,
}
Pace = tuple[float, float]
"""How long the transfers of an operator take as recorded and in the cluster, us."""


@frozen(eq=False)
class ClusterLinks:
    """
    The links of the recording, the links of the cluster, and the bytes that its ranks move.

    Attributes
    ----------
    recorded, chip:
        The chip with the links of the recording, and with the links of the cluster.
    groups:
        Id of a recorded group -> its recorded ranks.
    ranks:
        Of the cluster.
    """

    recorded: Chip
    chip: Chip
    groups: Mapping[str, tuple[int, ...]]
    ranks: int

    def slowed(self, link: tuple[int, int], factor: float) -> ClusterLinks:
        """Return these links, one of them slower by a factor, in both directions."""
        parts = self.chip.interconnect
        slow = (SlowLink(ranks=link, factor=factor), *parts.slow_links)
        return attrs.evolve(self, chip=attrs.evolve(self.chip, interconnect=attrs.evolve(parts, slow_links=slow)))

    def request(self, work: OperatorWork, groups: GroupCopies, rank: int) -> CollectiveRequest:
        """
        Return what a rank of the cluster asks for in place of a recorded operator.

        Whole tensors keep their size however large the group: what all ranks together gather, what they sum up,
        what a rank has to scatter or to exchange.
        """
        members, size_bytes = groups.members[work.group], work.size_bytes
        if work.kind.startswith("allGather"):
            size_bytes = max(1, round(size_bytes * len(self.groups[work.group]) / len(members)))
        peer = None if work.peer is None else members[work.peer + groups.shifts[work.group]]
        return CollectiveRequest(kind=work.kind, size_bytes=size_bytes, ranks=members, rank=rank, peer=peer)

    def paces(self, works: Sequence[OperatorWork], groups: GroupCopies, known: dict[object, Pace]) -> list[Pace]:
        """Return the pace of each operator, one for all its ranks. *known* keeps what was worked out."""
        return [self._pace(work, groups, known) for work in works]

    def _pace(self, work: OperatorWork, groups: GroupCopies, known: dict[object, Pace]) -> Pace:
        if not work.kind:
            return 0.0, 0.0
        members, shift = groups.members[work.group], groups.shifts[work.group]
        # Messages in a group of all ranks are of one copy; collectives there are the same in all copies.
        shift = 0 if work.peer is None else shift
        # A group is known by its first rank, for all groups of one key are alike but for where they begin.
        key = (work.kind, work.size_bytes, work.peer, work.group, members[0], shift)
        if key not in known:
            before = self.groups[work.group]
            first = 0 if work.peer != 0 else 1
            old = CollectiveRequest(
                kind=work.kind,
                size_bytes=work.size_bytes,
                ranks=before,
                rank=before[first],
                peer=None if work.peer is None else before[work.peer],
            )
            new = self.request(work, groups, members[first + shift])
            known[key] = (_steps_us(old, self.recorded), _steps_us(new, self.chip))
        return known[key]

    def peers(self, works: Sequence[OperatorWork], groups: GroupCopies, rank: int) -> set[int]:
        """Return the ranks with which a rank exchanges bytes directly."""
        peers = set()
        for work in {(work.kind, work.size_bytes, work.peer, work.group): work for work in works if work.kind}.values():
            ranks = groups.members[work.group]
            algorithm = choose(self.request(work, groups, rank), Topology(self.chip, ranks))
            peers |= {ranks[transfer.peer] for step in algorithm.steps for transfer in step.transfers}
        return peers - {rank}


def _steps_us(request: CollectiveRequest, chip: Chip) -> float:
    return sum(step.us for step in choose(request, Topology(chip, request.ranks)).steps)


def build_links(source: ClusterSource, groups: Sequence[Group], options: SynthOptions) -> ClusterLinks:
    """
    Return the links of the cluster that *options* describe.

    The chip is the one that drynpu recorded with, else the chip of the settings.

    Raises
    ------
    OptionError
        The file describes no topology.
    OutputError
        The cluster does not fit into it, or ends within a copy of the recorded ranks.
    """
    topology = load_topology(options.topology)
    if topology.ranks is not None and options.ranks > topology.ranks:
        raise OutputError(
            f"{options.ranks} ranks do not fit: {options.topology} describes {topology.nodes} nodes of "
            f"{topology.devices} devices, {topology.ranks} ranks"
        )
    if options.ranks % len(source.ranks):
        raise OutputError(
            f"{options.ranks} ranks are no multiple of the {len(source.ranks)} recorded; with a topology all groups "
            "are whole"
        )
    settings = Settings.from_environ(os.environ)
    metadata = source.ranks[0].path / METADATA_FILE
    said = orjson.loads(metadata.read_bytes()).get("drynpu", {}) if metadata.is_file() else {}
    chip, file = said.get("chip", settings.chip), said.get("topology", "")
    used = file if Path(file).is_file() else ""
    recorded = load_chosen_chip(attrs.evolve(settings, chip=chip, topology=used))
    plain = load_chosen_chip(attrs.evolve(settings, chip=chip, topology=""))
    return ClusterLinks(recorded, topology.applied(plain), {group.key: group.seen for group in groups}, options.ranks)


def plan_links(
    links: ClusterLinks,
    works: Sequence[Sequence[OperatorWork]],
    copies: Sequence[GroupCopies],
    names: Sequence[str],
    options: SynthOptions,
) -> tuple[LinkedTransit, ClusterLinks]:
    """Return the transit times of all ranks by step, *names*, and the links, one of them slow if *options* want it."""
    slow = None
    if options.link_factor != 1:
        slow = _draw_link(links, works, copies, options)
    if slow is not None:
        links = links.slowed(slow, options.link_factor)
    known: dict[object, Pace] = {}
    transit_ms = np.zeros((links.ranks, len(names)))
    for rank in range(links.ranks):
        copy, place = divmod(rank, len(works))
        paces = links.paces(works[place], copies[copy], known)
        transit_ms[rank] = _grown_ms(works[place], paces, names)
    return LinkedTransit(links.chip.interconnect.node_devices, slow, transit_ms), links


def _grown_ms(works: Sequence[OperatorWork], paces: Sequence[Pace], names: Sequence[str]) -> list[float]:
    """Return the transit times that operators have in the cluster, ms by step."""
    total = dict.fromkeys(names, 0.0)
    for work, (before, after) in zip(works, paces, strict=True):
        key = step_key(work.step)
        if key in total:
            total[key] += work.times[f.TRANSIT] * (after / before if before else 1.0)
    return list(total.values())


def _draw_link(
    links: ClusterLinks,
    works: Sequence[Sequence[OperatorWork]],
    copies: Sequence[GroupCopies],
    options: SynthOptions,
) -> tuple[int, int] | None:
    """
    Return the slow link: the stated one, or one that is drawn among those that ranks use.

    Raises
    ------
    OutputError
        Nothing moves over the stated link.
    """

    def peers(rank: int) -> list[int]:
        copy, place = divmod(rank, len(works))
        return sorted(links.peers(works[place], copies[copy], rank))

    stated = options.slow_link
    if stated is None:
        random = np.random.default_rng((options.seed, 1))
        rank = int(random.integers(links.ranks))
        others = peers(rank)
        return (rank, others[int(random.integers(len(others)))]) if others else None
    if max(stated) >= links.ranks:
        raise OutputError(f"slow link {stated[0]}-{stated[1]}: the cluster has ranks 0 to {links.ranks - 1}")
    if stated[1] not in (used := peers(stated[0])) and stated[0] not in peers(stated[1]):
        shown = ", ".join(f"{stated[0]}-{peer}" for peer in used[:8]) or "none"
        raise OutputError(f"slow link {stated[0]}-{stated[1]}: no operator uses it; links of {stated[0]}: {shown}")
    return stated


@frozen(eq=False)
class LinkedRank:
    """Communication of one rank of the cluster: both documents; of each operator, how long it takes, and its tasks."""

    documents: Mapping[str, object]
    spans: tuple[Span, ...]
    tasks: tuple[TaskPlan | None, ...]


def link_rank(links: ClusterLinks, works: Sequence[OperatorWork], plan: RankPlan, groups: GroupCopies) -> LinkedRank:
    """Return the communication of a rank with the links of the cluster."""
    paces = links.paces(works, groups, {})
    plans = _Plans(links, groups, plan.rank)
    rows, spans, moved = [], [], []
    for number, (work, pace) in enumerate(zip(works, paces, strict=True)):
        change = plan.steps[step_key(work.step)]
        planned = plans.tasks(work)
        moves = planned is not None and planned.moves
        times = changed_times(_paced(work, pace, moves=moves), change, collective=work.collective)
        start_ns, elapse_ns = round(work.times[START_TIME] * 1000), round(times[f.ELAPSE] * 1e6)
        spans.append(Span(start_ns, round(work.times[f.ELAPSE] * 1e6), elapse_ns, change.alone))
        name, _, key = groups.renamed(work.name).rpartition("@")
        in_ns = {title: round(times[column] * 1e6) for title, column in _TIMES.items()}
        rows.append(
            {"step": work.step, "connection_id": number, "name": name, "group": key, "start_ns": start_ns, **in_ns}
        )
        if planned is not None:
            factor = pl.col("time_ns") * change.transit
            number_column = pl.lit(number, dtype=pl.Int64).alias("connection_id")
            moved.append(planned.transfers.with_columns(number_column, factor.round().cast(pl.Int64).alias("time_ns")))
    if not rows:
        return LinkedRank({}, (), ())
    table = pl.DataFrame(rows).with_columns(pl.lit(0, dtype=pl.Int64).alias("device_id"))
    every = pl.concat([pl.DataFrame(schema=COMMUNICATION_TRANSFERS), *moved])
    parts = {str(step): part for (step,), part in table.partition_by("step", maintain_order=True, as_dict=True).items()}
    return LinkedRank(step_documents(parts, every), tuple(spans), tuple(map(plans.tasks, works)))


def _paced(work: OperatorWork, pace: Pace, *, moves: bool) -> Mapping[str, float]:
    """
    Return the times of an operator, before jitter, at the pace that it has in the cluster.

    What was recorded grows as the model says that it grows. The side of a message that does not move the bytes waits
    for as long as they take: over the network the sender moves them, elsewhere the receiver.
    """
    before, after = pace[0] / 1000, pace[1] / 1000
    transit, wait = work.times[f.TRANSIT], work.times[f.WAIT]
    rest = max(work.times[f.ELAPSE] - transit - wait, 0.0)
    if not work.kind or not before:
        return work.times
    scale = transit / before if transit else 1.0
    new = after * scale if moves else 0.0
    if not work.collective:
        whole = max(transit + wait + (after - before) * scale, after * scale)
        wait = whole - new
    return {**work.times, f.TRANSIT: new, f.WAIT: wait, f.ELAPSE: rest + new + wait}


class _Plans:
    """The tasks of the distinct operators of one rank."""

    def __init__(self, links: ClusterLinks, groups: GroupCopies, rank: int) -> None:
        self._links = links
        self._groups = groups
        self._rank = rank
        self._found: dict[object, TaskPlan] = {}

    def tasks(self, work: OperatorWork) -> TaskPlan | None:
        """Return the tasks of an operator; ``None`` where it is not modelled."""
        if not work.kind:
            return None
        key = (work.kind, work.size_bytes, work.peer, work.group)
        if key not in self._found:
            self._found[key] = plan_tasks(self._links.request(work, self._groups, self._rank), self._links.chip)
        return self._found[key]
