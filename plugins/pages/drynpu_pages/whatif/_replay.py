"""The device and its host again, event after event, with other lengths of the work."""

from __future__ import annotations

import numpy as np
from attrs import field, frozen

from drynpu.arrays import I64
from drynpu.device import HostCosts
from drynpu_pages.critical import UNKNOWN, Host, Queue, Work
from drynpu_pages.whatif._causes import Causes

_WORK, _WAIT, _ENTRY = 0, 1, 2
"""Events in the order in which they count at one time: what ended, who waited for it, what is handed over next."""

_LEAST_NS = 1
"""What a wait takes that has nothing to wait for any more; not nothing, so that events keep their order."""


@frozen(eq=False)
class Again:
    """
    The times of a run that was simulated again, ns.

    ``start`` and ``end`` of the work, ``[n]``; the ``host`` as it was then; ``back`` when each call that waits came
    back, ``[w]``.
    """

    start: I64
    end: I64
    host: Host
    back: I64


@frozen(eq=False)
class Recording:
    """What was recorded of a run, with its causes; ``begin``: when the first step began, ns."""

    work: Work = field(repr=False)
    host: Host = field(repr=False)
    causes: Causes = field(repr=False)
    begin: int


class _Line:
    """
    The line of the host: what it does between two calls that wait takes as long as recorded, or no time.

    Times of the recording are moved by as much as the call before came back later or earlier.
    """

    def __init__(self, recording: Recording, *, no_host_gaps: bool) -> None:
        self._waits = recording.host.waits
        self._begin = recording.begin
        self._none = no_host_gaps
        self.back: list[int] = [0] * len(self._waits)

    def at(self, time: int, last: int) -> int:
        """Return when the host comes to a *time* of the recording; *last* is the last call that came back before it."""
        if last < 0:
            return min(time, self._begin) if self._none else time
        return self.back[last] if self._none else time + self.back[last] - int(self._waits[last, 1])

    def last(self, times: I64) -> I64:
        """Return the last call that came back before each time, -1 for none."""
        return np.searchsorted(self._waits[:, 1], times, side="right") - 1


def replay(recording: Recording, length: I64, *, no_host_gaps: bool = False) -> Again:
    """
    Return the times of a run whose work takes *length*, ns, ``[n]``.

    Streams and the task queue take what comes first first. A call that waits for the device comes back when all is
    done that was on its streams before.
    """
    return _Replay(recording, length, no_host_gaps=no_host_gaps).run()


class _Replay:
    """One walk over all events; lists of plain numbers, because each depends on others before it."""

    def __init__(self, recording: Recording, length: I64, *, no_host_gaps: bool) -> None:
        self.recording, self.none = recording, no_host_gaps
        work, host, causes = recording.work, recording.host, recording.causes
        self.line = _Line(recording, no_host_gaps=no_host_gaps)
        self.start, self.end = work.start.tolist(), work.end.tolist()
        self.length = np.where(causes.waited, np.minimum(length, _LEAST_NS), length).tolist()
        self.submitted, self.entry = host.submitted.tolist(), host.entry.tolist()
        self.submitted_after = self.line.last(host.submitted).tolist()
        self.ahead = causes.ahead.tolist()
        self.gap, self.launch = causes.gap.tolist(), causes.launch.tolist()
        self.other, self.other_gap = causes.other.tolist(), causes.other_gap.tolist()
        self.held, self.held_gap = causes.held.tolist(), causes.held_gap.tolist()
        self.taken, self.given = host.queue.start.tolist(), host.queue.end.tolist()
        self.put = host.queue.put.tolist()
        self.put_after = self.line.last(host.queue.put).tolist()
        self.follows = _follows(host.queue)
        self.late = _late(host.queue, self.follows)
        self.taken_new, self.given_new, self.put_new = self.taken[:], self.given[:], self.put[:]
        self.submitted_new = self.submitted[:]
        self.awaited = _awaited(work, host)
        self.called = host.waits[:, 0].tolist()
        self.called_after = self.line.last(host.waits[:, 0]).tolist()
        self.reached: dict[int, int] = {}
        self.lanes = _lanes_of(work)

    def run(self) -> Again:
        """Return the times."""
        work, host = self.recording.work, self.recording.host
        kinds = np.repeat([_WORK, _WAIT, _ENTRY], [len(work.start), len(host.waits), len(host.queue.start)])
        number = np.concatenate([np.arange(size) for size in (len(work.start), len(host.waits), len(host.queue.start))])
        times = np.concatenate([work.end, host.waits[:, 1], host.queue.start])
        steps = (self._work, self._wait, self._entry)
        order = np.lexsort((number, kinds, times))
        for kind, each in zip(kinds[order].tolist(), number[order].tolist(), strict=True):
            steps[kind](each)
        start, end, put = (np.array(times, np.int64) for times in (self.taken_new, self.given_new, self.put_new))
        queue = Queue(start=start, end=end, tid=host.queue.tid, put=put)
        back = np.array(self.line.back, np.int64)
        called = np.array(self.called, np.int64)
        return Again(
            start=np.array(self.start, np.int64),
            end=np.array(self.end, np.int64),
            host=Host(
                np.array(self.submitted_new, np.int64), host.entry, queue, np.stack([called, back], 1), host.is_for_all
            ),
            back=back,
        )

    def _entry(self, each: int) -> None:
        """Take an entry out of the queue: when it is in, and its thread has done the one before."""
        put = self.put_new[each] = self.line.at(self.put[each], self.put_after[each])
        begin = put
        if self.follows[each]:
            begin = max(begin, self.given_new[each - 1])
        begin += 0 if self.none else self.late[each]
        self.taken_new[each] = begin
        self.given_new[each] = begin if self.none else begin + self.given[each] - self.taken[each]

    def _arrival(self, each: int) -> int:
        """Return when an entry of the work is on its stream."""
        submitted = self.submitted[each]
        if submitted <= UNKNOWN:
            return UNKNOWN
        entry = self.entry[each]
        if entry < 0:
            arrived = self.line.at(submitted, self.submitted_after[each])
        else:
            arrived = self.taken_new[entry] + (0 if self.none else submitted - self.taken[entry])
        self.submitted_new[each] = arrived
        arrives: int = arrived + self.launch[each]
        return arrives

    def _work(self, each: int) -> None:
        begin = self._arrival(each)
        for ahead in self.ahead[each]:
            if ahead >= 0:
                begin = max(begin, self.end[ahead] + self.gap[each])
        if self.other[each] >= 0:
            begin = max(begin, self.end[self.other[each]] + self.other_gap[each])
        # Of what nothing came before only the recorded time is known.
        begin = self.start[each] if begin <= UNKNOWN + self.launch[each] else begin
        end = begin + self.length[each]
        if self.held[each] >= 0:
            end = max(end, self.end[self.held[each]] + self.held_gap[each])
        self.start[each], self.end[each] = begin, end
        for lane in self.lanes[each]:
            self.reached[lane] = max(self.reached.get(lane, UNKNOWN), end)

    def _wait(self, each: int) -> None:
        """Let a call that waits come back: when its streams are done, and it has done its own work."""
        lane, after, least = self.awaited[each]
        called = self.line.at(self.called[each], self.called_after[each])
        self.called[each] = called
        done = max(self.reached.values(), default=UNKNOWN) if lane is None else self.reached.get(lane, UNKNOWN)
        self.line.back[each] = max(called + (0 if self.none else least), done + after)


def _follows(queue: Queue) -> list[bool]:
    return [False, *(queue.tid[1:] == queue.tid[:-1]).tolist()][: len(queue.tid)]


def _late(queue: Queue, follows: list[bool]) -> list[int]:
    """Return how long after an entry could be taken out it was."""
    earlier = np.where(follows, np.minimum(np.roll(queue.end, 1), queue.start), UNKNOWN)
    late: list[int] = (queue.start - np.maximum(earlier, queue.put)).tolist()
    return late


def _lanes_of(work: Work) -> list[list[int]]:
    """Return the lanes of each entry that is work; a wait for another stream is none."""
    lanes: list[list[int]] = [[] for _ in range(len(work.start))]
    for item, lane in zip(work.lane_items.tolist(), work.lanes.tolist(), strict=True):
        lanes[item].append(lane)
    return lanes


def _awaited(work: Work, host: Host) -> list[tuple[int | None, int, int]]:
    """
    Return for each call that waits: the lane it waits for, how long after that it comes back, what it takes by itself.

    Lane ``None`` stands for all of them. Which stream a call names no record says: the stream of the work that
    ended last before it came back; where nothing ended while it waited, the one with most work.
    """
    if not len(host.waits) or not len(work.lanes):
        return [(None, 0, back - called) for called, back in host.waits.tolist()]
    busiest = int(np.bincount(work.lanes).argmax())
    lane_of = np.zeros(len(work.start), np.int64)
    lane_of[work.lane_items] = work.lanes
    works = np.flatnonzero(~work.is_wait)
    place = np.searchsorted(work.end[works], host.waits[:, 1], side="right") - 1
    device = works[np.maximum(place, 0)] if len(works) else np.zeros(len(place), np.int64)
    done = np.where(place >= 0, work.end[device], UNKNOWN)
    result: list[tuple[int | None, int, int]] = []
    usual = HostCosts().synchronize_ns
    columns = (host.waits.tolist(), device.tolist(), done.tolist(), host.is_for_all.tolist())
    for (called, back), item, ended, is_for_all in zip(*columns, strict=True):
        lane = None if is_for_all else int(lane_of[item]) if ended > called else busiest
        waits = ended > called
        result.append((lane, back - ended if waits else 0, min(usual, back - called) if waits else back - called))
    return result
