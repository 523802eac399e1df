"""``host_sys`` of a user's script: what the host did while the recording ran."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import time, torch, torch_npu
from torch_npu.profiler import HostSystem, ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

for name, systems in (("asked", [HostSystem.CPU, HostSystem.MEM, HostSystem.DISK]), ("plain", [])):
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1, host_sys=systems)
    with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler(name)):
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            torch.ones(64, 64, device="npu") + 1
"""
EXPORT = """
import sys
from pathlib import Path
from drynpu.export import export_msprof
from drynpu.tables import load_profile

export_msprof(load_profile(Path(sys.argv[1])))
"""
LAYERS = {"CPU Usage", "Memory Usage"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("host")
    (path / "script.py").write_text(SCRIPT, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
    subprocess.run(
        [sys.executable, "script.py"],
        cwd=path,
        env={**kept, "TF_ENABLE_ONEDNN_OPTS": "0", "KINETO_LOG_LEVEL": "99"},
        capture_output=True,
        text=True,
        timeout=240,
        check=True,
    )
    return path


def timeline(folder: Path, name: str) -> list[dict[str, object]]:
    (path,) = (folder / name).glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json")
    events: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))
    return events


def layers(events: list[dict[str, object]]) -> set[object]:
    return {event["args"]["name"] for event in events if event["name"] == "process_name"}  # type: ignore[index]


def test_the_timeline_shows_what_was_measured(folder: Path) -> None:
    events = timeline(folder, "asked")
    assert layers(events) >= LAYERS
    shown = [event["args"]["Usage(%)"] for event in events if event["name"] == "CPU Avg"]  # type: ignore[index]
    assert len(shown) >= 3
    assert max(shown) > 0
    assert not layers(timeline(folder, "plain")) & LAYERS


def test_the_toolkit_exports_the_tables(folder: Path) -> None:
    (prof,) = (folder / "asked").glob("*_ascend_pt/PROF_*")
    subprocess.run([sys.executable, "-c", EXPORT, str(prof)], check=True, timeout=120)
    output = prof / "mindstudio_profiler_output"
    names = {path.name.rsplit("_", 1)[0] for path in output.glob("host_*.csv")}
    assert names == {"host_cpu_usage", "host_mem_usage", "host_disk_usage"}
    (path,) = output.glob("host_mem_usage_*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert 0 < float(row["Peak Used Memory(KB)"]) < float(row["Total Memory(KB)"])
