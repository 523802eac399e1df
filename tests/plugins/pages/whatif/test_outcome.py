"""What-if beside what it foretells: the same program recorded on the changed device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from attrs import evolve
from tests.by_hand import BEGIN_NS, PID, call_table

from drynpu.kernels import KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc, cost
from drynpu.options import ProfilingRequest, Switches
from drynpu.platforms import Chip, load_chip
from drynpu.products import load_profile
from drynpu.recorder import Outcome as Written
from drynpu.simulate import Collective
from drynpu.tables import Profile
from drynpu_pages.whatif import AS_RECORDED, Change, Outcome, Recorded, changed_chip, simulate_again

B2 = load_chip("910B2")
LEFT, RIGHT = TensorDesc((2048, 4096), "FLOAT16"), TensorDesc((4096, 3072), "FLOAT16")
PRODUCT, LONG = TensorDesc((2048, 3072), "FLOAT16"), TensorDesc((24_000_000,), "FLOAT")
MATMUL, ADD = Signature("aten::mm", (LEFT, RIGHT)), Signature("aten::add", (LONG, LONG))
RANKS = tuple(range(8))
SIZE = 48 << 20


def plan(signature: Signature) -> KernelPlan:
    if signature.name == "aten::mm":
        moved = LEFT.size_bytes + RIGHT.size_bytes
        flops = 2 * 2048 * 4096 * 3072
        spec = spec_of("MatMulV3", TaskType.AI_CORE, (LEFT, RIGHT), PRODUCT, moved, cube_flops=flops)
        return KernelPlan(api="aclnnMm", kernels=(spec,))
    spec = spec_of("Add", TaskType.AI_VECTOR_CORE, (LONG, LONG), LONG, 2 * LONG.size_bytes, vector_ops=LONG.elements)
    return KernelPlan(api="aclnnAdd", kernels=(spec,))


def spec_of(
    kind: str, task: TaskType, inputs: Sequence[TensorDesc], output: TensorDesc, moved: int, **work: int
) -> KernelSpec:
    return KernelSpec(
        name=f"aclnn_{kind}",
        op_type=kind,
        task_type=task,
        inputs=tuple(inputs),
        outputs=(output,),
        bytes_read=moved,
        bytes_written=output.size_bytes,
        **work,
    )


def calls(host_us: int) -> Operators:
    """Two steps of four products and three additions in turn, *host_us* after each other on the host."""
    rows, names = [], ("aten::mm", "aten::add", "ProfilerStep#0", "ProfilerStep#1")
    at = BEGIN_NS + 1_000_000
    for step in range(2):
        begin = at
        for call in (0, 1, 0, 1, 0, 1, 0):
            rows.append((call, at, at + 20_000, 0, call))
            at += 1000 * host_us
        rows.append((2 + step, begin, at - 500, 7, -1))
        at += 1000
    rows.sort(key=lambda row: (row[1], -row[2]))
    name, start, end, scope, signature = np.array(rows, np.int64).T
    texts = (("c10::Half;c10::Half", "2048,4096;4096,3072"), ("float;float", "24000000;24000000"))
    return call_table(names, name, start, end, (MATMUL, ADD), signature=signature, texts=texts, thread=PID, scope=scope)


def reduction(table: Operators) -> Collective:
    """An all-reduce behind the third operator of the second step, which later work waits for."""
    starts = table.start_ns[table.signature >= 0]
    return Collective(
        kind="allReduce", start_ns=int(starts[9]) + 25_000, thread=PID, group="dp", ranks=RANKS, rank=0,
        size_bytes=SIZE, dtype="FLOAT16", count=SIZE // 2,
    )  # fmt: skip


@pytest.fixture
def record(write: Callable[..., Written]) -> Callable[..., Profile]:
    """Return a function that records the program on a chip."""

    def make(name: str, chip: Chip, *, host_us: int = 60, reduced: bool = False) -> Profile:
        table = calls(host_us)
        request = ProfilingRequest(switches=Switches(record_shapes=True))
        more = {"collectives": (reduction(table),)} if reduced else {}
        return load_profile(Path(write(table, name, chip=chip, plan=plan, request=request, **more).directory))

    return make


def outcome_of(profile: Profile, change: Change, chip: Chip = B2) -> Outcome:
    result = Recorded.of_profile(profile, chip)
    assert result is not None
    return simulate_again(result, change)


def test_another_chip_is_foretold(record: Callable[..., Profile]) -> None:
    was = record("was", B2)
    for name in ("910B3", "910B4", "910B1"):
        chip = load_chip(name)
        really = outcome_of(record(name, chip), AS_RECORDED, chip)
        foretold = outcome_of(was, Change(chip=chip))
        assert foretold.steps["after_us"].to_list() == pytest.approx(really.steps["before_us"].to_list(), rel=0.02)
        assert abs(foretold.mean_us / foretold.was_us - 1) > 0.02, "the chips differ by more than the tolerance"


def test_faster_products_are_foretold(record: Callable[..., Profile]) -> None:
    change = Change(matmul=1.5)
    really = outcome_of(record("really", changed_chip(B2, change)), AS_RECORDED)
    foretold = outcome_of(record("was", B2), change)
    assert foretold.mean_us == pytest.approx(really.was_us, rel=0.02)
    assert foretold.mean_us < 0.96 * foretold.was_us


def test_a_late_host_hides_what_the_device_saves(record: Callable[..., Profile]) -> None:
    """The host launches every 700 us what takes 180: faster products change next to nothing, as when recorded so."""
    change = Change(matmul=1.5)
    foretold = outcome_of(record("was", B2, host_us=700), change)
    assert foretold.mean_us == pytest.approx(foretold.was_us, rel=0.02)
    assert foretold.groups["what"][0] == "host"
    free = outcome_of(record("again", B2, host_us=700), Change(no_host_gaps=True))
    assert free.mean_us < 0.5 * free.was_us
    assert free.groups["what"][0] == "kernels"


def test_links_are_foretold(record: Callable[..., Profile]) -> None:
    was = record("was", B2, reduced=True)
    for factor in (2.0, 0.5):
        change = Change(link=factor)
        really = outcome_of(record(f"really {factor}", changed_chip(B2, change), reduced=True), AS_RECORDED)
        foretold = outcome_of(was, change)
        assert foretold.steps["after_us"].to_list() == pytest.approx(really.steps["before_us"].to_list(), rel=0.01)
        assert abs(foretold.steps["after_us"][1] / foretold.steps["before_us"][1] - 1) > 0.02


def test_how_much_is_known_is_said(record: Callable[..., Profile]) -> None:
    result = Recorded.of_profile(record("was", B2, reduced=True), B2)
    assert result is not None
    known = result.coverage
    assert known.known_us == pytest.approx(known.kernels_us)
    assert (known.collectives, known.known_collectives) == (1, 1)
    assert known.ratio == pytest.approx(1.0, abs=0.1), "jitter alone lies between what was recorded and the model"


def test_types_stand_beside_the_model(record: Callable[..., Profile]) -> None:
    """Eight products, six additions and a reduction; without the chip's name it is a measured run like any other."""
    profile, change = record("was", B2, reduced=True), Change(matmul=2.0)
    rows = {row["type"]: row for row in outcome_of(profile, change).types.to_dicts()}
    assert {name: row["count"] for name, row in rows.items()} == {"MatMulV3": 8, "Add": 6, "allReduce": 1}
    assert rows["MatMulV3"]["model_us"] == pytest.approx(8 * cost(plan(MATMUL).kernels[0], B2).duration_ns / 1000)
    assert (
        rows["MatMulV3"]["recorded_us"]
        == profile.kernels.filter(pl.col("op_type") == "MatMulV3")["duration_ns"].sum() / 1000
    )
    # What is read and written takes as long as before, so that twice the rate does not halve the time.
    assert 0.5 < rows["MatMulV3"]["after_us"] / rows["MatMulV3"]["recorded_us"] < 0.9
    assert rows["Add"]["after_us"] == rows["Add"]["recorded_us"]
    for row in rows.values():
        assert row["ratio"] == pytest.approx(1.0, abs=0.15)


def test_the_range_is_wider_where_the_host_counts(record: Callable[..., Profile]) -> None:
    device, host = (outcome_of(record(str(us), B2, host_us=us), AS_RECORDED) for us in (60, 700))
    for outcome in (device, host):
        low, high = outcome.range_us or (0.0, 0.0)
        assert low < outcome.mean_us < high
    share = [(each.range_us or (0.0, 0.0))[0] / each.mean_us for each in (device, host)]
    assert share[1] < share[0]


def test_a_change_says_what_it_is() -> None:
    change = Change(chip=load_chip("910B4"), matmul=1.5, link=2.0, no_host_gaps=True)
    assert change.text == "Ascend910B4, products 1.5 times as fast, links 2 times as fast, no host gaps"
    assert not change.nothing
    assert (AS_RECORDED.text, AS_RECORDED.nothing) == ("as recorded", True)
    chip = changed_chip(B2, change)
    assert chip.name == "Ascend910B4"
    assert chip.interconnect.pair_gbs == 2 * load_chip("910B4").interconnect.pair_gbs
    assert chip.pcie_gbs == load_chip("910B4").pcie_gbs, "links join devices"
    assert evolve(chip, interconnect=B2.interconnect) != B2
