"""``mint.distributed`` on two ranks: real data goes between them, and each call is communication of the profile."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

SCRIPT = Path(__file__).parent / "distributed_calls.py"


def expected(rank: int) -> dict[str, Any]:
    """Return what each rank gets, of two that hold 0 to 5 and 10 to 15 as rows of two."""
    first = np.arange(6.0).reshape(3, 2)
    both = np.concatenate([first, first + 10])
    rows = both[[0, 3]] if rank == 0 else both[[1, 2, 4, 5]]
    return {
        "gathered": both,
        "part": np.array([1.0 + 2 * rank]),
        "exchanged": rows,
        "reduced": np.array([1.0, 1.0] if rank == 0 else [3.0, 3.0]),
        "second": first + 10,
        "from0": np.array([7.0 + rank]),
        "from1": np.array([17.0 + rank] * 2),
        "comm_func.all_reduce": first + 10,
        "comm_func.all_gather_into_tensor": both,
        "comm_func.reduce_scatter_tensor": np.array([1.0 + 2 * rank]),
        "comm_func.broadcast": first + 10,
        "comm_func.scatter_tensor": both[[3 + rank]],
        "comm_func.all_to_all": np.array([17.0 + rank] * 2),
        "comm_func.all_to_all_single": rows,
    }


def test_collectives_of_mint_move_data_and_are_communication(scripts: Any, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    here = Path(sys.executable).parent
    command = [str(here / "msrun"), "--worker_num=2", "--local_worker_num=2", f"--master_port={port}", "--join=True"]
    done = subprocess.run(
        [*command, "--log_dir=logs", "python", "-m", "drynpu", "run", str(SCRIPT)],
        cwd=tmp_path,
        env=scripts.environment | {"PATH": f"{here}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    logs = [(tmp_path / "logs" / f"worker_{rank}.log").read_text() for rank in (0, 1)]
    assert done.returncode == 0, "".join(logs)
    for rank, text in enumerate(logs):
        (line,) = [line for line in text.splitlines() if line.startswith("found=")]
        found = json.loads(line.partition("=")[2])
        assert found["sum"] == [[3.0, 3.0]] * 3
        assert found["shared"] == [6.0] * 4
        for name, value in expected(rank).items():
            assert found[name] == value.tolist(), name
    folders = sorted((tmp_path / "profiled").glob("*_ascend_ms"))
    assert len(folders) == 2
    for folder in folders:
        output = folder / "ASCEND_PROFILER_OUTPUT"
        kernels = pl.read_csv(output / "kernel_details.csv", infer_schema=False)
        kinds = [kind for kind in kernels["Type"].to_list() if kind.startswith("hcom_")]
        # What is scattered is reduced whole; what is exchanged is gathered, after the sizes of its parts.
        assert Counter(kinds) == {
            "hcom_allReduce_": 3,
            "hcom_broadcast_": 1,
            "hcom_allGather_": 6,
        }
        transfers = json.loads((output / "communication.json").read_text())["step0"]["collective"]
        assert sum(name.startswith("hcom_") for name in transfers) == 10
        metadata = (folder / "profiler_metadata.json").read_text()
        assert "1 DistCommBarrier left out of the communication: not modelled" in metadata
