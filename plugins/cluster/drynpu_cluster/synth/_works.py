"""What the communication operators of recorded ranks move, worked out from the bytes that their files count."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import attrs
import orjson
import polars as pl
from attrs import frozen

from drynpu.device.collectives import KINDS, POINT_TO_POINT, CollectiveRequest, Topology, choose
from drynpu.layouts.communication_files import START_TIME
from drynpu.platforms import Chip
from drynpu_cluster import _facts as f
from drynpu_cluster._find import Form
from drynpu_cluster._groups import Group
from drynpu_cluster._rank import RankRead, stacked

_KIND = re.compile(r"(?:hcom_|hccl)?([a-z]+)")
_BY_NAME: Mapping[str, str] = {kind.lower(): kind for kind in KINDS}
_FIRST_GUESS_BYTES = 1 << 26
_GUESSES = 4
"""Bytes moved grow in proportion to the operator's own but for the choice between ring and tree, made by size."""
_TIMES = {
    START_TIME: "start_timestamp",
    f.ELAPSE: "elapse_time",
    f.TRANSIT: "transit_time",
    f.WAIT: "wait_time",
    f.SYNCHRONIZATION: "synchronization_time",
    f.IDLE: "idle_time",
}


@frozen
class OperatorWork:
    """
    A communication operator of a recorded rank.

    Attributes
    ----------
    step, name:
        As communication files spell them: ``step7``, ``hcom_allReduce__777_0_1@777``.
    times:
        In ms, the start in us, by the names of communication.json.
    kind:
        One of `KINDS`; ``""`` for an operator that is not modelled.
    size_bytes:
        As `CollectiveRequest` has it.
    peer:
        The other rank of a message, as number among the recorded ranks of the group; ``None`` of a collective.
    """

    step: str
    name: str
    collective: bool
    times: Mapping[str, float]
    kind: str
    size_bytes: int
    peer: int | None

    @property
    def group(self) -> str:
        """The id of its group."""
        return self.name.rpartition("@")[2]


def find_works(
    reads: Sequence[RankRead], groups: Sequence[Group], form: Form, chip: Chip
) -> tuple[tuple[OperatorWork, ...], ...]:
    """
    Return the operators of every recorded rank, by place of the rank.

    Files count what an operator moved over links, and that follows from its size, its group and the links of *chip*;
    here the size is found from it. Ranks that move nothing themselves (the sender of a message over HCCS, the root of
    a broadcast) have the size of the same operator on the others.
    """
    known = {group.key: group for group in groups}
    tables = [_operators(read, known, form, chip) for read in reads]
    places = [_places(works, read.source.rank, known) for works, read in zip(tables, reads, strict=True)]
    sizes: dict[object, int] = {}
    for works, keys in zip(tables, places, strict=True):
        for work, key in zip(works, keys, strict=True):
            sizes[key] = max(work.size_bytes, sizes.get(key, 0))
    return tuple(
        tuple(
            attrs.evolve(work, size_bytes=work.size_bytes or sizes[key]) for work, key in zip(works, keys, strict=True)
        )
        for works, keys in zip(tables, places, strict=True)
    )


def _places(works: Sequence[OperatorWork], rank: int, groups: Mapping[str, Group]) -> list[object]:
    """Return what tells each operator from others, the same on all its ranks: the n-th of a group, or from one rank."""
    counted: dict[object, int] = {}
    places: list[object] = []
    for work in works:
        ends: tuple[int, ...] = ()
        if work.peer is not None:
            other = groups[work.group].seen[work.peer]
            ends = (other, rank) if work.kind == "receive" else (rank, other)
        key = (work.step, work.group, ends)
        counted[key] = counted.get(key, -1) + 1
        places.append((key, counted[key]))
    return places


def _operators(read: RankRead, groups: Mapping[str, Group], form: Form, chip: Chip) -> list[OperatorWork]:
    """Return the operators of a rank by their start."""
    rank, peers = read.source.rank, _peers(read, form)
    works = []
    for step, kind_name, name, times, moved_bytes in _entries(read, form):
        key = name.rpartition("@")[2]
        members = groups[key].ranks
        named = _KIND.match(name.lower())
        kind = _BY_NAME.get(named[1], "") if named else ""
        me = members.index(rank) if rank in members else 0
        collective = kind_name == f.COLLECTIVE
        other = None
        if not collective:
            number = 1 - me if len(members) == 2 else peers.get((step, key), me)
            other = members[number] if number != me and number < len(members) else None
        if not (collective or other in groups[key].seen):
            kind = ""
        size_bytes = 0
        if kind and len(members) > 1:
            request = CollectiveRequest(
                kind=kind, size_bytes=_FIRST_GUESS_BYTES, ranks=members, rank=members[me], peer=other
            )
            size_bytes = moved_bytes if kind in POINT_TO_POINT else _payload(request, chip, moved_bytes)
        peer = groups[key].seen.index(other) if kind and other is not None else None
        works.append(OperatorWork(step, name, collective, times, kind, size_bytes, peer))
    return sorted(works, key=lambda work: work.times[START_TIME])


def _payload(request: CollectiveRequest, chip: Chip, moved_bytes: int) -> int:
    """Return the size with which the operator moves so many bytes; 0 if this rank moves none."""
    for _ in range(_GUESSES):
        steps = choose(request, Topology(chip, request.ranks)).steps
        planned = sum(transfer.size_bytes for step in steps for transfer in step.transfers)
        if not planned or not moved_bytes:
            return 0
        if planned == moved_bytes:
            break
        request = attrs.evolve(request, size_bytes=max(1, round(request.size_bytes * moved_bytes / planned)))
    return request.size_bytes


def _entries(read: RankRead, form: Form) -> Iterator[tuple[str, str, str, Mapping[str, float], int]]:
    """Yield step, type, ``<operator>@<group>``, times and the bytes moved over links of every operator."""
    table = stacked([read], "operations")
    if table.is_empty():
        return
    if form is Form.TEXT:
        for row in table.iter_rows(named=True):
            info = orjson.loads(row["info"])
            times = {name: float(info[f.TIME_INFO].get(name) or 0) for name in _TIMES}
            moved = {name: values.get(f.SIZE, 0) for name, values in info.get(f.BANDWIDTH_INFO, {}).items()}
            yield row["step"], row["type"], row["name"], times, _moved_bytes(moved)
        return
    moved_by = _database_moved(read)
    for row in table.iter_rows(named=True):
        times = {name: float(row[column] or 0) for name, column in _TIMES.items()}
        place = (row["step"], row["hccl_op_name"], row["group_name"])
        name = f"{row['hccl_op_name']}@{row['group_name']}"
        yield row["step"], row["type"], name, times, _moved_bytes(moved_by.get(place, {}))


def _database_moved(read: RankRead) -> Mapping[tuple[str, str, str], dict[str, float]]:
    rates = stacked([read], "rates")
    sizes: dict[tuple[str, str, str], dict[str, float]] = {}
    if not rates.is_empty():
        chosen = rates.select("step", "hccl_op_name", "group_name", "transport_type", "transit_size")
        for step, name, group, transport, size in chosen.iter_rows():
            sizes.setdefault((step, name, group), {})[transport] = size or 0
    return sizes


def _moved_bytes(sizes_mb: Mapping[str, float]) -> int:
    """Sum up transports; SDMA, where it stands, is all that does not go over the network."""
    rest = {name: size for name, size in sizes_mb.items() if name not in ("RDMA", "SDMA")}
    return round(1e6 * (sizes_mb.get("RDMA", 0) + (sizes_mb.get("SDMA") or sum(rest.values()))))


def _peers(read: RankRead, form: Form) -> Mapping[tuple[str, str], int]:
    """Return step and group -> with which number of the group most bytes of messages were exchanged."""
    matrix = stacked([read], "matrix")
    if matrix.is_empty():
        return {}
    group, source, end, size = (
        ("group_name", "src_rank", "dst_rank", "transit_size")
        if form is Form.DB
        else ("group", "source", "target", "size_mb")
    )
    ends = pl.col(source, end).cast(pl.Int64, strict=False)
    links = matrix.filter(pl.col("type") == f.P2P).with_columns(ends).filter(pl.col(source) != pl.col(end)).sort(size)
    return {(row["step"], row[group]): row[end] for row in links.iter_rows(named=True)}
