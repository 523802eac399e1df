"""A profiler after one that did not end as usual has its own directory with its own data, or a line says why not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("two_profilers.py")
CASES = (
    "dropped",
    "dropped_by_a_thread",
    "failed",
    "interrupted",
    "handler_failed",
    "amid_a_schedule",
    "ended",
)


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT)


@pytest.mark.parametrize("case", CASES)
def test_each_has_its_own_data(run: Any, case: str) -> None:
    rows = len(run.output(case).rows("kernel_details.csv"))
    assert rows > 0
    assert len(run.output(f"{case}-then").rows("kernel_details.csv")) == 2 * rows


def test_beside_one_that_still_records_a_line_says_what_to_do(run: Any) -> None:
    errors = [text for severity, text in run.section("forgotten") if severity == "ERROR"]
    assert len(errors) == 1
    assert errors[0].startswith("Call start failed. Exception: another recording is already running")
    assert errors[0].endswith("Stop that one first.")
    assert not run.outputs("forgotten-then")
    # What the script forgot is written when the process ends, with all that ran.
    assert len(run.output("forgotten").rows("kernel_details.csv")) == 3 * len(
        run.output("ended").rows("kernel_details.csv")
    )
