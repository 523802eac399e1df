"""Blocks of memory: when they are alive, whose they are, and what their life says they are for."""

from __future__ import annotations

import polars as pl
from attrs import evolve

from drynpu.analysis import component_memory, host_phases, live_blocks, memory_blocks, module_calls
from drynpu.analysis._host_phases import is_backward
from drynpu.tables import Profile

from .conftest import host_op, make_profile

MAIN = 1
MALLOC, FREE = 0, 1
BACKWARD = 1
AUTOGRAD = "autograd::engine::evaluate_function"


def event(pointer: int, time: int, action: int, size: int, total: int) -> dict[str, object]:
    totals = {f"total_{name}_bytes": total for name in ("allocated", "reserved", "active")}
    sign = 1 if action == MALLOC else -1
    return {"pointer": pointer, "time_ns": time, "action": action, "size_bytes": sign * size, "device_type": 20,
            "tid": MAIN, **totals}  # fmt: skip


def training() -> Profile:
    """One step: forward 10-40 (two modules), backward 50-70 on numbers of its own, the optimizer 75-90."""
    return make_profile(
        host_ops=[
            host_op("ProfilerStep#3", 0, 100),
            host_op("aten::addmm", 12, 18, sequence=7),
            host_op("aten::relu", 30, 36, sequence=8),
            host_op(f"{AUTOGRAD}: ReluBackward0", 50, 58, scope=BACKWARD, sequence=8, fwd_tid=1),
            host_op(f"{AUTOGRAD}: AddmmBackward0", 60, 70, sequence=7, fwd_tid=1),
            host_op("Optimizer.step#Adam.step", 75, 90),
            host_op("aten::zeros", 76, 80),
        ],
        python_calls=[
            {"time_ns": time, "tid": MAIN, "name": name, "tag": tag}
            for time, name, tag in (
                (5, "Net######0", 0), (10, "Linear######0", 0), (20, "leave", 1), (28, "ReLU######0", 0),
                (38, "leave", 1), (40, "leave", 1),
            )
        ],
        allocations=[
            event(9, -5, MALLOC, 1000, 5000),  # before the step
            event(1, 14, MALLOC, 64, 5064),  # the activation of Linear_0
            event(2, 32, MALLOC, 32, 5096),
            event(2, 34, FREE, 32, 5064),
            event(3, 52, MALLOC, 16, 5080),
            event(1, 56, FREE, 64, 5016),
            event(4, 62, MALLOC, 8, 5024),  # a gradient of Linear_0
            event(3, 66, FREE, 16, 5008),
            event(5, 78, MALLOC, 4, 5012),  # state that stays
            event(6, 79, MALLOC, 2, 5014),
            event(6, 85, FREE, 2, 5012),
            event(4, 95, FREE, 8, 5004),
        ],
    )  # fmt: skip


def test_the_phases_of_a_step_on_the_host() -> None:
    row = host_phases(training()).row(0, named=True)
    assert (row["step"], row["start_ns"], row["end_ns"]) == ("3", 0, 100)
    assert (row["backward_start_ns"], row["backward_end_ns"]) == (50, 70)
    assert (row["optimizer_start_ns"], row["optimizer_end_ns"]) == (75, 90)
    assert row["forward_ns"] is None  # nothing was launched


def test_backward_is_told_by_scope_or_name() -> None:
    names = ["aten::mm", f"{AUTOGRAD}: MmBackward0", "RuntimeFramework::PreLaunch::Gradients/Default/net/MatMul-op1",
             "Gradients/Default/net/ReluGrad-op0", "Default/Gradients/net"]  # fmt: skip
    rows = pl.DataFrame({"name": [*names, "aten::mul"], "scope": [None, *[0] * 4, BACKWARD]})
    assert rows.select(is_backward().alias("it"))["it"].to_list() == [False, True, True, True, False, True]


def test_lives_tell_what_blocks_are_for() -> None:
    blocks = memory_blocks(training())
    found = {row["size_bytes"]: (row["name"], row["module"], row["category"]) for row in blocks.iter_rows(named=True)}
    assert found == {
        1000: ("", "", "outside of steps"),
        64: ("aten::addmm", "Linear_0", "activation"),
        32: ("aten::relu", "ReLU_0", "temporary"),
        16: ("autograd::engine::evaluate_function: ReluBackward0", "ReLU_0", "temporary"),
        8: ("autograd::engine::evaluate_function: AddmmBackward0", "Linear_0", "gradient"),
        4: ("aten::zeros", "", "optimizer state"),
        2: ("aten::zeros", "", "temporary"),
    }


def test_the_ends_of_phases_belong_to_them() -> None:
    """Blocks that are taken at the first or last instant of a phase, or released at one, count to it."""
    moments = ((50, 71, "gradient"), (70, 71, "gradient"), (70, 70, "temporary"), (49, 50, "activation"))
    moments += ((49, 49, "temporary"), (75, 91, "optimizer state"), (90, 91, "optimizer state"), (90, 90, "temporary"))
    moments += ((91, 99, "temporary"), (100, 120, "temporary"), (101, 120, "outside of steps"), (0, 3, "temporary"))
    for number, (taken, released, category) in enumerate(moments):
        events = [event(8, taken, MALLOC, 64, 64), event(8, released, FREE, 64, 0)]
        blocks = memory_blocks(evolve(training(), allocations=make_profile(allocations=events).allocations))
        assert blocks["category"].to_list() == [category], (number, taken, released)


def test_a_step_without_backward_has_no_activations() -> None:
    """Evaluation after a step of training: what it never releases is not kept for any gradient."""
    evaluation = [host_op("ProfilerStep#4", 200, 300), host_op("aten::mm", 210, 220, sequence=-1)]
    both = make_profile(host_ops=[*training().host_ops.drop("op_id").to_dicts(), *evaluation],
                        allocations=[event(1, 14, MALLOC, 64, 64), event(2, 215, MALLOC, 32, 96)])  # fmt: skip
    assert dict(memory_blocks(both).select("size_bytes", "category").rows()) == {64: "activation", 32: "temporary"}


def test_a_block_is_alive_from_its_allocation_until_its_release() -> None:
    blocks = memory_blocks(training())
    assert sorted(live_blocks(blocks, 56)["size_bytes"]) == [16, 1000]
    assert sorted(live_blocks(blocks, 55)["size_bytes"]) == [16, 64, 1000]
    assert sorted(live_blocks(blocks, 14)["size_bytes"]) == [64, 1000]


def test_without_backward_nothing_is_guessed() -> None:
    profile = make_profile(
        host_ops=[host_op("ProfilerStep#0", 0, 50), host_op("aten::mm", 2, 9)],
        allocations=[event(1, 4, MALLOC, 64, 64)],
    )
    assert memory_blocks(profile)["category"].to_list() == [""]
    assert module_calls(profile).is_empty()


def test_the_pool_of_mindspore_is_a_component() -> None:
    name = "Gradients/Default/net-Net/0-Dense/Grad_MatMul/MatMul-op3"
    events = [
        {"name": name, "time_ns": 5, "address": 7, "size_bytes": 96, "used_bytes": 196, "reserved_bytes": 400},
        {"name": "", "time_ns": 9, "address": 7, "size_bytes": None, "used_bytes": 100, "reserved_bytes": 400},
    ]
    totals = [
        {"time_ns": time, "allocated_bytes": held, "reserved_bytes": 400, "active_bytes": held}
        for time, held in ((5, 196), (9, 100))
    ]
    profile = make_profile(
        product="mindspore",
        framework_memory=events,
        memory_totals=totals,
        cann_allocations=[
            {"time_ns": 7, "name": "MatMul", "address": 3, "size_bytes": 30, "total_allocated_bytes": 30,
             "total_reserved_bytes": 64},
        ],
    )  # fmt: skip
    sums = component_memory(profile).filter(pl.col("component") == "MindSpore+GE").sort("time_ns")
    assert sums.select("time_ns", "allocated_bytes", "reserved_bytes").rows() == [
        (5, 196, 400),
        (7, 226, 464),
        (9, 130, 464),
    ]
    blocks = memory_blocks(profile).select("component", "module", "size_bytes", "start_ns", "end_ns").rows()
    assert blocks == [("MindSpore", "Default/net-Net/0-Dense", 96, 5, 9), ("GE", "", 30, 7, None)]
