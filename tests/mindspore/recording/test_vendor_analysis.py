"""Our deliverables beside those that MindSpore's own analysis makes of the same raw data."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from drynpu.options import ExportType
from drynpu.products import export_mindspore, export_msprof, load_profile

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
RECORDED = ("steps", "graph", "data")


def spell_as_older_toolkits(prof: Path) -> None:
    """
    Give the toolkit's files the spellings that MindSpore 2.7 looks for.

    Ours follow a newer toolkit, which MindSpore's analysis finds less in: no layer of communication, no samples
    of the process.
    """
    for path in (prof / "mindstudio_profiler_output").iterdir():
        text = path.read_bytes().decode()
        if path.name.startswith("op_summary"):
            text = text.replace("Block Num", "Block Dim")
        elif path.name.startswith("npu_mem"):
            text = text.replace(",app,", ",APP,")
        elif path.name.startswith("msprof_2"):
            events = json.loads(text)
            for event in events:
                if event["name"] == "process_name" and event["args"]["name"] == "Communication":
                    event["args"]["name"] = "HCCL"
            text = json.dumps(events)
        path.write_bytes(text.encode())


@pytest.fixture(scope="module")
def compared(
    scripts: Any, recorded: Any, hand: Any, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[Path, Path]]:
    """Return our folder and the vendor's, of every directory by a name."""
    folder = tmp_path_factory.mktemp("compared")
    directories = {"by hand": hand.record(folder, events=hand.own_events())}
    hand.write_pipeline(directories["by hand"])
    directories["level 0"] = hand.record(
        folder,
        level=hand.Level.L0,
        name="other_1_20260101000000001_ascend_ms",
        told={"profiler_level": "Level0", "data_process": False},
    )
    for kind in RECORDED:
        source = min(path.parent for path in (recorded.folder / kind).glob("*_ascend_ms/PROF_*"))
        directories[kind] = Path(shutil.copytree(source, folder / kind / source.name))
    for directory in directories.values():
        profile = load_profile(directory)
        shutil.rmtree(profile.prof_path / "mindstudio_profiler_output", ignore_errors=True)
        shutil.rmtree(directory / "ASCEND_PROFILER_OUTPUT", ignore_errors=True)
        export_msprof(profile)
        export_mindspore(profile, [ExportType.TEXT])
        spell_as_older_toolkits(profile.prof_path)
    names = [str(directory) for directory in directories.values()]
    scripts(HERE / "vendor_analysis.py", str(folder / "vendor"), *names)
    return {
        kind: (directory / "ASCEND_PROFILER_OUTPUT", folder / "vendor" / directory.name)
        for kind, directory in directories.items()
    }


KINDS = ("by hand", "level 0", *RECORDED)


@pytest.mark.parametrize("kind", KINDS)
def test_the_files_are_the_same(kind: str, compared: dict[str, tuple[Path, Path]]) -> None:
    ours, vendor = compared[kind]
    assert {path.name for path in ours.iterdir()} == {path.name for path in vendor.iterdir()}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_are_the_same_to_the_byte(kind: str, compared: dict[str, tuple[Path, Path]]) -> None:
    ours, vendor = compared[kind]
    exact = [path.name for path in ours.glob("*.csv") if path.name != "step_trace_time.csv"]
    assert len(exact) >= 4
    for name in exact:
        assert (ours / name).read_bytes() == (vendor / name).read_bytes(), name


@pytest.mark.parametrize("kind", KINDS)
def test_step_times_are_the_same_but_for_the_vendor_s_rounding(
    kind: str, compared: dict[str, tuple[Path, Path]]
) -> None:
    """Durations of the toolkit's events are floats to the vendor; what it sums up it does not always round again."""
    tables = []
    for folder in compared[kind]:
        lines = (folder / "step_trace_time.csv").read_text().splitlines()
        numbers = [[round(Decimal(cell), 3) for cell in line.split(",")] for line in lines[1:]]
        tables.append([lines[0], numbers])
    assert tables[0] == tables[1]


@pytest.mark.parametrize("kind", KINDS)
def test_documents_are_the_same(kind: str, compared: dict[str, tuple[Path, Path]]) -> None:
    ours, vendor = compared[kind]
    for name in (path.name for path in ours.glob("*.json") if path.name != "trace_view.json"):
        assert json.loads((ours / name).read_text()) == json.loads((vendor / name).read_text()), name


def events(folder: Path) -> Counter[str]:
    """
    Return the events of the timeline, in no order.

    The vendor multiplies times of operators of the host by the float 0.001, and sums scopes up from floats; both show
    far behind the point. Of the host's operators start times are left out, of scopes the digits behind ns.
    """
    found = []
    for event in json.loads((folder / "trace_view.json").read_text()):
        if event["ph"] == "X" and event["pid"] == 2:
            event["ts"] = ""
        if event["ph"] == "X" and event["pid"] == 3:
            event["dur"] = str(round(Decimal(event["dur"]), 3))
        found.append(json.dumps(event, sort_keys=True))
    return Counter(found)


def scopes_aside(found: Counter[str]) -> Counter[str]:
    return Counter({text: count for text, count in found.items() if '"pid": 3' not in text})


@pytest.mark.parametrize("kind", KINDS)
def test_the_timeline_has_the_same_events(kind: str, compared: dict[str, tuple[Path, Path]]) -> None:
    ours, vendor = (events(folder) for folder in compared[kind])
    host_operators = any('"HostCpuOps"' in text for text in ours)
    # A scope that begins with an operator of the host takes over the vendor's error of its start.
    of_ours, of_vendor = (scopes_aside(found) if host_operators else found for found in (ours, vendor))
    assert of_ours - of_vendor == Counter()
    assert of_vendor - of_ours == Counter()
    assert sum(ours.values()) == sum(vendor.values()) > 100
