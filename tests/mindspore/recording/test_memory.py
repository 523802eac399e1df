"""Device memory in recordings of real MindSpore, beside what is worked out by hand for the network of record_all.py."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu.layouts import framework_mindspore as mindspore_facts
from drynpu.products import load_profile
from drynpu.raw import read_tlv
from drynpu.tables import Profile

pytestmark = pytest.mark.slow

LAUNCH = "Kernel::KernelLaunch::"
NET = "network-WithLossCell/_backbone-Net"
LOSS = "network-WithLossCell/_loss_fn-SoftmaxCrossEntropyWithLogits"
KIB = 1024


def block(*dims: int) -> int:
    """Return the bytes of FP32 or INT32 numbers as the pool has them: 32 more, then whole 512."""
    size = 4 * int(np.prod(dims)) + 32
    return -(-size // 512) * 512


WEIGHTS = (block(32, 64), block(32), block(4, 32), block(4))
LASTING = 2 * sum(WEIGHTS) + 4 * block(1)
"""Weights and moments; learning rate, momentum, the step and the 1 that is added to it."""

# By launch: what it allocates, then by whom that is read. Batch of 16, layers 64 -> 32 -> 4.
X, Y = "x", "y"
PRODUCT, BIAS, RELU = f"{NET}/fc-Dense/MatMul-op0", f"{NET}/fc-Dense/BiasAdd-op0", f"{NET}/relu-ReLU/ReLU-op0"
OUT, LOGITS = f"{NET}/out-Dense/MatMul-op0", f"{NET}/out-Dense/BiasAdd-op0"
ENTROPY = f"{LOSS}/SparseSoftmaxCrossEntropyWithLogits-op0"
BACK = f"Grad:{LOSS}/Grad_SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits-op0"
BACK_RELU = f"Grad:{NET}/relu-ReLU/Grad_ReLU/ReluGrad-op0"
BACK_OUT = f"Grad:{NET}/out-Dense/Grad_MatMul/MatMul-op0"
WEIGHT_FC, WEIGHT_OUT = (f"Grad:{NET}/out-Dense/Grad_MatMul/MatMul-op{number}" for number in (1, 2))
BIAS_OUT, BIAS_FC = (f"Grad:{NET}/out-Dense/Grad_BiasAdd/BiasAddGrad-op{number}" for number in (0, 1))
UPDATE = "optimizer-Momentum/ApplyMomentum-op"
READ: dict[str, tuple[int, tuple[str, ...]]] = {
    X: (block(16, 64), (PRODUCT, WEIGHT_FC)),
    Y: (block(16), (ENTROPY, BACK)),
    PRODUCT: (block(16, 32), (BIAS,)),
    BIAS: (block(16, 32), (RELU,)),
    RELU: (block(16, 32), (OUT, WEIGHT_OUT, BACK_RELU)),
    OUT: (block(16, 4), (LOGITS,)),
    LOGITS: (block(16, 4), (ENTROPY, BACK)),
    ENTROPY: (block(), ()),
    BACK: (block(16, 4), (BACK_OUT, WEIGHT_OUT, BIAS_OUT)),
    BACK_OUT: (block(16, 32), (BACK_RELU,)),
    BACK_RELU: (block(16, 32), (WEIGHT_FC, BIAS_FC)),
    BIAS_OUT: (block(4), (f"{UPDATE}0",)),
    WEIGHT_OUT: (block(4, 32), (f"{UPDATE}1",)),
    BIAS_FC: (block(32), (f"{UPDATE}2",)),
    WEIGHT_FC: (block(32, 64), (f"{UPDATE}3",)),
}


def steps_of(profile: Profile) -> Iterator[list[str]]:
    """Yield the launches of every step in their order."""
    events = profile.frame("framework_events").filter(pl.col("name").str.starts_with(LAUNCH)).sort("start_ns")
    names = [
        name.removeprefix(LAUNCH).replace("Gradients/Default/", "Grad:").removeprefix("Default/")
        for name in events["name"].to_list()
    ]
    # Two steps; what depends on nothing may come first in one and later in the other.
    half = len(names) // 2
    assert sorted(names[:half]) == sorted(names[half:])
    yield from (names[:half], names[half:])


def peak_by_hand(order: list[str], held_bytes: int) -> int:
    """Return the most bytes that are live in a step; *held_bytes* is the loss of the step before."""
    live, waiting, peak = {X, Y}, {name: set(readers) for name, (_, readers) in READ.items()}, 0
    for name in order:
        live |= {name} & READ.keys()
        peak = max(peak, sum(READ[one][0] for one in live))
        for readers in waiting.values():
            readers.discard(name)
        live = {one for one in live if waiting[one] or one == ENTROPY}
    assert live == {ENTROPY}
    return LASTING + held_bytes + peak


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def number(text: str, unit: int) -> int:
    return round(float(text) * unit)


@pytest.fixture(scope="module")
def directories(recorded: Any) -> dict[str, list[Path]]:
    return {
        kind: [path for path in recorded.runs(kind) if not path.name.startswith("broken")]
        for kind in ("steps", "graph", "twice", "data")
    }


def test_the_peak_is_that_of_the_network(directories: dict[str, list[Path]]) -> None:
    for path in directories["steps"]:
        profile = load_profile(path)
        orders = list(steps_of(profile))
        assert all(set(order) >= READ.keys() - {X, Y} for order in orders)
        expected = [peak_by_hand(order, held) for order, held in zip(orders, (0, block()), strict=True)]
        table = rows(path / "ASCEND_PROFILER_OUTPUT" / "operator_memory.csv")
        half = len(table) // 2
        assert len(table) == 2 * len(READ)
        found = [
            max(number(row["Allocation Total Allocated(MB)"], KIB * KIB) for row in part)
            for part in (table[:half], table[half:])
        ]
        assert found == expected
        assert profile.frame("memory_totals")["allocated_bytes"].max() == max(expected)


def test_the_files_tell_the_same(directories: dict[str, list[Path]]) -> None:
    for path in [*directories["steps"], *directories["twice"]]:
        output = path / "ASCEND_PROFILER_OUTPUT"
        table = rows(output / "operator_memory.csv")
        recorded_ = [row for row in rows(output / "memory_record.csv") if row["Component"] == "MindSpore"]
        totals = [number(row["Total Allocated(MB)"], 1000 * KIB) for row in recorded_]
        in_table = [number(row["Allocation Total Allocated(MB)"], KIB * KIB) for row in table]
        assert max(totals) == max(in_table)
        assert min(totals) >= LASTING
        # What was allocated less what was released is what is left: the loss of the last step.
        left = [row for row in table if row["Release Time(us)"] == "N/A"]
        assert [number(row["Size(KB)"], KIB) for row in left] == [block()]
        assert left[0]["Name"].endswith(ENTROPY)
        assert totals[-1] == LASTING + block()
        assert len(totals) == 2 * len(table) - 1
        reserved = {number(row["Total Reserved(MB)"], 1000 * KIB) for row in recorded_}
        assert reserved == {2 << 30}, "a gigabyte of parameters, a gigabyte of everything else"
        usage = read_tlv(path / "FRAMEWORK" / "mindspore.memory_usage", mindspore_facts.MS_MEMORY_USAGE).fixed
        assert usage["used_bytes"].astype(np.int64).tolist() == totals
        assert usage["peak_bytes"].max() == max(totals)
        allocations = load_profile(path).allocations.sort("time_ns", maintain_order=True)
        assert (LASTING + allocations["size_bytes"].cum_sum()).to_list() == totals


def test_several_starts_are_one_history(directories: dict[str, list[Path]]) -> None:
    (path,) = directories["twice"]
    table = rows(path / "ASCEND_PROFILER_OUTPUT" / "operator_memory.csv")
    first, second = (row for row in table if row["Name"].endswith(f"Default/{ENTROPY}"))
    assert float(second["Allocation Time(us)"]) < float(first["Release Time(us)"])


def test_the_graph_engine_plans_memory_ahead(directories: dict[str, list[Path]]) -> None:
    """At jit level O2 the plan stands in static_op_mem, from the first node that holds a result to the last reader."""
    path = directories["graph"][0]
    *planned, total = rows(path / "ASCEND_PROFILER_OUTPUT" / "static_op_mem.csv")
    assert any(row["Op Name"].endswith(ENTROPY) for row in planned)
    lives = [(int(row["Node Index Start"]), int(row["Node Index End"]), float(row["Size(KB)"])) for row in planned]
    assert all(first <= last for first, last, _ in lives)
    alive = [sum(size for first, last, size in lives if first <= node <= last) for node, _, _ in lives]
    assert (total["Op Name"], float(total["Size(KB)"])) == ("TOTAL", max(alive))


def test_the_metadata_says_what_is_modelled(directories: dict[str, list[Path]]) -> None:
    told = {kind: json.loads((paths[0] / "profiler_metadata.json").read_text()) for kind, paths in directories.items()}
    label = "device memory: allocations and releases, from the graphs"
    assert label in told["steps"]["drynpu"]["simulated"]
    assert label in told["twice"]["drynpu"]["simulated"]
    assert label not in told["data"]["drynpu"]["simulated"], "not asked for"
    assert label not in told["graph"]["drynpu"]["simulated"]
    assert any("at jit level O2" in note for note in told["graph"]["drynpu"]["notes"])
    for kind in ("graph", "data"):
        assert not (directories[kind][0] / "ASCEND_PROFILER_OUTPUT" / "operator_memory.csv").exists()
