"""Each recording has its own data, whatever became of the one before; one engine has one recording at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("two_recordings.py")
TURNS = {
    "failed": 1,
    "overlapping": 2,
    "beside_tensorflow": 1,
    "beside_a_forgotten_profiler_of_tensorflow": 1,
    "dropped": 1,
}


@pytest.fixture(scope="module")
def run(scripts: Any) -> Any:
    return scripts(SCRIPT, environment={"DRYNPU_QUIET": "1"})


@pytest.mark.parametrize("case", TURNS)
def test_each_has_its_own_data(run: Any, case: str) -> None:
    after = len(run.prof(f"{case}-then").rows("op_summary"))
    assert len(run.prof(case).rows("op_summary")) == TURNS[case] * after > 0


def test_what_a_running_engine_does_not_begin_anew_is_told(run: Any) -> None:
    assert run.profs("overlapping-elsewhere") == run.profs("forgotten-then") == []
    stays = "profiling_options: the graph engine is running; the options it was started with stay, and all goes to"
    folders = (run.folder / "overlapping", run.folder / "forgotten")
    assert [line for line in run.said if "stay" in line] == [f"{stays} {folder}." for folder in folders]
    after = len(run.prof("failed-then").rows("op_summary"))
    assert len(run.prof("forgotten").rows("op_summary")) == 2 * after
