"""Two ranks train the networks as one does with the whole batch, and their gradients are communication."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

_SCRIPT = Path(__file__).with_name("networks.py")
# By step. Batch norms over few rows make much of rounding: a ResNet-50 whose images change by 1e-7 of their value has a
# first loss that differs by 1e-5, and a second one by 4e-2.
TOLERANCES = {"resnet14": (2e-5, 1e-2)}


OFTEN = [("resnet14", "pynative")]
"""Network and mode of `make test-all`: norms of a batch are what ranks differ in. test_parallel.py compiles graphs."""
SELDOM = [("bert", "pynative"), ("llama", "graph"), ("lstm", "graph"), ("resnet14", "graph")]


@pytest.mark.parametrize(
    ("network", "mode"), [*OFTEN, *(pytest.param(*each, marks=pytest.mark.exhaustive) for each in SELDOM)]
)
def test_two_ranks_train_as_one_with_the_whole_batch(network: str, mode: str, scripts: Any) -> None:
    ranks = scripts.ranks(_SCRIPT, mode, "Ascend", network, "ranks")
    losses = [run.printed("found")[1] for run in ranks]
    whole = scripts(_SCRIPT, mode, "CPU", network, "whole").printed("found")[1]
    assert losses[0] != losses[1]
    differences = np.abs(np.mean(losses, axis=0) / whole - 1)
    np.testing.assert_array_less(differences, TOLERANCES.get(network, (2e-6, 2e-6)))
    folders = ranks[0].runs("profiled")
    assert len(folders) == 2
    for folder in folders:
        with (folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert sum(row["Type"] == "hcom_allReduce_" for row in rows) >= len(whole)
        assert "N/A" not in [row["Duration(us)"] for row in rows]
        assert json.loads((folder / "profiler_metadata.json").read_text())["drynpu"]["unmapped_operators"] == {}
