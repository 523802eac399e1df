"""Two workers of npu_device train with Keras as one does with the whole batch, and meet in their profiles."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "training_workers.py"
STEPS, ELEMENTS = 8, 6 * 5 + 6 + 6 + 1


@pytest.fixture(scope="module")
def workers(scripts: Any) -> list[Any]:
    found: list[Any] = scripts.ranks(SCRIPT)
    return found


def communication(prof: Any) -> list[dict[str, Any]]:
    found = [event for event in prof.trace() if event["ph"] == "X" and str(event["name"]).startswith("hcom_")]
    return sorted(found, key=lambda event: float(event["ts"]))


def test_workers_have_the_weights_and_the_losses_of_one(workers: list[Any], scripts: Any) -> None:
    alone = scripts(SCRIPT)
    first, second = workers
    assert first.printed("weights") == second.printed("weights")
    for here, there in zip(first.printed("weights"), alone.printed("weights"), strict=True):
        np.testing.assert_allclose(here, there, rtol=2e-5, atol=1e-6)
    mean = np.mean([first.printed("losses"), second.printed("losses")], 0)
    np.testing.assert_allclose(mean, alone.printed("losses"), rtol=1e-5)
    assert first.printed("sums") == second.printed("sums") == [3.0, 3.0]
    assert first.printed("eager") == second.printed("eager") == 1.0


def test_profiles_show_each_operator_once_on_both(workers: list[Any]) -> None:
    found = [communication(run.prof(f"out{rank}")) for rank, run in enumerate(workers)]
    kinds = [[(event["name"].split("__")[0], event["args"]["count"]) for event in events] for events in found]
    assert kinds[0] == kinds[1]
    step = ("hcom_allReduce", ELEMENTS)
    assert kinds[0] == [("hcom_broadcast", ELEMENTS), *[step] * STEPS, *[("hcom_allReduce", 1)] * 3]
    for here, there in zip(*found, strict=True):
        ends = [float(event["ts"]) + float(event["dur"]) for event in (here, there)]
        assert ends[0] == pytest.approx(ends[1], abs=3.0)


def test_every_step_has_its_reduction(workers: list[Any]) -> None:
    for rank, run in enumerate(workers):
        rows = run.prof(f"out{rank}").result("step_trace").read_text().splitlines()
        header = rows[0].split(",")
        assert header[10:12] == ["Reduce Start(us)", "Reduce Duration(us)"]
        assert sum(row.split(",")[10] not in ("", "N/A") for row in rows[1:]) >= STEPS
