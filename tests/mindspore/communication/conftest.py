"""Ranks that msrun starts, each under ``drynpu run``."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Found = list[dict[str, Any]]
RunRanks = Callable[..., Found]


@pytest.fixture
def run_ranks(scripts: Any, tmp_path: Path) -> RunRanks:
    """Run a script of three ranks in a folder; return the arrays that each has left."""

    def run(script: Path, ranks: int = 3) -> Found:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        here = Path(sys.executable).parent
        workers = [f"--worker_num={ranks}", f"--local_worker_num={ranks}", f"--master_port={port}", "--join=True"]
        done = subprocess.run(
            [str(here / "msrun"), *workers, "--log_dir=logs", "python", "-m", "drynpu", "run", str(script), "out"],
            cwd=tmp_path,
            env=scripts.environment | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        logs = [(tmp_path / "logs" / f"worker_{rank}.log").read_text() for rank in range(ranks)]
        assert done.returncode == 0, "".join(logs)
        return [dict(np.load(tmp_path / "out" / f"rank{rank}.npz")) for rank in range(ranks)]

    return run


@pytest.fixture
def read_rows() -> Callable[[Path], dict[int, list[tuple[str, int]]]]:
    """
    Return by rank the kernels of a recording in their order, with the bytes that they move over links.

    Kernels that move nothing have -1; what a rank moves is in ``communication.json``, where every one has to be.
    """
    return _rows


def _rows(folder: Path) -> dict[int, list[tuple[str, int]]]:
    found = {}
    for run in sorted(folder.glob("*_ascend_ms")):
        output = run / "ASCEND_PROFILER_OUTPUT"
        rank = int(next(run.glob("profiler_info_*.json")).stem.rpartition("_")[2])
        if not (output / "kernel_details.csv").exists():
            found[rank] = []
            continue
        kernels = pl.read_csv(output / "kernel_details.csv", infer_schema=False)
        (step,) = json.loads((output / "communication.json").read_text()).values()
        moved = {
            name.partition("@")[0]: _megabytes(info["Communication Bandwidth Info"])
            for part in step.values()
            for name, info in part.items()
        }
        (matrix,) = json.loads((output / "communication_matrix.json").read_text()).values()
        assert any(matrix.values())
        found[rank] = [
            (kind, round(1e6 * moved[name]) if kind.startswith("hcom_") else -1)
            for kind, name in kernels.select("Type", pl.col("Name").str.split("/").list.last()).rows()
        ]
    return found


def _megabytes(transports: dict[str, dict[str, float]]) -> float:
    return sum(part["Transit Size(MB)"] for name, part in transports.items() if name != "SDMA")
