"""Stage 1, lower: which rows of the operator table put which kernels on the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from attrs import evolve, frozen

from drynpu.arrays import I64, Bools
from drynpu.device import closing_order, inherit, nest
from drynpu.kernels import KernelPlan, KernelSpec, Operators, Placement, Signature
from drynpu.simulate._recording import Recording

Planner: TypeAlias = Callable[[Signature], KernelPlan]
"""Maps an operator call to its kernels, as `drynpu.kernels.RuleBook.plan` does."""

_OFF_DEVICE = (Placement.HOST, Placement.TO_HOST)
"""Where the result of an operator is host memory."""


@frozen(eq=False, kw_only=True)
class LoweredLaunches:
    """
    The kernels that the operators of a recording launch.

    There is a row for each operator (``[n]``), for each operator that launches (``[d]``, in host order) and for each
    launch (``[m]``).

    Attributes
    ----------
    depth, parent:
        ``[n]``: how operators enclose each other on their thread; parent -1 for none.
    claimed:
        ``[n]``: lies inside an operator that launches for all it calls, and so launches nothing.
    computing:
        ``[n]``: lies inside an operator that launches kernels: the CPU computes them with it, a device would not.
    device_memory:
        ``[n]``: what it allocates is device memory.
    dispatch_op, dispatch_plan:
        ``[d]``: row of the operator, index of its plan.
    dispatch_begin_ns:
        ``[d]``: when the operator launches. That is its start, or the end of the last operator that it called if those
        launch for themselves.
    dispatch_until_ns:
        ``[d]``: until when no other operator is shown inside it, where computing operators are shown.
    launch_dispatch, launch_kernel:
        ``[m]``: row among the operators that launch, index into ``kernels``.
    """

    recording: Recording
    plans: tuple[KernelPlan, ...]
    kernels: tuple[KernelSpec, ...]
    depth: I64
    parent: I64
    claimed: Bools
    computing: Bools
    device_memory: Bools
    dispatch_op: I64
    dispatch_plan: I64
    dispatch_begin_ns: I64
    dispatch_until_ns: I64
    launch_dispatch: I64
    launch_kernel: I64
    unmapped: dict[str, int]
    """Operators without a rule that launched the generic kernel, with their number of calls."""
    unknown: dict[str, int]
    """Types of the kernels whose work is not known, with their number of launches."""


def lower(recording: Recording, plan: Planner) -> LoweredLaunches:
    """
    Map every distinct signature once and gather the launches of all rows.

    An operator that claims its children launches for them. One without a rule that does not claim them launches the
    generic unmapped kernel when it called nothing, or nothing but views and a new tensor to compute into; else what it
    called launches.
    """
    operators = recording.operators
    depth, parent = nest(operators.start_ns, operators.end_ns, operators.thread)
    plans = tuple(plan(signature) for signature in operators.signatures)
    has_plan = operators.signature >= 0
    row_plan = np.where(has_plan, operators.signature, 0).astype(np.int64)

    def by_plan(values: list[bool]) -> Bools:
        table = np.array(values or [False])
        return np.asarray(table[row_plan] & has_plan, bool)

    has_kernels = by_plan([bool(p.kernels) for p in plans])
    speaks = _speaking(
        depth,
        parent,
        known=by_plan([p.mapped or p.claims for p in plans]),
        has_kernels=has_kernels,
        allocates=by_plan([p.allocates for p in plans]),
    )
    claims = by_plan([p.claims for p in plans]) & speaks
    claimed = inherit(depth, parent, claims)
    launches = has_kernels & speaks & ~claimed
    off_device = by_plan([s.placement in _OFF_DEVICE for s in operators.signatures])
    makes_memory = launches | (claims & ~has_kernels)

    kernels, first, count = _number_kernels(plans)
    dispatch_op, begin, until = _dispatches(operators, depth, parent, launches, claims)
    dispatch_plan = row_plan[dispatch_op]
    per_dispatch = count[dispatch_plan]
    launch_dispatch = np.repeat(np.arange(len(dispatch_op)), per_dispatch)
    position = np.arange(len(launch_dispatch)) - np.repeat(np.cumsum(per_dispatch) - per_dispatch, per_dispatch)
    return LoweredLaunches(
        recording=recording,
        plans=plans,
        kernels=kernels,
        depth=depth,
        parent=parent,
        claimed=claimed,
        computing=inherit(depth, parent, claims & launches),
        device_memory=(makes_memory | inherit(depth, parent, launches))
        & ~(off_device | inherit(depth, parent, off_device)),
        dispatch_op=dispatch_op,
        dispatch_plan=dispatch_plan,
        dispatch_begin_ns=begin,
        dispatch_until_ns=until,
        launch_dispatch=launch_dispatch,
        launch_kernel=first[dispatch_plan[launch_dispatch]] + position,
        unmapped=_count_unmapped(operators, plans, dispatch_plan),
        unknown=_count_unknown(plans, dispatch_plan),
    )


def _speaking(depth: I64, parent: I64, *, known: Bools, has_kernels: Bools, allocates: Bools) -> Bools:
    """
    Return which rows may launch.

    Those are the ones *known* to launch or not, by a rule or because they compute themselves, and the others whose work
    no operator inside them shows.
    """
    speaks = known | (np.bincount(parent[parent >= 0], minlength=len(parent)) == 0)
    launches_below, allocates_below = np.zeros(len(parent), bool), np.zeros(len(parent), bool)
    for level in range(int(depth.max(initial=-1)), -1, -1):
        rows = np.flatnonzero(depth == level)
        speaks[rows] |= allocates_below[rows] & ~launches_below[rows]
        up = rows[parent[rows] >= 0]
        launches_below[parent[up[launches_below[up] | (speaks[up] & has_kernels[up])]]] = True
        allocates_below[parent[up[allocates_below[up] | allocates[up]]]] = True
    return np.asarray(speaks, bool)


def _dispatches(operators: Operators, depth: I64, parent: I64, launches: Bools, claims: Bools) -> tuple[I64, I64, I64]:
    """Return the rows that launch in host order, when each launches, and until when nothing else happens in it."""
    begin, until = operators.start_ns.copy(), operators.end_ns.copy()
    children = np.flatnonzero((parent >= 0) & launches[np.maximum(parent, 0)])
    owner = parent[children]
    # An operator that leaves its children to launch comes after them: it works on their results.
    after = claims[owner]
    np.maximum.at(begin, owner[~after], operators.end_ns[children[~after]])
    np.minimum.at(until, owner[after], operators.start_ns[children[after]])
    begin = np.minimum(begin, operators.end_ns)
    rows = np.flatnonzero(launches)
    # Of what launches at the same time, what ends first comes first: an outer operator works on the result of an inner.
    rows = rows[np.lexsort((closing_order(depth, operators.thread)[rows], begin[rows]))]
    return rows, begin[rows], np.maximum(begin, until)[rows]


def _number_kernels(plans: tuple[KernelPlan, ...]) -> tuple[tuple[KernelSpec, ...], I64, I64]:
    """Return the kernels of all plans, and for each plan its first one and their number."""
    count = np.array([len(p.kernels) for p in plans] or [0], np.int64)
    # The graph engine compiles the kernels of a graph for their shapes.
    kernels = tuple(evolve(kernel, static=True) if p.in_graph else kernel for p in plans for kernel in p.kernels)
    return kernels, np.cumsum(count) - count, count


def launching_operator(row: I64, lowered: LoweredLaunches) -> I64:
    """Return the launching operator that encloses (or is) each operator row, -1 if none."""
    dispatching = np.zeros(max(len(lowered.parent), 1), bool)
    dispatching[lowered.dispatch_op] = True
    operator = row.copy()
    while True:
        climb = np.flatnonzero((operator >= 0) & ~dispatching[operator])
        if not len(climb):
            return operator
        operator[climb] = lowered.parent[operator[climb]]


def _count_unmapped(operators: Operators, plans: tuple[KernelPlan, ...], dispatch_plan: I64) -> dict[str, int]:
    calls = np.bincount(dispatch_plan, minlength=len(plans))
    counts: Counter[str] = Counter()
    for index, plan in enumerate(plans):
        if not plan.mapped and calls[index]:
            counts[operators.signatures[index].name] += int(calls[index])
    return dict(counts.most_common())


def _count_unknown(plans: tuple[KernelPlan, ...], dispatch_plan: I64) -> dict[str, int]:
    calls = np.bincount(dispatch_plan, minlength=len(plans))
    counts: Counter[str] = Counter()
    for index, plan in enumerate(plans):
        for kernel in plan.kernels:
            if not kernel.known and calls[index]:
                counts[kernel.op_type] += int(calls[index])
    return dict(counts.most_common())
