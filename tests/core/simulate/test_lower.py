"""Operators to launches: against a recursion over the tree, and case by case."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drynpu.kernels import KernelPlan, Operators, Placement


def names(table: Operators, rows: Any) -> list[str]:
    return [table.names[table.name[row]] for row in rows]


def test_an_operator_that_claims_its_children_launches_for_them(tools: Any) -> None:
    row = tools.Row
    table = tools.operators([row("two", 0, 100), row("add", 10, 50), row("item", 20, 30), row("add", 200, 300)])
    lowered = tools.lower(table)
    assert names(table, lowered.dispatch_op) == ["two", "add"]
    assert lowered.dispatch_op.tolist() == [0, 3]
    assert [lowered.kernels[k].name for k in lowered.launch_kernel] == [
        "aclnnCast_Cast",
        "aclnnTwo_Two",
        "aclnnAdd_Add",
    ]
    assert lowered.launch_dispatch.tolist() == [0, 0, 1]
    assert lowered.claimed.tolist() == lowered.computing.tolist() == [False, True, True, False]


def test_views_and_host_operators_launch_nothing_and_nor_does_what_they_call(tools: Any) -> None:
    row = tools.Row
    rows = [
        row("view", 0, 100),
        row("add", 10, 50),
        row("add", 200, 300, placement=Placement.HOST),
        row("add", 210, 220),
    ]
    lowered = tools.lower(tools.operators(rows))
    assert lowered.dispatch_op.tolist() == []
    assert lowered.claimed.tolist() == [False, True, False, True]
    # An NPU's host would have called them as well: they are shown.
    assert not lowered.computing.any()
    assert lowered.unmapped == {}


def test_composites_and_annotations_are_transparent(tools: Any) -> None:
    row = tools.Row
    table = tools.operators(
        [row("#step", 0, 100), row("composite", 10, 90), row("unknown", 20, 80), row("add", 30, 40)]
    )
    lowered = tools.lower(table)
    assert names(table, lowered.dispatch_op) == ["add"]
    assert lowered.unmapped == {}


def test_a_leaf_without_a_rule_launches_the_generic_kernel_and_is_counted(tools: Any) -> None:
    row = tools.Row
    rows = [row("unknown", 0, 10), row("unknown", 20, 90), row("add", 30, 40), row("unknown", 100, 110)]
    rows += [row("other", 120, 130), row("view", 140, 190), row("unknown", 150, 160), row("composite", 200, 210)]
    table = tools.operators(rows)
    lowered = tools.lower(table)
    assert names(table, lowered.dispatch_op) == ["unknown", "add", "unknown", "other"]
    assert lowered.unmapped == {"unknown": 2, "other": 1}
    assert [lowered.kernels[k].mapped for k in lowered.launch_kernel] == [False, True, False, False]
    assert list(lowered.unmapped) == ["unknown", "other"], "most frequent first"


def test_an_operator_without_a_rule_that_only_made_its_result_computed_it_itself(tools: Any) -> None:
    row = tools.Row
    rows = [row("unknown", 0, 100), row("view", 5, 8), row("empty", 10, 20)]
    rows += [row("other", 200, 300), row("empty", 210, 220), row("add", 230, 240)]
    rows += [row("other", 400, 500), row("unknown", 410, 490), row("empty", 420, 430)]
    table = tools.operators(rows)
    lowered = tools.lower(table)
    assert names(table, lowered.dispatch_op) == ["unknown", "add", "unknown"]
    assert lowered.dispatch_op.tolist() == [0, 5, 7], "the innermost of those that could have"
    assert lowered.unmapped == {"unknown": 2}
    assert lowered.device_memory[[2, 8]].all()


def test_an_operator_that_leaves_its_children_to_launch_comes_after_them(tools: Any) -> None:
    row = tools.Row
    table = tools.operators([row("index", 0, 100), row("add", 20, 60), row("view", 70, 75), row("index", 200, 300)])
    lowered = tools.lower(table)
    assert names(table, lowered.dispatch_op) == ["add", "index", "index"]
    assert (lowered.dispatch_begin_ns - tools.begin_ns).tolist() == [20, 75, 200]


def test_who_allocates_device_memory(tools: Any) -> None:
    """An operator that launches and all it calls, and views that make tensors; nothing whose result is on the host."""
    row = tools.Row
    rows = [
        row("add", 0, 100),
        row("view", 10, 20),
        row("view", 110, 120),
        row("composite", 130, 200),
        row("unknown", 140, 150),
        row("add", 210, 300, placement=Placement.HOST),
        row("view", 220, 230),
        row("copy", 310, 400, placement=Placement.TO_DEVICE),
        row("view", 320, 330),
        row("copy", 410, 500, placement=Placement.TO_HOST),
        row("view", 420, 430),
        row("#note", 510, 520),
    ]
    lowered = tools.lower(tools.operators(rows))
    device = [True, True, True, False, True, False, False, True, True, False, False, False]
    assert lowered.device_memory.tolist() == device
    assert [lowered.kernels[k].copy is not None for k in lowered.launch_kernel] == [False, False, True, True]


def test_nothing(tools: Any) -> None:
    lowered = tools.lower(tools.operators([]))
    assert len(lowered.dispatch_op) == len(lowered.launch_kernel) == len(lowered.claimed) == 0
    assert lowered.launch_dispatch.dtype == lowered.launch_kernel.dtype == np.int64


@given(st.data())
def test_launches_are_those_of_a_recursion_over_the_tree(tools: Any, data: st.DataObject) -> None:
    table = tools.operators(data.draw(tools.forests()))
    lowered = tools.lower(table)
    children: dict[int, list[int]] = {}
    for index, parent in enumerate(lowered.parent.tolist()):
        children.setdefault(parent, []).append(index)
    expected: list[int] = []
    hidden: set[int] = set()

    def plan_of(index: int) -> KernelPlan | None:
        return lowered.plans[table.signature[index]] if table.signature[index] >= 0 else None

    def below(index: int) -> Iterator[int]:
        for child in children.get(index, []):
            yield child
            yield from below(child)

    def speaks(index: int) -> bool:
        plan = plan_of(index)
        if plan is None or plan.mapped or not children.get(index):
            return plan is not None
        inner = [(plan_of(row), row) for row in below(index)]
        makes = any(plan and plan.allocates for plan, _ in inner)
        return makes and not any(plan and plan.kernels and speaks(row) for plan, row in inner)

    def visit(index: int, *, silent: bool, inside: bool) -> None:
        if inside:
            hidden.add(index)
        own = children.get(index, [])
        plan = plan_of(index)
        launches = bool(plan and speaks(index) and plan.kernels and not silent)
        claims = bool(plan and speaks(index) and plan.claims)
        for child in own:
            visit(child, silent=silent or claims, inside=inside or (launches and claims))
        if launches:
            expected.append(index)

    for root in children.get(-1, []):
        visit(root, silent=False, inside=False)
    assert sorted(lowered.dispatch_op.tolist()) == sorted(expected)
    assert np.flatnonzero(lowered.computing).tolist() == sorted(hidden)
    begin = lowered.dispatch_begin_ns
    assert (np.diff(begin) >= 0).all()
    op = lowered.dispatch_op
    assert (table.start_ns[op] <= begin).all()
    assert (begin <= table.end_ns[op]).all()
    # On one thread, what an operator calls comes before what it launches itself.
    place = {row: position for position, row in enumerate(op.tolist())}
    for row in op.tolist():
        above = int(lowered.parent[row])
        while above >= 0:
            assert above not in place or place[row] < place[above]
            above = int(lowered.parent[above])
    counted = np.bincount(lowered.launch_dispatch, minlength=len(op))
    assert counted.tolist() == [len(lowered.plans[p].kernels) for p in lowered.dispatch_plan]
