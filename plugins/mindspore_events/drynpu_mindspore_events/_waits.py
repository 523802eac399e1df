"""How long threads waited for a processor of this machine while work between events was issued."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator, Mapping

import numpy as np
from attrs import define, field, frozen

from drynpu.arrays import I64
from drynpu.host import counters_folder
from drynpu.kernels import Operators


@frozen
class Reading:
    """
    The counts of this process at a time.

    Attributes
    ----------
    waited_ns:
        How long each thread was ready to run without a processor so far, by its number.
    script_ns:
        How long the thread that looked had run or been ready so far.
    is_inside:
        Whether the script is in a call of ours until the next reading, and so does not sleep of its own accord.
    """

    time_ns: int
    waited_ns: Mapping[int, int]
    script_ns: int
    is_inside: bool


def read_counts(*, is_inside: bool) -> Reading:
    """Return what Linux counts of the threads of this process; nothing elsewhere."""
    folder, script = counters_folder(), threading.get_native_id()
    ran_ns: dict[int, int] = {}
    waited_ns: dict[int, int] = {}
    for thread in (folder / "self" / "task").iterdir() if folder is not None else ():
        try:
            ran, waited, _ = map(int, (thread / "schedstat").read_bytes().split())
        except (OSError, ValueError):
            continue  # it has ended, or nothing counts this here
        ran_ns[int(thread.name)], waited_ns[int(thread.name)] = ran, waited
    script_ns = ran_ns.get(script, 0) + waited_ns.get(script, 0)
    return Reading(time.time_ns(), waited_ns, script_ns, is_inside)


@define
class Looks:
    """
    Readings while a stretch of work is open.

    MindSpore issues operators on threads of its own, which nobody can ask between two operators. So it is known how
    long a thread waited between two readings, but not in which gap between operators.
    """

    _readings: list[Reading] = field(factory=list)

    def look(self, *, is_inside: bool = False) -> None:
        """Read the counts now."""
        self._readings.append(read_counts(is_inside=is_inside))

    def clear(self) -> None:
        """Forget all readings."""
        self._readings.clear()

    def waits(self, operators: Operators, script: int) -> I64:
        """
        Return rows of ``Recording.processor_waits``: when an operator began, and how long its threads had waited.

        Shape ``[n, 2]``, ns. *script* is the thread that recorded the events.
        """
        threads = {script, *np.unique(operators.thread).tolist()}
        rows: list[tuple[int, int]] = []
        for first, second in itertools.pairwise(self._readings):
            waited_ns = sum(
                now_ns - first.waited_ns.get(thread, 0)
                for thread, now_ns in second.waited_ns.items()
                if thread in threads
            )
            start_ns, gap_ns = _gaps(operators, first.time_ns, second.time_ns)
            slept_ns = second.time_ns - first.time_ns - (second.script_ns - first.script_ns)
            kept_ns = 0 if first.is_inside else max(slept_ns, 0)
            rows += spread(start_ns, gap_ns, min(waited_ns, max(int(gap_ns.sum()) - kept_ns, 0)))
        return np.array(rows, np.int64).reshape(-1, 2)


def _gaps(operators: Operators, begin_ns: int, end_ns: int) -> tuple[I64, I64]:
    """Return when operators began between two times, and how long none had run before, ns."""
    order = np.argsort(operators.start_ns, kind="stable")
    start_ns, stop_ns = operators.start_ns[order], np.maximum.accumulate(operators.end_ns[order])
    inside = (start_ns > begin_ns) & (start_ns <= end_ns)
    before_ns = np.maximum(np.concatenate([[begin_ns], stop_ns[:-1]]), begin_ns) if len(stop_ns) else stop_ns
    return start_ns[inside], np.maximum(start_ns - before_ns, 0)[inside]


def spread(start_ns: I64, gap_ns: I64, waited_ns: int) -> Iterator[tuple[int, int]]:
    """
    Yield how much of a wait lies in each gap: the shortest gaps were waits altogether, as far as the wait goes.

    A script that sleeps has a long gap for it. What is taken from short gaps changes nothing, for calls in them take
    what they take beside an NPU.
    """
    for place in np.argsort(gap_ns, kind="stable").tolist():
        part_ns = min(int(gap_ns[place]), waited_ns)
        if part_ns > 0:
            yield int(start_ns[place]), part_ns
        waited_ns -= part_ns
