"""
One host order of what several threads did.

The simulated host does one thing at a time, so what overlaps is cut into disjoint pieces. Every operator keeps a
piece inside its own interval; the rest of what was busy costs nothing beside an NPU, because it is the time that
the CPU took to compute.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.device import Dispatches, Mark
from drynpu.kernels import KernelPlan, Operators
from drynpu.simulate._calls import asks_workspace, compiles
from drynpu.simulate._lower import Lowered

__all__ = ["DEFAULT_STREAM", "HostMark", "Pieces", "host_order", "pieces"]

I64 = npt.NDArray[np.int64]

DEFAULT_STREAM = 2
"""Stream of work that names none, as in real profiles."""


_FLAGS = ("workspace", "compiles", "in_graph")


@frozen
class HostMark:
    """Something the host did besides operators; ``until_ns`` ends a pause, else it equals ``time_ns``."""

    time_ns: int
    thread: int
    mark: Mark
    stream: int = DEFAULT_STREAM
    event: int = 0
    until_ns: int = 0


@frozen(eq=False)
class Pieces:
    """Disjoint intervals in time order, shape ``[n]``; ``item`` is the item whose piece it is, -1 for the rest."""

    begin_ns: I64
    end_ns: I64
    item: I64


def pieces(start_ns: I64, end_ns: I64, begin_ns: I64) -> Pieces:
    """
    Cut intervals that may overlap.

    An item's piece lasts from its *begin_ns* to the next item's, or to its own end if that comes first; it is
    empty where the next one begins with it. What the items cover besides is returned as pieces of item -1.

    Parameters
    ----------
    start_ns, end_ns, begin_ns:
        Shape ``[n]``, in order of *begin_ns*; ``start_ns <= begin_ns <= end_ns``.
    """
    if (begin_ns == start_ns).all() and (end_ns[:-1] <= begin_ns[1:]).all():
        return Pieces(begin_ns, end_ns, np.arange(len(begin_ns)))
    own_end = np.minimum(end_ns, np.append(begin_ns[1:], np.iinfo(np.int64).max))
    bounds = np.unique(np.concatenate([start_ns, end_ns, begin_ns, own_end]))
    rest = (_coverage(bounds, start_ns, end_ns) > 0) & (_coverage(bounds, begin_ns, own_end) == 0)
    # The rest is cut where an item begins as well: that one's piece may be empty and stands in between.
    cut = np.isin(bounds, begin_ns)
    opens = rest & (~np.concatenate(([False], rest[:-1])) | cut)
    closes = rest & (~np.concatenate((rest[1:], [False])) | np.concatenate((cut[1:], [True])))
    begin = np.concatenate([begin_ns, bounds[opens]])
    end = np.concatenate([own_end, bounds[np.flatnonzero(closes) + 1]])
    item = np.concatenate([np.arange(len(begin_ns)), np.full(len(begin) - len(begin_ns), -1)])
    # Of what begins together the items come first: all but the last of them are empty, and then so is that one.
    order = np.lexsort((item < 0, begin))
    return Pieces(begin[order], end[order], item[order])


def _coverage(bounds: I64, start: I64, end: I64) -> I64:
    """Return how many intervals cover the stretch after each bound."""
    at = [np.bincount(np.searchsorted(bounds, edge), minlength=len(bounds)) for edge in (start, end)]
    return np.asarray(np.cumsum(at[0] - at[1]), np.int64)


def host_order(
    operators: Operators,
    lowered: Lowered,
    marks: tuple[HostMark, ...],
    op_stream: I64,
    *,
    computing: bool,
    further: Mapping[str, I64] | None = None,
) -> tuple[Dispatches, I64]:
    """
    Return one host order of the operators that launch, of the host's marks and of *further* rows.

    The latter are columns ``start``, ``end``, ``mark``, ``launches``, ``stream``, ``event``, ``thread``, in time
    order; those of one time keep theirs, after marks and before operators of that time.
    With *computing* the timeline shows the operators that compute a kernel; the launch comes before them then.
    The second value tells where the operators stand in it: int64 ``[d]``, one position per dispatch of *lowered*.
    """
    count = len(lowered.dispatch_op)
    until = lowered.dispatch_until_ns if computing else operators.end_ns[lowered.dispatch_op]
    items = _items(operators, lowered, marks, op_stream, until)
    if further is not None:
        unasked = np.zeros(len(further["start"]), np.int64)
        rows = {"begin": further["start"], **dict.fromkeys(_FLAGS, unasked), **further}
        items = {name: np.concatenate([values, rows[name]]) for name, values in items.items()}
    # What is no operator comes before an operator that begins in the same nanosecond.
    order = np.lexsort((np.arange(len(items["begin"])) < count, items["begin"]))
    cut = pieces(*(items.pop(name)[order] for name in ("start", "end", "begin")))
    # Position -1 of every column: what stands for a piece that is nobody's.
    source = np.append(order, -1)[cut.item]
    rest = {"mark": int(Mark.PAUSE)}
    taken = {name: np.append(values, rest.get(name, 0))[source] for name, values in items.items()}
    flags = {name: taken.pop(name).astype(bool) for name in _FLAGS}
    position = np.empty(len(order), np.int64)
    position[source[source >= 0]] = np.flatnonzero(source >= 0)
    return Dispatches(start_ns=cut.begin_ns, end_ns=cut.end_ns, **taken, **flags), position[:count]


def _items(
    operators: Operators, lowered: Lowered, marks: tuple[HostMark, ...], op_stream: I64, until: I64
) -> dict[str, I64]:
    """Return the columns of everything that takes its turn on the host, int64: first the operators, then marks."""
    op, plans = lowered.dispatch_op, lowered.plans

    def of_plan(value: Callable[[KernelPlan], bool]) -> I64:
        return np.array([value(plan) for plan in plans] or [False], np.int64)[lowered.dispatch_plan]

    launches = np.bincount(lowered.launch_dispatch, minlength=len(op))
    waits = of_plan(lambda plan: plan.synchronizes)
    none = [0] * len(marks)
    time = [mark.time_ns for mark in marks]
    columns: dict[str, tuple[npt.ArrayLike, list[int]]] = {
        "start": (operators.start_ns[op], time),
        "end": (until, [max(mark.until_ns, mark.time_ns) for mark in marks]),
        "begin": (lowered.dispatch_begin_ns, time),
        "mark": (np.where(waits, Mark.WAIT_STREAM, Mark.LAUNCH), [mark.mark for mark in marks]),
        "launches": (launches, none),
        "workspace": (of_plan(asks_workspace), none),
        "compiles": (of_plan(compiles), none),
        "in_graph": (of_plan(lambda plan: plan.in_graph), none),
        "stream": (op_stream, [mark.stream for mark in marks]),
        "event": (np.zeros(len(op)), [mark.event for mark in marks]),
        "thread": (operators.thread[op], [mark.thread for mark in marks]),
    }
    return {name: np.concatenate([np.asarray(part, np.int64) for part in parts]) for name, parts in columns.items()}
