"""A result directory that a plugin brings: written by a recording, found, read and exported, with no line of ours."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu import PluginError
from drynpu.products.registry import PRODUCTS, join_products

EXAMPLES = Path(__file__).parents[3] / "examples"

RECORD = """
import sys
from pathlib import Path
import neutral_session as example
from drynpu.options import Clock, ProfilingRequest
from drynpu.platforms import load_chip
from drynpu.raw import ClockAnchors
from drynpu.recorder import Setup, write_recording
from drynpu.simulate import Destination

chip = load_chip("Ascend910B2")
anchors = ClockAnchors.now(chip.hwts_hz)
recording = example.record(anchors.collection_begin_us * 1000)
folder = Path("out/run_acme")
folder.mkdir(parents=True)
setup = Setup(
    request=ProfilingRequest(),
    chip=chip,
    clock=Clock.PROJECTED,
    seed=0,
    anchors=anchors,
    plan=example.RULES.plan,
)
write_recording(recording, Destination(directory=folder, framework="acme", pid=4711), setup)
"""


@pytest.fixture
def site(tmp_path: Path) -> dict[str, str]:
    """An environment in which the example is installed and the session without a framework can be imported."""
    info = tmp_path / "site" / "drynpu_acme-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: drynpu-acme\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[drynpu.adapters]\nacme = drynpu_acme.plugin\n")
    paths = (info.parent, EXAMPLES / "third_party_adapter", EXAMPLES / "core")
    return {"PYTHONPATH": ":".join(map(str, paths)), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}


def run(site: dict[str, str], folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=site, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_recording_is_written_read_and_exported_by_the_plugin(site: dict[str, str], tmp_path: Path) -> None:
    run(site, tmp_path, "-c", RECORD)
    result = tmp_path / "out" / "run_acme"
    with (result / "ACME" / "operators.csv").open() as file:
        operators = list(csv.DictReader(file))
    assert len(operators) > 5
    assert not (result / "FRAMEWORK").exists()
    shown = run(site, tmp_path, "-m", "drynpu", "analyze", "out")
    assert "run_acme" in shown
    with (result / "acme_report.csv").open() as file:
        report = {row["name"]: int(row["calls"]) for row in csv.DictReader(file)}
    assert sum(report.values()) == len(operators)
    assert {row["name"] for row in operators} == set(report)
    assert not (result / "ASCEND_PROFILER_OUTPUT").exists()
    assert next(result.glob("PROF_*/mindstudio_profiler_output/op_summary_*.csv")).stat().st_size


def test_a_taken_name_and_anything_but_a_product_are_refused() -> None:
    with pytest.raises(PluginError, match="acme: there is a product called torch already"):
        join_products([("acme", PRODUCTS[-1])])
    with pytest.raises(PluginError, match="acme: 'torch' is no Product"):
        join_products([("acme", "torch")])
