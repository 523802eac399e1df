"""Two ranks train in sessions as one does with the whole batch, and their profiles show the communication."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.one_of(8)

SCRIPT = Path(__file__).parent / "training_ranks.py"
STEPS = 4
GRADIENTS, LOSS = 5 * 7 + 7 + 7 * 2, 1
"""Elements of what is reduced in a step."""


def losses_of_one() -> list[float]:
    """Return the losses of the whole batch with the first rank's weights, by the formulas of layers and momentum."""
    rng = np.random.default_rng(3)
    x_all, y_all = (rng.normal(size=(STEPS, 8, width)).astype(np.float32) for width in (5, 2))
    start = np.random.default_rng(5)
    weights = [start.normal(size=(5, 7)), np.zeros(7), start.normal(size=(7, 2))]
    speed, losses = [np.zeros_like(weight) for weight in weights], []
    for x, y in zip(x_all, y_all, strict=True):
        hidden = np.tanh(x @ weights[0] + weights[1])
        missed = hidden @ weights[2] - y
        losses.append(float((missed**2).mean()))
        inner = (2 * missed / missed.size) @ weights[2].T * (1 - hidden**2)
        gradients = [x.T @ inner, inner.sum(0), hidden.T @ (2 * missed / missed.size)]
        speed = [0.9 * old + new for old, new in zip(speed, gradients, strict=True)]
        weights = [weight - 0.05 * step for weight, step in zip(weights, speed, strict=True)]
    return losses


def communication(prof: Any) -> list[dict[str, Any]]:
    """Return the operators of the Communication layer in time order."""
    found = [event for event in prof.trace() if event["ph"] == "X" and str(event["name"]).startswith("hcom_")]
    return sorted(found, key=lambda event: float(event["ts"]))


def end_us(event: dict[str, Any]) -> float:
    return float(event["ts"]) + float(event["dur"])


@pytest.fixture(scope="module")
def ranks(scripts: Any) -> list[Any]:
    found: list[Any] = scripts.ranks(SCRIPT, "wrapper")
    return found


@pytest.fixture(scope="module")
def profs(ranks: list[Any]) -> list[Any]:
    return [run.prof(f"out{rank}") for rank, run in enumerate(ranks)]


@pytest.mark.parametrize("kind", ["wrapper", "optimizer", "direct"])
def test_losses_are_those_of_the_whole_batch(kind: str, ranks: list[Any], scripts: Any) -> None:
    # In "direct" a pool of one thread would let the ranks wait for each other for ever.
    runs = ranks if kind == "wrapper" else scripts.ranks(SCRIPT, kind)
    for run in runs:
        np.testing.assert_allclose(run.printed("losses"), losses_of_one(), rtol=2e-6)
        assert run.printed("threads") == 1
    assert runs[0].printed("weights") == runs[1].printed("weights")


def test_all_reduces_are_communication_operators_in_one_order(profs: list[Any]) -> None:
    kinds = [
        [(event["name"].split("__")[0], event["args"]["count"]) for event in communication(prof)] for prof in profs
    ]
    assert kinds[0] == kinds[1]
    assert kinds[0][0] == ("hcom_broadcast", GRADIENTS)
    assert kinds[0][1:] == [("hcom_allReduce", LOSS), ("hcom_allReduce", GRADIENTS)] * STEPS
    for prof in profs:
        count = {row["OP Type"]: int(row["Count"]) for row in prof.rows("communication_statistic")}
        assert count == {"hcom_broadcast_": 1, "hcom_allReduce_": 2 * STEPS}
        rows = [row for row in prof.rows("op_summary") if row["Task Type"] == "COMMUNICATION"]
        assert len(rows) == 1 + 2 * STEPS
        assert {row["Task ID"] for row in rows} == {"N/A"}
        types = set(prof.column("op_summary", "OP Type"))
        assert not any("PyFunc" in name or "Hcom" in name or "Unmapped" in name for name in types)


def test_ranks_wait_for_each_other(profs: list[Any]) -> None:
    first, second = map(communication, profs)
    for here, there in zip(first, second, strict=True):
        # Both end together, to one tick of 20 ns; the earlier one has waited.
        assert end_us(here) == pytest.approx(end_us(there), abs=3.0)
        later = max(float(here["ts"]), float(there["ts"]))
        assert end_us(here) > later
    for prof in profs:
        notes = [event for event in prof.trace() if "did not record" in str(event)]
        assert not notes


def test_the_step_trace_has_reduce_columns_and_ends_the_backward_part_before_the_last_reduce(profs: list[Any]) -> None:
    for prof in profs:
        reduces = [event for event in communication(prof) if event["name"].startswith("hcom_allReduce")]
        header, *rows = [line.split(",") for line in prof.result("step_trace").read_text().splitlines()]
        assert header[10:] == ["Reduce Start(us)", "Reduce Duration(us)"] * 2
        assert len(rows) == STEPS
        for step, row in enumerate(rows):
            for place, reduce in enumerate(reduces[2 * step : 2 * step + 2]):
                assert float(row[10 + 2 * place]) == pytest.approx(float(reduce["ts"]), abs=0.03)
                assert float(row[11 + 2 * place]) == pytest.approx(float(reduce["dur"]), abs=0.03)
            backward, refresh = float(row[3]), float(row[7])
            last = reduces[2 * step + 1]
            assert backward <= float(last["ts"]) + 0.03
            # The update of the variables comes after the reduction, so it is part of the refresh.
            assert refresh >= end_us(last) - backward


def test_updates_begin_after_the_gradients_are_reduced(profs: list[Any]) -> None:
    for prof in profs:
        reduces = [event for event in communication(prof) if event["args"]["count"] == GRADIENTS][1:]
        updates = sorted(
            float(row["Task Start Time(us)"])
            for row in prof.rows("op_summary")
            if row["OP Type"].startswith("ApplyMomentum")
        )
        assert len(updates) == 3 * STEPS
        for step, reduce in enumerate(reduces):
            assert min(updates[3 * step : 3 * step + 3]) >= end_us(reduce) - 0.02
        for before, after in pairwise(reduces):
            assert end_us(before) < float(after["ts"])


def test_metadata_say_what_is_modelled_and_nothing_is_missing(profs: list[Any]) -> None:
    for prof in profs:
        text = (prof.path / "profiler_metadata.json").read_text()
        assert "communication: links, tasks and transfer times" in text
        assert "notes" not in text
