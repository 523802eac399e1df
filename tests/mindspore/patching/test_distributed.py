"""``mint.distributed`` on two ranks: real data goes between them, and each call is communication of the profile."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl

SCRIPT = Path(__file__).parent / "distributed_calls.py"


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
    for text in logs:
        (line,) = [line for line in text.splitlines() if line.startswith("found=")]
        found = json.loads(line.partition("=")[2])
        assert found["sum"] == [[3.0, 3.0]] * 3
        assert found["shared"] == [6.0] * 4
    folders = sorted((tmp_path / "profiled").glob("*_ascend_ms"))
    assert len(folders) == 2
    for folder in folders:
        output = folder / "ASCEND_PROFILER_OUTPUT"
        kernels = pl.read_csv(output / "kernel_details.csv", infer_schema=False)
        kinds = [kind for kind in kernels["Type"].to_list() if kind.startswith("hcom_")]
        assert sorted(kinds) == ["hcom_allReduce_", "hcom_broadcast_"]
        transfers = json.loads((output / "communication.json").read_text())["step0"]["collective"]
        assert sum(name.startswith("hcom_") for name in transfers) == 2
        metadata = (folder / "profiler_metadata.json").read_text()
        assert "1 DistCommBarrier left out of the communication: not modelled" in metadata
