"""Operators to launches: which rows of the operator table put which kernels on the device."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from attrs import frozen

from drynpu.device import inherit, nest
from drynpu.kernels import KernelPlan, KernelSpec, Operators, Placement, Signature

__all__ = ["Lowered", "lower"]

I64 = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@frozen(eq=False, kw_only=True)
class Lowered:
    """
    Launches of an operator table.

    Rows of operators (``[n]``): ``depth``, ``parent``; ``claimed`` rows lie inside an operator that stands for
    them (they are how the CPU computes it); ``device_memory`` rows allocate device memory.
    Rows of dispatches (``[d]``, host order): ``dispatch_op`` the operator row, ``dispatch_plan`` the plan.
    Rows of launches (``[m]``): ``launch_dispatch``, ``launch_kernel`` (index into ``kernels``).
    """

    plans: tuple[KernelPlan, ...]
    kernels: tuple[KernelSpec, ...]
    depth: I64
    parent: I64
    claimed: Bools
    device_memory: Bools
    dispatch_op: I64
    dispatch_plan: I64
    launch_dispatch: I64
    launch_kernel: I64
    unmapped: dict[str, int]
    """Operators without a rule that launched the generic kernel, with their number of calls."""


def lower(operators: Operators, plan: Callable[[Signature], KernelPlan]) -> Lowered:
    """
    Map every distinct signature once and gather the launches of all rows.

    An operator that claims its children launches for them. One without a rule is transparent when it called
    other operators, and launches the generic unmapped kernel when it did not.
    """
    depth, parent = nest(operators.start_ns, operators.end_ns, operators.thread)
    plans = tuple(plan(signature) for signature in operators.signatures)
    has_plan = operators.signature >= 0
    row_plan = np.where(has_plan, operators.signature, 0)

    def by_plan(values: list[bool]) -> Bools:
        table = np.array(values or [False])
        return np.asarray(table[row_plan] & has_plan, bool)

    leaf = np.bincount(parent[parent >= 0], minlength=len(parent)) == 0
    speaks = by_plan([p.mapped for p in plans]) | leaf
    claims = by_plan([p.claims for p in plans]) & speaks
    claimed = inherit(depth, parent, claims)
    launches = by_plan([bool(p.kernels) for p in plans]) & speaks & ~claimed

    kernels, first, count = _number_kernels(plans)
    dispatch_op = np.flatnonzero(launches)
    dispatch_plan = row_plan[dispatch_op].astype(np.int64)
    per_dispatch = count[dispatch_plan] if len(plans) else np.empty(0, np.int64)
    launch_dispatch = np.repeat(np.arange(len(dispatch_op)), per_dispatch)
    position = np.arange(len(launch_dispatch)) - np.repeat(np.cumsum(per_dispatch) - per_dispatch, per_dispatch)
    host = by_plan([s.placement is Placement.HOST for s in operators.signatures])
    makes_memory = (launches | (claims & by_plan([not p.kernels for p in plans]))) & ~host
    return Lowered(
        plans=plans,
        kernels=kernels,
        depth=depth,
        parent=parent,
        claimed=claimed,
        device_memory=(makes_memory | inherit(depth, parent, launches)) & ~inherit(depth, parent, host),
        dispatch_op=dispatch_op,
        dispatch_plan=dispatch_plan,
        launch_dispatch=launch_dispatch,
        launch_kernel=first[dispatch_plan[launch_dispatch]] + position if len(launch_dispatch) else launch_dispatch,
        unmapped=_count_unmapped(operators, plans, dispatch_plan),
    )


def _number_kernels(plans: tuple[KernelPlan, ...]) -> tuple[tuple[KernelSpec, ...], I64, I64]:
    count = np.array([len(p.kernels) for p in plans] or [0], np.int64)
    return tuple(kernel for p in plans for kernel in p.kernels), np.cumsum(count) - count, count


def _count_unmapped(operators: Operators, plans: tuple[KernelPlan, ...], dispatch_plan: I64) -> dict[str, int]:
    calls = np.bincount(dispatch_plan, minlength=len(plans))
    found: Counter[str] = Counter()
    for index, plan in enumerate(plans):
        if not plan.mapped and calls[index]:
            found[operators.signatures[index].name] += int(calls[index])
    return dict(found.most_common())
