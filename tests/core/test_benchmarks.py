"""The benchmarks of the core run: they reach into rooms for their stages, so a new name there would end them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from drynpu.views.pages import PAGES

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_every_stage_of_a_session_is_measured() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "bench_million.py"), "300"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    stages = [line.split() for line in done.stdout.splitlines()]
    assert [words[0] for words in stages] == ["write", "parse", "csv", "json", "db", "torch", "torch_db"]
    # Those that leave files tell how many bytes: nothing was measured where nothing was written.
    assert all("MB" in words and "kernels/s" in words for words in stages)


def test_every_page_of_a_run_is_measured() -> None:
    pytest.importorskip("plotly", reason="figures are an extra")
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "pages.py"), "3000"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    for page in PAGES:
        assert f"{page.title}: first" in done.stdout
    assert "Memory: Position: Begin, again" in done.stdout


def test_a_cluster_is_made_and_analysed() -> None:
    done = subprocess.run(
        [sys.executable, str(BENCHMARKS / "bench_cluster.py"), "9", "2"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()][:3] == ["synth", "cluster", "vendor"]
    assert "9 ranks, 6 collectives each" in done.stdout
    assert "equal: False" not in done.stdout
