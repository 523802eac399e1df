"""Ranks: `init` on Ascend joins them, data-parallel losses equal the whole batch's, communication gets rows."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from drynpu_mindspore.patching._ranks import find_rank, join_ranks

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "parallel_training.py"
STEPS = 4


def expected() -> list[float]:
    """Return the losses of the whole batch, by the formulas of a layer, a mean of squares and momentum."""
    rng = np.random.default_rng(3)
    x, y, weight = (rng.normal(size=shape).astype(np.float32) for shape in ((STEPS, 8, 5), (STEPS, 8, 2), (2, 5)))
    velocity, losses = np.zeros_like(weight), []
    for part, wanted in zip(x, y, strict=True):
        missed = part @ weight.T - wanted
        losses.append(float((missed**2).mean()))
        velocity = 0.9 * velocity + 2 * missed.T @ part / missed.size
        weight = weight - 0.1 * velocity
    return losses


def found_in(text: str) -> dict[str, Any]:
    (line,) = [line for line in text.splitlines() if line.startswith("found=")]
    found: dict[str, Any] = json.loads(line.partition("=")[2])
    return found


@pytest.mark.parametrize("mode", ["GRAPH", "PYNATIVE"])
def test_two_ranks_of_msrun_train_as_one(mode: str, scripts: Any, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = Path(sys.executable).parent
    command = [str(here / "msrun"), "--worker_num=2", "--local_worker_num=2", f"--master_port={port}", "--join=True"]
    environment = scripts.environment | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        [*command, "--log_dir=logs", "python", "-m", "drynpu", "run", str(SCRIPT), mode],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    ranks = [found_in((tmp_path / "logs" / f"worker_{rank}.log").read_text()) for rank in (0, 1)]
    assert [(each["rank"], each["size"], each["device"]) for each in ranks] == [(0, 2, 0), (1, 2, 1)]
    np.testing.assert_allclose(np.mean([each["losses"] for each in ranks], 0), expected(), rtol=1e-5)
    folders = sorted((tmp_path / "profiled").glob("*_ascend_ms"))
    assert len(folders) == 2
    ends = []
    for folder in folders:
        kernels = pl.read_csv(folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv", infer_schema=False)
        reduces = kernels.filter(pl.col("Type") == "hcom_allReduce_")
        # One more belongs to the script's own group.
        assert reduces.height == STEPS + 1
        times = reduces.select(
            pl.col("Start Time(us)").str.strip_chars().cast(pl.Float64), pl.col("Duration(us)").cast(pl.Float64)
        )
        ends.append(sorted(start + duration for start, duration in times.rows()))
        assert not kernels["Name"].str.contains("AllReduce_Unmapped").any()
        document = json.loads((folder / "ASCEND_PROFILER_OUTPUT" / "communication.json").read_text())
        assert (
            len([name for name in document["step0"]["collective"] if name.startswith("hcom_allReduce_")]) == STEPS + 1
        )
        assert "wait for no rank" not in (folder / "profiler_metadata.json").read_text()
    # A rank that comes early waits in the collective, so both end together.
    np.testing.assert_allclose(*ends, rtol=0, atol=3.0)
    assert all(each["pair"] == [[3.0, 3.0]] * 3 for each in ranks)


def test_one_rank_alone_needs_no_launcher(scripts: Any) -> None:
    found = found_in(scripts.simulated(SCRIPT, "PYNATIVE").stdout)
    assert (found["rank"], found["size"]) == (0, 1)
    np.testing.assert_allclose(found["losses"], expected(), rtol=1e-5)


@pytest.mark.parametrize(
    ("environment", "rank"),
    [
        ({}, (0, 1)),
        ({"RANK_ID": "3", "RANK_SIZE": "8"}, (3, 8)),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, (1, 2)),
        ({"RANK_ID": "2", "RANK_SIZE": "4", "OMPI_COMM_WORLD_RANK": "1"}, (2, 4)),
    ],
)
def test_ranks_are_found_by_the_names_of_launchers(environment: dict[str, str], rank: tuple[int, int]) -> None:
    assert find_rank(environment) == rank


def test_the_first_rank_starts_the_scheduler_that_all_of_them_look_for() -> None:
    first, second = ({"RANK_ID": rank, "RANK_SIZE": "2"} for rank in "01")
    scheduler = join_ranks(first)
    assert scheduler is not None
    assert scheduler["MS_ROLE"] == "MS_SCHED"
    assert join_ranks(second) is None
    assert first["MS_ROLE"] == second["MS_ROLE"] == "MS_WORKER"
    assert {each["MS_SCHED_PORT"] for each in (scheduler, first, second)} == {"8118"}
    assert (first["MS_NODE_ID"], second["MS_NODE_ID"], second["MS_WORKER_NUM"]) == ("0", "1", "2")


def test_what_msrun_has_said_stays() -> None:
    environment = {"MS_ROLE": "MS_WORKER", "MS_SCHED_PORT": "9000"}
    assert join_ranks(environment) is None
    assert environment == {"MS_ROLE": "MS_WORKER", "MS_SCHED_PORT": "9000"}
