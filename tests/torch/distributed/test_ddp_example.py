"""The example on two ranks, one of which is late to every step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples" / "torch" / "train_ddp.py"
DELAY_US, STEPS = 200_000, 3
# Weights and biases of its three layers and of the normalisation, in float32 elements.
PARAMETERS = 257 * 512 + 2 * 512 + 513 * 512 + 513 * 16


@pytest.fixture(scope="module")
def ranks(torchrun: Callable[..., Any], by_rank: Callable[..., Any]) -> list[Any]:
    run = torchrun(EXAMPLE, "--slow-rank", "1", "--delay-ms", str(DELAY_US / 1000), ranks=2)
    assert "last loss" in run.stdout
    return by_rank(run, "ddp_out")


def test_gradients_travel_in_buckets(ranks: list[Any], operators: Callable[..., Any]) -> None:
    for output in ranks:
        reduced = [of for of in operators(output) if of.kind == "allReduce"]
        counts = [of.args["count"] for of in reduced]
        assert sum(counts) == STEPS * (PARAMETERS + 1), "every gradient, and the mean of the loss"
        assert len(counts) > 2 * STEPS, "more than one bucket"


def test_the_early_rank_waits_for_the_late_one(ranks: list[Any], operators: Callable[..., Any]) -> None:
    early, late = map(operators, ranks)
    waited = [of for of in early if of.wait_us > 0.8 * DELAY_US]
    # One less than there are steps: the first wait holds the start of the recording as well, and a busy machine may
    # start one rank's later by as much as the other rank is late.
    assert len(waited) >= STEPS - 1, "more if the machine itself was held up"
    assert sum(of.wait_us for of in late[1:]) < sum(of.wait_us for of in early) / 2


def test_the_wait_is_in_the_step_and_in_the_kernels_list(ranks: list[Any]) -> None:
    steps = ranks[0].rows("step_trace_time.csv")
    assert len(steps) == STEPS
    for row in steps[1:]:  # the first begins where this machine had started the recording
        assert float(row["Communication(Not Overlapped)"]) > 0.8 * DELAY_US
    lines = [row for row in ranks[0].rows("kernel_details.csv") if row["Accelerator Core"] == "COMMUNICATION"]
    assert max(float(row["Duration(us)"]) for row in lines) > 0.8 * DELAY_US
    matrix = ranks[0].folder / "communication_matrix.json"
    assert '"0-1"' in matrix.read_text()


def test_waiting_for_data_is_no_host_time(ranks: list[Any], operators: Callable[..., Any]) -> None:
    """The early rank's host goes on: it issues the next collectives while its device still waits."""
    issued = sorted(float(e["ts"]) for e in ranks[0].operators() if e["name"].startswith("c10d::"))
    run = operators(ranks[0])
    assert len(issued) == len(run)
    # Two calls behind the one that waits. In the first step the host of a native device waits as well: the reducer
    # makes new buckets and reads their indices.
    assert [of for of, later in zip(run, issued[2:], strict=False) if of.wait_us > 0.8 * DELAY_US and later < of.end]
