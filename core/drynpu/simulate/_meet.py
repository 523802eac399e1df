"""
Stage 3, meet: collectives become plans on streams of their groups.

A collective is planned from the topology of the chip, once for all equal requests. Every group has streams of its own,
above all streams that are in use. How long a collective waits for other ranks stands in the recording, or is asked of
them in the next stage, when it is known when this rank arrives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from attrs import evolve, frozen

from drynpu._errors import OptionError
from drynpu.arrays import I64, Bools
from drynpu.device import Dispatches, HostCosts
from drynpu.device.collectives import CollectivePlan, CollectiveRequest, plan_collective
from drynpu.platforms import Chip
from drynpu.raw import MAX_PLAIN_STREAM_ID
from drynpu.simulate._inputs import DEFAULT_STREAM, Collective
from drynpu.simulate._order import GROUP_STREAM, HostOrder

_LAUNCH_NS = 25_000
"""Launching a whole operator: mean of ``Launch_Ffts`` (24.9 us) in a genuine api_statistic."""
_TASK_NS = 100
"""Added per task, so that every task has an API call of its own."""


@frozen(eq=False, kw_only=True)
class CollectiveCalls:
    """
    Collectives in order of their start, columns of shape ``[c]``.

    ``plan`` indexes ``plans``, which are distinct. A group has streams of its own: its plane ``p`` runs on
    ``stream + p``. ``issuing`` is the stream whose earlier work an operator waits for. ``ticks`` is how long it lasts,
    of which it waits ``wait_ticks`` for other ranks. ``waits`` tells which wait at all: a rank that is alone in its
    group waits for none.
    """

    collectives: tuple[Collective, ...]
    plans: tuple[CollectivePlan, ...]
    plan: I64
    issuing: I64
    stream: I64
    waits: Bools
    wait_ticks: I64
    ticks: I64
    node_ns: I64
    """What the host takes to launch each."""

    def __len__(self) -> int:
        return len(self.collectives)


@frozen(eq=False, kw_only=True)
class PlannedWork:
    """All dispatches with their streams, and the collectives among them with their plans."""

    ordered: HostOrder
    dispatches: Dispatches
    collectives: CollectiveCalls


def meet(ordered: HostOrder, chip: Chip) -> PlannedWork:
    """
    Plan the collectives and choose the streams of their groups.

    Raises
    ------
    OptionError
        A collective cannot be; the message names it.
    """
    work = _plan_collectives(ordered, chip)
    stream = ordered.dispatches.stream
    if len(work):
        stream = np.where(stream == GROUP_STREAM, work.stream[ordered.collective], stream)
    return PlannedWork(ordered=ordered, dispatches=evolve(ordered.dispatches, stream=stream), collectives=work)


def _plan_collectives(ordered: HostOrder, chip: Chip) -> CollectiveCalls:
    collectives = ordered.collectives
    requests = [_request(collective) for collective in collectives]
    distinct = {request: index for index, request in enumerate(dict.fromkeys(requests))}
    plans = tuple(plan_collective(request, chip) for request in distinct)
    plan = np.array([distinct[request] for request in requests], np.int64)

    def by_plan(values: Sequence[int]) -> I64:
        return np.array(values or [0], np.int64)[plan]

    waits = by_plan([bool(each.sync.any()) for each in plans]).astype(bool)
    measured = np.array([max(collective.wait_ns, 0) for collective in collectives], np.float64)
    known = waits & (ordered.lowered.recording.rendezvous is None)
    wait_ticks = np.where(known, np.ceil(measured / chip.tick_ns), 0).astype(np.int64)
    return CollectiveCalls(
        collectives=collectives,
        plans=plans,
        plan=plan,
        issuing=ordered.issuing_stream,
        stream=_group_streams(ordered, [plans[index].planes for index in plan.tolist()]),
        waits=waits,
        wait_ticks=wait_ticks,
        ticks=by_plan([each.ticks for each in plans]) + wait_ticks,
        node_ns=HostCosts().node_ns + _LAUNCH_NS + _TASK_NS * by_plan([len(each) for each in plans]),
    )


def _request(collective: Collective) -> CollectiveRequest:
    return CollectiveRequest(
        kind=collective.kind,
        size_bytes=collective.size_bytes,
        ranks=collective.ranks,
        rank=collective.rank,
        peer=collective.peer,
    )


def _group_streams(ordered: HostOrder, planes: Sequence[int]) -> I64:
    """Return the first stream of each collective's group; a group has as many as its widest collective has planes."""
    width: dict[str, int] = {}
    for collective, count in zip(ordered.collectives, planes, strict=True):
        width[collective.group] = max(width.get(collective.group, 0), count)
    used = ordered.dispatches.stream
    free = int(used[used != GROUP_STREAM].max(initial=DEFAULT_STREAM)) + 1
    first: dict[str, int] = {}
    for group, count in width.items():
        first[group] = free
        free += count
    if free - 1 > MAX_PLAIN_STREAM_ID:
        problem = f"collectives: {len(width)} groups need streams up to {free - 1}, a device has {MAX_PLAIN_STREAM_ID}"
        raise OptionError([problem])
    return np.array([first[collective.group] for collective in ordered.collectives], np.int64)
