"""Two ranks train the networks as one does with the whole batch, and their gradients are communication."""

from __future__ import annotations

import csv
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_SCRIPT = Path(__file__).with_name("networks.py")
# By step. Batch norms over few rows make much of rounding: a ResNet-50 whose images change by 1e-7 of their value has a
# first loss that differs by 1e-5, and a second one by 4e-2.
TOLERANCES = {"resnet50": (2e-5, 1e-2)}


def losses_in(text: str) -> list[float]:
    (line,) = [line for line in text.splitlines() if line.startswith("found=")]
    losses: list[float] = json.loads(line.partition("=")[2])[1]
    return losses


@pytest.mark.parametrize(
    ("network", "mode"),
    [("llama", "graph"), ("bert", "pynative"), ("lstm", "graph"), ("resnet50", "graph"), ("resnet50", "pynative")],
)
def test_two_ranks_train_as_one_with_the_whole_batch(network: str, mode: str, scripts: Any, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = Path(sys.executable).parent
    command = [str(here / "msrun"), "--worker_num=2", "--local_worker_num=2", f"--master_port={port}", "--join=True"]
    done = subprocess.run(
        [*command, "--log_dir=logs", "python", "-m", "drynpu", "run", str(_SCRIPT), mode, "Ascend", network, "ranks"],
        cwd=tmp_path,
        env=scripts.environment | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    losses = [losses_in((tmp_path / "logs" / f"worker_{rank}.log").read_text()) for rank in (0, 1)]
    whole = losses_in(scripts(_SCRIPT, mode, "CPU", network, "whole").stdout)
    assert losses[0] != losses[1]
    differences = np.abs(np.mean(losses, axis=0) / whole - 1)
    np.testing.assert_array_less(differences, TOLERANCES.get(network, (2e-6, 2e-6)))
    folders = sorted((tmp_path / "profiled").glob("*_ascend_ms"))
    assert len(folders) == 2
    for folder in folders:
        with (folder / "ASCEND_PROFILER_OUTPUT" / "kernel_details.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert sum(row["Type"] == "hcom_allReduce_" for row in rows) >= len(whole)
        assert "N/A" not in [row["Duration(us)"] for row in rows]
        assert json.loads((folder / "profiler_metadata.json").read_text())["drynpu"]["unmapped_operators"] == {}
