"""The page of extensions: its files exist, and its sampled record is a record group when it is added as written."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")

PROFILE = """
import csv, json, sqlite3
from contextlib import closing
from pathlib import Path

import neutral_session as example
from drynpu.deliverables.registry import GROUPS
from drynpu.options import Clock, acl_json, msprof_cli, profiling_options
from drynpu.platforms import load_chip
from drynpu.products import export_msprof, export_msprof_db, load_profile
from drynpu.raw import ClockAnchors
from drynpu.recorder import Setup, write_recording
from drynpu.simulate import Destination


def profile(folder, options):
    chip = load_chip("Ascend910B2")
    anchors = ClockAnchors.now(chip.hwts_hz)
    request = profiling_options.parse({"output": folder, "task_trace": "on", **options}, chip=chip.name).request
    setup = Setup(
        request=request, chip=chip, clock=Clock.PROJECTED, seed=0, anchors=anchors, plan=example.RULES.plan
    )
    recording = example.record(anchors.collection_begin_us * 1000)
    Path(folder).mkdir()
    place = Destination(directory=Path(folder), framework="example", pid=4711, host_data=False)
    return load_profile(write_recording(recording, place, setup).prof_path)
"""
"""Records the session without a framework, with options of profiling_options, and reads it."""

RECORD = """
assert "heat" in {group.name for group in GROUPS}
warm = profile("warm", {"sys_hardware_mem_freq": 50})
files = {path.name.partition("_2")[0].removesuffix(".txt"): path for path in export_msprof(warm)}
header, first, second = files["heat"].read_text().splitlines()
assert header == "Device_id,Sensor,Degrees,Timestamp(us)"
assert [line.split(",")[:3] for line in (first, second)] == [["0", "3", "40.0"], ["0", "3", "42.0"]]
assert "heat.csv:Temperature of the device, sampled." in files["README"].read_text()
events = json.loads(files["msprof"].read_text())
assert [event["args"]["C"] for event in events if event["name"] == "Heat" and event["ph"] == "C"] == [40.0, 42.0]
with closing(sqlite3.connect(export_msprof_db(warm, Path("warm")))) as database:
    assert database.execute("SELECT deviceId, sensor, degrees FROM HEAT").fetchall() == [(0, 3, 40.0), (0, 3, 42.0)]

cold = profile("cold", {})
assert not [path for path in export_msprof(cold) if path.name.startswith("heat")]
"""


def _parts() -> dict[str, str]:
    """The Python files of the example, by their path below the core."""
    return dict(re.findall(r"^```python\n# (deliverables/\S+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


METRICS = """
names = ("aic_mac_time(us)", "aic_mac_ratio", "aic_mte1_time(us)", "aic_mte1_ratio")
(summary,) = (path for path in export_msprof(profile("p", {"aic_metrics": "CubeLoad"})) if "op_summary" in path.name)
header, *rows = csv.reader(summary.read_text().splitlines())
assert tuple(name for name in header if name.startswith("aic_") and "total" not in name) == names
times = {row[header.index("OP Type")]: row[header.index("aic_mac_time(us)")] for row in rows}
assert float(times["MatMulV2"]) > 0 == float(times["LayerNorm"])
for parsed in (
    acl_json.parse({"switch": "on", "aic_metrics": "CubeLoad"}, chip="Ascend910B2"),
    msprof_cli.parse({"application": "./a", "aic-metrics": "CubeLoad"}, chip="Ascend910B2"),
):
    assert parsed.request.aic_metrics.value == "cube_load"
"""


@pytest.fixture
def core(tmp_path: Path) -> Path:
    """A copy of the core, to add to."""
    core = tmp_path / "core" / "drynpu"
    shutil.copytree(ROOT / "core" / "drynpu", core, ignore=shutil.ignore_patterns("__pycache__"))
    return core


def _insert(file: Path, text: str, *, after: tuple[str, ...]) -> None:
    """Put *text* behind the last of lines that follow each other in the file, not necessarily at once."""
    rest, head = file.read_text(encoding="utf-8"), ""
    for line in after:
        before, found, rest = rest.partition(line)
        assert found, line
        head += before + found
    file.write_text(head + text + rest, encoding="utf-8")


def _run(script: str, core: Path, folder: Path) -> None:
    path = ":".join(map(str, (core.parent, ROOT / "examples" / "core")))
    origin = f"import drynpu\nassert drynpu.__file__.startswith({str(core)!r})\n"
    done = subprocess.run(
        [sys.executable, "-c", origin + PROFILE + script],
        cwd=folder,
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_sampled_record_is_a_folder_and_one_entry(core: Path, tmp_path: Path) -> None:
    for name, text in _parts().items():
        (core / name).parent.mkdir(exist_ok=True)
        (core / name).write_text(text, encoding="utf-8")
    ((option, entry),) = re.findall(r"^```yaml\n# (\S+): leaves\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    _insert(core / "options" / "options.yaml", entry, after=(f"  {option}:\n", "    leaves:\n"))
    assert len(list((core / "deliverables" / "heat").iterdir())) + 1 == 6
    _run(RECORD, core, tmp_path)


@pytest.mark.slow
def test_the_metric_group_is_a_row_and_a_name(core: Path, tmp_path: Path) -> None:
    ((counters, member),) = re.findall(
        r"^```yaml\n# counters.yaml, .*?\n(.*?)^```\n\n^```python\n# _values.py, MetricGroup\n(.*?)^```$",
        PAGE,
        re.MULTILINE | re.DOTALL,
    )
    _insert(core / "platforms" / "counters.yaml", counters, after=("  A2:\n", "    groups:\n"))
    _insert(core / "options" / "_values.py", f"    {member}", after=("class MetricGroup", '    NONE = "none"\n'))
    _run(METRICS, core, tmp_path)


def test_the_files_of_the_page_exist() -> None:
    named = set(re.findall(r"`((?:core|adapters|tests|examples)/[\w./-]+)`", PAGE))
    assert len(named) > 25
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_each_count_of_the_page_has_its_section_and_its_test() -> None:
    rows = re.findall(r"^\| \[[^\]]*\]\(#([\w-]+)\).*\| `(tests/\S+)` \|$", PAGE, re.MULTILINE)
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert [anchor for anchor, _ in rows] == [heading.lower().replace(" ", "-") for heading in headings]
