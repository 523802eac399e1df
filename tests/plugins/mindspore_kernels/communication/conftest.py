"""Ranks that msrun starts, each under ``drynpu run``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

Found = list[dict[str, Any]]
RunRanks = Callable[..., tuple[Path, Found]]


@pytest.fixture
def run_ranks(scripts: Any) -> RunRanks:
    """Run a script of some ranks, three unless told; return the folder it left and the arrays of each rank."""

    def run(script: Path, ranks: int = 3) -> tuple[Path, Found]:
        folder = scripts.ranks(script, "out", count=ranks)[0].folder
        return folder, [dict(np.load(folder / "out" / f"rank{rank}.npz")) for rank in range(ranks)]

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
