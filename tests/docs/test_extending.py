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

SCRIPT = """
import json, sqlite3
from contextlib import closing
from pathlib import Path

import neutral_session as example
from drynpu.deliverables.registry import GROUPS
from drynpu.options import Clock, profiling_options
from drynpu.platforms import load_chip
from drynpu.products import export_msprof, export_msprof_db, load_profile
from drynpu.raw import ClockAnchors
from drynpu.recorder import Setup, write_recording
from drynpu.simulate import Destination

assert "heat" in {group.name for group in GROUPS}


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


@pytest.fixture
def core(tmp_path: Path) -> Path:
    """The folder of a copy of the core to which the example of the page was added."""
    core = tmp_path / "core" / "drynpu"
    shutil.copytree(ROOT / "core" / "drynpu", core, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in _parts().items():
        (core / name).parent.mkdir(exist_ok=True)
        (core / name).write_text(text, encoding="utf-8")
    (option, entry) = re.findall(r"^```yaml\n# (\S+): leaves\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
    options = core / "options" / "options.yaml"
    head, name, rows = options.read_text(encoding="utf-8").partition(f"  {option}:\n")
    options.write_text(head + name + rows.replace("    leaves:\n", f"    leaves:\n{entry}", 1), encoding="utf-8")
    return core


def test_the_sampled_record_is_a_folder_and_one_entry(core: Path, tmp_path: Path) -> None:
    added = {path.relative_to(core).as_posix() for path in (core / "deliverables" / "heat").iterdir()}
    assert added == set(_parts())
    assert len(added) + 1 == 7
    path = ":".join(map(str, (core.parent, ROOT / "examples" / "core")))
    environment = {"PYTHONPATH": path, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", f"import drynpu\nassert drynpu.__file__.startswith({str(core)!r})\n{SCRIPT}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_the_files_of_the_page_exist() -> None:
    named = set(re.findall(r"`((?:core|adapters|tests|examples)/[\w./-]+)`", PAGE))
    assert len(named) > 25
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_each_count_of_the_page_has_its_section_and_its_test() -> None:
    rows = re.findall(r"^\| \[[^\]]*\]\(#([\w-]+)\).*\| `(tests/\S+)` \|$", PAGE, re.MULTILINE)
    headings = re.findall(r"^## (.*)$", PAGE, re.MULTILINE)
    assert [anchor for anchor, _ in rows] == [heading.lower().replace(" ", "-") for heading in headings]
