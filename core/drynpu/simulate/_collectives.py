"""Collectives of a recording on their way to the device: plans, streams, and their place in the host order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from attrs import define, evolve, field, frozen

from drynpu._errors import OptionError
from drynpu.device import HostCosts, Launches, Mark, Schedule
from drynpu.device.collectives import CollectivePlan, CollectiveRequest, plan_collective
from drynpu.platforms import Chip
from drynpu.raw import MAX_PLAIN_STREAM_ID
from drynpu.simulate._inputs import Collective, Meeting
from drynpu.simulate._lower import Lowered

__all__ = [
    "CollectiveTimes",
    "CollectiveWork",
    "Waits",
    "host_rows",
    "merge_launches",
    "prepare_collectives",
    "separate",
]

I64 = npt.NDArray[np.int64]

_LAUNCH_NS = 25_000
"""Launching a whole operator: mean of ``Launch_Ffts`` (24.9 us) in a genuine api_statistic."""
_TASK_NS = 100
"""Added per task, so that every task has an API call of its own."""


@frozen(eq=False, kw_only=True)
class CollectiveWork:
    """
    Collectives in host order, columns of shape ``[c]``.

    ``plan`` indexes ``plans``, which are distinct. A group has streams of its own: its plane ``p`` runs on
    ``stream + p``. ``issuing`` is the stream whose earlier work an operator waits for.
    """

    collectives: tuple[Collective, ...]
    plans: tuple[CollectivePlan, ...]
    plan: I64
    issuing: I64
    stream: I64
    wait_ticks: I64
    ticks: I64
    node_ns: I64

    def __len__(self) -> int:
        return len(self.collectives)


@frozen(eq=False, kw_only=True)
class CollectiveTimes:
    """
    When collectives were issued and run, shape ``[c]``; ns of Unix time, ``start_ticks`` after the recording's base.

    Within ``[runtime_start_ns, runtime_end_ns]`` the launching thread hands over the tasks.
    """

    work: CollectiveWork
    enqueue_start_ns: I64
    enqueue_end_ns: I64
    dequeue_start_ns: I64
    dequeue_end_ns: I64
    api_start_ns: I64
    api_end_ns: I64
    node_start_ns: I64
    node_end_ns: I64
    runtime_start_ns: I64
    runtime_end_ns: I64
    start_ticks: I64

    @property
    def end_ticks(self) -> int:
        """When the last one ended, 0 if there was none."""
        return int((self.start_ticks + self.work.ticks).max(initial=0))


def prepare_collectives(
    collectives: tuple[Collective, ...],
    chip: Chip,
    current_stream: Callable[[I64, I64], I64],
    used_streams: I64,
    *,
    told: bool = True,
) -> CollectiveWork:
    """
    Plan every distinct request once and give every group its streams, above all that are in use.

    Parameters
    ----------
    current_stream:
        Stream of each (time, thread), for collectives that name none.
    used_streams:
        Streams that have work of their own.
    told:
        Whether the collectives' own ``wait_ns`` holds; else they wait for nobody yet.

    Raises
    ------
    OptionError
        A collective cannot be; the message names it.
    """
    ordered = tuple(sorted(collectives, key=lambda of: of.start_ns))
    requests = [_request(of) for of in ordered]
    distinct = {request: index for index, request in enumerate(dict.fromkeys(requests))}
    plans = tuple(plan_collective(request, chip) for request in distinct)
    plan = np.array([distinct[request] for request in requests], np.int64)
    times = np.array([of.start_ns for of in ordered], np.int64)
    current = current_stream(times, np.array([of.thread for of in ordered], np.int64))
    named = np.array([-1 if of.stream is None else of.stream for of in ordered], np.int64)
    issuing = np.where(named >= 0, named, current)
    waits = np.array([max(of.wait_ns, 0) if told else 0 for of in ordered], np.float64)
    wait_ticks = np.where(_synchronous(plans, plan), np.ceil(waits / chip.tick_ns), 0).astype(np.int64)
    used = np.concatenate([used_streams, issuing])
    sizes = np.array([len(of) for of in plans] or [0], np.int64)[plan]
    return CollectiveWork(
        collectives=ordered,
        plans=plans,
        plan=plan,
        issuing=issuing,
        stream=_streams(ordered, plans, plan, int(used.max(initial=0)) + 1),
        wait_ticks=wait_ticks,
        ticks=np.array([of.ticks for of in plans] or [0], np.int64)[plan] + wait_ticks,
        node_ns=HostCosts().node_ns + _LAUNCH_NS + _TASK_NS * sizes,
    )


def _synchronous(plans: tuple[CollectivePlan, ...], plan: I64) -> npt.NDArray[np.bool_]:
    """Whether each collective greets anybody: alone in its group, a rank waits for none."""
    return np.asarray(np.array([bool(of.sync.any()) for of in plans] or [False])[plan])


@define(eq=False, kw_only=True)
class Waits:
    """What a `Meeting` answers while the schedule is made, in ticks, shape ``[c]``."""

    meeting: Meeting | None
    tick_ns: float
    base_ns: int
    synchronous: npt.NDArray[np.bool_]
    ticks: I64 = field()

    @classmethod
    def of(cls, work: CollectiveWork, meeting: Meeting | None, *, tick_ns: float, base_ns: int) -> Waits:
        """Return no waits yet."""
        return cls(
            meeting=meeting,
            tick_ns=tick_ns,
            base_ns=base_ns,
            synchronous=_synchronous(work.plans, work.plan),
            ticks=np.zeros(len(work), np.int64),
        )

    def ask(self, index: int, start_ticks: int) -> int:
        """Ask how long collective *index*, which starts at that tick, waits for the slowest rank."""
        assert self.meeting is not None  # nobody asks otherwise
        arrived_ns = self.meeting(index, self.base_ns + round(start_ticks * self.tick_ns))
        waited = int(np.ceil((arrived_ns - self.base_ns) / self.tick_ns)) - start_ticks
        self.ticks[index] = max(0, waited) if self.synchronous[index] else 0
        return int(self.ticks[index])

    def added(self, work: CollectiveWork) -> CollectiveWork:
        """Return the collectives with what they wait."""
        return evolve(work, wait_ticks=work.wait_ticks + self.ticks, ticks=work.ticks + self.ticks)


def _request(of: Collective) -> CollectiveRequest:
    return CollectiveRequest(kind=of.kind, size_bytes=of.size_bytes, ranks=of.ranks, rank=of.rank, peer=of.peer)


def _streams(ordered: tuple[Collective, ...], plans: tuple[CollectivePlan, ...], plan: I64, first: int) -> I64:
    width: dict[str, int] = {}
    for of, index in zip(ordered, plan.tolist(), strict=True):
        width[of.group] = max(width.get(of.group, 0), plans[index].planes)
    begin: dict[str, int] = {}
    for group, planes in width.items():
        begin[group] = first
        first += planes
    if first - 1 > MAX_PLAIN_STREAM_ID:
        problem = f"collectives: {len(width)} groups need streams up to {first - 1}, a device has {MAX_PLAIN_STREAM_ID}"
        raise OptionError([problem])
    return np.array([begin[of.group] for of in ordered], np.int64)


def host_rows(work: CollectiveWork) -> dict[str, I64]:
    """
    Return the dispatches that put the collectives on the device, five per collective.

    An event orders it after the issuing stream; it is launched on its group's stream; events order later work
    after it: that of the issuing stream if it blocks, that of whoever asks for its event.
    """
    count = len(work)
    starts = np.array([of.start_ns for of in work.collectives], np.int64)
    ends = np.array([of.start_ns if of.end_ns is None else of.end_ns for of in work.collectives], np.int64)
    blocking = np.array([of.blocking for of in work.collectives], bool)
    wanted = np.array([-1 if of.event is None else of.event for of in work.collectives], np.int64)
    # Numbers below zero are nobody else's.
    ready, done = -2 - 2 * np.arange(count), -3 - 2 * np.arange(count)
    marks = [Mark.RECORD_EVENT, Mark.WAIT_EVENT, Mark.LAUNCH, Mark.RECORD_EVENT, Mark.WAIT_EVENT]
    kinds = np.tile(np.array([int(mark) for mark in marks]), (count, 1))
    kinds[~blocking, 4] = int(Mark.RECORD_EVENT)
    streams = np.stack([work.issuing, work.stream, work.stream, work.stream, work.issuing], 1)
    streams[~blocking, 4] = work.stream[~blocking]
    events = np.stack([ready, ready, ready, done, done], 1)
    rows = {
        "start": np.stack([starts, starts, starts, ends, ends], 1),
        "end": np.stack([starts, starts, ends, ends, ends], 1),
        "mark": kinds,
        "launches": np.tile(np.array([0, 0, 1, 0, 0]), (count, 1)),
        "stream": streams,
        "event": events,
        "thread": np.repeat(np.array([of.thread for of in work.collectives], np.int64), 5).reshape(count, 5),
    }
    flat = {name: values.reshape(-1).astype(np.int64) for name, values in rows.items()}
    asked = np.flatnonzero(wanted >= 0)
    extra = {
        "start": ends[asked],
        "end": ends[asked],
        "mark": np.full(len(asked), int(Mark.RECORD_EVENT), np.int64),
        "launches": np.zeros(len(asked), np.int64),
        "stream": work.stream[asked],
        "event": wanted[asked],
        "thread": flat["thread"][asked * 5],
    }
    # The recording of an event comes right after its collective, before anything at the same time.
    place = np.concatenate([np.arange(count * 5) * 2, asked * 10 + 9])
    order = np.argsort(place, kind="stable")
    return {name: np.concatenate([flat[name], extra[name]])[order] for name in flat}


def merge_launches(
    lowered: Lowered,
    stream: I64,
    ticks: I64,
    work: CollectiveWork,
    rows: I64,
    collective_rows: I64,
    waits: Waits,
) -> tuple[Launches, npt.NDArray[np.bool_]]:
    """
    Return kernels and collectives in host order, and which of them are kernels.

    *rows* are the dispatches of operators, *collective_rows* those that launch the collectives.
    """
    owner = np.concatenate([rows[lowered.launch_dispatch], collective_rows])
    by_host = np.argsort(owner, kind="stable")
    costs = np.full(len(ticks), HostCosts().node_ns, np.int64)
    own = by_host < len(ticks)
    index = np.cumsum(~own) - 1
    asks = waits.meeting is not None
    launches = Launches(
        stream=np.concatenate([stream, work.stream])[by_host],
        duration_ticks=np.concatenate([ticks, work.ticks])[by_host],
        node_ns=np.concatenate([costs, work.node_ns])[by_host],
        held=~own if asks else None,
        hold=(lambda launch, start: waits.ask(int(index[launch]), start)) if asks else None,
    )
    return launches, own


def separate(
    plan: Schedule, own: npt.NDArray[np.bool_], work: CollectiveWork, rows: I64
) -> tuple[Schedule, CollectiveTimes]:
    """Take the launches of collectives out of the schedule; *rows* are their dispatches."""
    launched = ("node_start_ns", "node_end_ns", "runtime_start_ns", "runtime_end_ns")
    queued = ("enqueue_start_ns", "enqueue_end_ns", "dequeue_start_ns", "dequeue_end_ns", "api_start_ns", "api_end_ns")
    times = CollectiveTimes(
        work=work,
        start_ticks=plan.kernel_start_ticks[~own],
        **{name: getattr(plan, name)[~own] for name in launched},
        **{name: getattr(plan, name)[rows] for name in queued},
    )
    kept = {name: getattr(plan, name)[own] for name in (*launched, "kernel_start_ticks")}
    return evolve(plan, **kept), times
