"""The vendor's cluster analysis on what four ranks of the distributed example left."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parents[2] / "examples" / "torch" / "train_ddp.py"
RANKS = (0, 1, 2, 3)
# Four hosts share the machine. Each is late by some ten milliseconds of its own, so rank 1 is later by far more.
DELAY_US = 200_000
WAITS = "Communication(Not Overlapped)"
Tool = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory, msprof_analyze: Tool) -> tuple[Path, str]:
    """Return the result of ``cluster -m all`` on all ranks, and what it printed."""
    folder = tmp_path_factory.mktemp("ddp")
    settings = {"DRYNPU_QUIET": "1", "TF_ENABLE_ONEDNN_OPTS": "0", "OMP_NUM_THREADS": "1"}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
    launcher = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(len(RANKS)))
    subprocess.run(
        [*launcher, str(EXAMPLE), "--slow-rank", "1", "--delay-ms", str(DELAY_US / 1000)],
        cwd=folder,
        env=inherited | settings,
        check=True,
        capture_output=True,
    )
    done = msprof_analyze("cluster", "-m", "all", "-d", folder / "ddp_out", "-o", folder / "out")
    return folder / "out" / "cluster_analysis_output", done.stdout


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def own_waits_us(folder: Path, rank: int) -> dict[str, float]:
    """Return each step's communication that nothing overlaps, as the rank's own files tell it."""
    (info,) = folder.glob(f"*/profiler_info_{rank}.json")
    steps = rows(info.parent / "ASCEND_PROFILER_OUTPUT" / "step_trace_time.csv")
    return {row["Step"]: float(row[WAITS]) for row in steps}


def test_no_line_is_an_error(analysed: tuple[Path, str]) -> None:
    assert "[ERROR]" not in analysed[1]
    assert "cannot be mapped to the global rank" not in analysed[1]


def test_all_ranks_have_their_steps(analysed: tuple[Path, str]) -> None:
    steps = [row for row in rows(analysed[0] / "cluster_step_trace_time.csv") if row["Type"] == "rank"]
    assert sorted((row["Step"], row["Index"]) for row in steps) == [(s, r) for s in "123" for r in "0123"]
    for early in "023":
        waits_us = {row["Step"]: float(row[WAITS]) for row in steps if row["Index"] == early}
        assert waits_us == pytest.approx(own_waits_us(analysed[0].parents[1] / "ddp_out", int(early)), abs=0.001)
        # The first step begins where the machine had started the recording of this rank.
        assert waits_us["2"] + waits_us["3"] > 0.5 * 2 * DELAY_US


def test_the_group_is_found_with_all_ranks(analysed: tuple[Path, str]) -> None:
    groups = json.loads((analysed[0] / "communication_group.json").read_text())
    assert list(RANKS) in groups["collective"]
    (named,) = groups["comm_group_parallel_info"]
    assert (named["group_id"], named["pg_name"], named["rank_set"]) == ("group_name_0", "default_group", list(RANKS))


def test_times_and_links_of_all_ranks_are_together(analysed: tuple[Path, str]) -> None:
    step = json.loads((analysed[0] / "cluster_communication.json").read_text())[str(RANKS)]["step2"]
    operator = next(ranks for name, ranks in step.items() if name.startswith("hcom_allReduce"))
    assert set(operator) == set(map(str, RANKS))
    matrix = json.loads((analysed[0] / "cluster_communication_matrix.json").read_text())[str(RANKS)]["step2"]
    links = {f"{one}-{other}" for one in RANKS for other in RANKS if one != other}
    assert links <= set(next(links for name, links in matrix.items() if "allReduce" in name or "allreduce" in name))
