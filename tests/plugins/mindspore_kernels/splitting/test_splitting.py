"""Graphs that MindSpore splits over ranks: losses of the whole, the parts that each rank computes, what is missing."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "split_training.py"
STEPS, BLOCKS = 3, 2


@pytest.fixture(scope="module")
def losses(scripts: Any) -> list[float]:
    """Return what plain MindSpore computes without ranks."""
    found: list[float] = scripts(SCRIPT, "out", "whole").printed("losses")
    return found


def rows_of(run: Any) -> list[dict[str, str]]:
    with (run / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="") as file:
        return list(csv.DictReader(file))


WAYS = [
    ("optimizer", 4),
    ("propagated", 2),
    pytest.param("strategies", 2, marks=pytest.mark.exhaustive),
    pytest.param("wrapped", 2, marks=pytest.mark.exhaustive),
]


@pytest.mark.parametrize(("how", "count"), WAYS)
def test_ranks_train_as_the_whole(how: str, count: int, scripts: Any, losses: list[float]) -> None:
    ranks = scripts.ranks(SCRIPT, "out", how, count=count)
    for rank in ranks:
        np.testing.assert_allclose(rank.printed("losses"), losses, rtol=1e-6)
    runs = ranks[0].runs("out")
    assert len(runs) == count
    for run in runs:
        notes = json.loads((run / "profiler_metadata.json").read_text())["drynpu"]
        assert notes["unmapped_operators"] == {}
        rows = rows_of(run)
        assert "N/A" not in {row["Input Shapes"] for row in rows if not row["Type"].startswith(("hcom_", "MemSet"))}
        if how == "propagated":
            continue
        # 24 tokens, half of them where the batch is split as well, by half the columns and then by half the rows.
        tokens = 24 * 2 // count
        shapes = Counter(row["Input Shapes"].strip('"') for row in rows if row["Type"] == "MatMulV2")
        assert shapes[f"{tokens},16;16,32"] == shapes[f"{tokens},32;32,16"] == BLOCKS * STEPS
        assert not [shape for shape in shapes if "64" in shape.replace(";", ",").split(",")]
        kinds = Counter(row["Type"] for row in rows)
        assert kinds["hcom_allReduce_"] >= 2 * BLOCKS * STEPS  # forward and backward of each block
        if how == "optimizer":
            assert kinds["hcom_reduceScatter_"]
            assert kinds["hcom_allGather_"]


WITHOUT_RANKS = """
from pathlib import Path

import mindspore
from drynpu_mindspore_kernels.splitting._follow import Splitting

splitting = Splitting(Path(mindspore.__file__).parent, lambda: True)
splitting.begin("data_parallel")
try:
    splitting.begin("auto_parallel", stages=2)
except RuntimeError as error:
    print(error)
splitting.begin("semi_auto_parallel")
"""


def test_a_script_is_told_what_is_missing(scripts: Any, tmp_path: Path) -> None:
    run = scripts(WITHOUT_RANKS, status=1, environment={"CXX": "no-compiler-here", "XDG_CACHE_HOME": str(tmp_path)})
    assert "RuntimeError: parallel_mode 'semi_auto_parallel' splits graphs over ranks by functions" in run.stderr
    assert "install a C++ compiler" in run.stderr
    assert "pipeline_stages is 2: drynpu cuts no pipelines; take 1" in run.stdout
