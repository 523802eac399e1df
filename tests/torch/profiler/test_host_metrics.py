"""``host_sys`` of a user's script: what the host did while the recording ran."""

from __future__ import annotations

import csv
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import time, torch, torch_npu
from torch_npu.profiler import HostSystem, ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

measured = [HostSystem.CPU, HostSystem.MEM, HostSystem.DISK, HostSystem.NETWORK]
for name, systems in (("asked", measured), ("plain", []), ("traced", [HostSystem.OSRT, HostSystem.NUMA])):
    print("begin", name, flush=True)
    config = _ExperimentalConfig(
        profiler_level=ProfilerLevel.Level1, host_sys=systems, export_type=["text", "db"]
    )
    with profile(experimental_config=config, on_trace_ready=tensorboard_trace_handler(name)):
        end = time.monotonic() + 0.4
        while time.monotonic() < end:
            torch.ones(64, 64, device="npu") + 1
            sum(range(50_000))  # the kernel counts processor time in ticks of 10 ms: what only sleeps may have none
            time.sleep(0.001)
"""
EXPORT = """
import sys
from pathlib import Path
from drynpu.products import export_msprof, load_profile

export_msprof(load_profile(Path(sys.argv[1])))
"""
LAYERS = {"CPU Usage", "Memory Usage"}


def has_speed(card: Path) -> bool:
    """Whether the kernel knows how fast a card is."""
    try:
        return int((card / "speed").read_text()) > 0
    except (OSError, ValueError):
        return False


MEASURABLE: dict[str, Callable[[], bool]] = {
    "HOST_DISK_USAGE": lambda: Path("/proc/self/io").exists(),
    "HOST_NETWORK_USAGE": lambda: any(map(has_speed, Path("/sys/class/net").glob("*"))),
}
"""What the kernel of this host has to have for a table."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("host")
    (path / "script.py").write_text(SCRIPT, encoding="utf-8")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "ASCEND_"))}
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=path,
        env={**kept, "TF_ENABLE_ONEDNN_OPTS": "0", "KINETO_LOG_LEVEL": "99"},
        capture_output=True,
        text=True,
        check=True,
    )
    (path / "said.txt").write_text(done.stdout, encoding="utf-8")
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


@pytest.mark.parametrize(
    ("table", "layer"), [("HOST_DISK_USAGE", "Disk Usage"), ("HOST_NETWORK_USAGE", "Network Usage")]
)
def test_disk_and_network_have_a_layer_where_their_usage_is_known(folder: Path, table: str, layer: str) -> None:
    """How busy a disk was, and how fast a card is, is not known on every host; what was moved is."""
    (path,) = (folder / "asked").glob("*_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db")
    with closing(sqlite3.connect(path)) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if table not in tables:
            assert not MEASURABLE[table]()
            return
        usages = [usage for (usage,) in connection.execute(f"SELECT usage FROM {table} ORDER BY timestampNs")]
    assert usages
    shown = [event["args"]["Usage(%)"] for event in timeline(folder, "asked") if event["name"] == layer]  # type: ignore[index]
    assert shown == pytest.approx([usage for usage in usages if usage is not None], abs=1e-6)


def test_what_needs_a_tracer_of_the_system_is_told_and_leaves_nothing(folder: Path) -> None:
    said = (folder / "said.txt").read_text(encoding="utf-8")
    told = [line.partition("missing: ")[2] for line in said.splitlines() if "drynpu does not record these" in line]
    assert told == ["host_sys=osrt, host_sys=numa"]
    assert layers(timeline(folder, "traced")) == layers(timeline(folder, "plain"))


def test_the_toolkit_exports_the_tables(folder: Path) -> None:
    (prof,) = (folder / "asked").glob("*_ascend_pt/PROF_*")
    subprocess.run([sys.executable, "-c", EXPORT, str(prof)], check=True)
    output = prof / "mindstudio_profiler_output"
    names = {path.name.rsplit("_", 1)[0] for path in output.glob("host_*.csv")}
    assert names - {"host_network_usage"} == {"host_cpu_usage", "host_mem_usage", "host_disk_usage"}
    (path,) = output.glob("host_mem_usage_*.csv")
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert 0 < float(row["Peak Used Memory(KB)"]) < float(row["Total Memory(KB)"])
