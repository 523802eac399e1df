"""The benchmarks of the core run, and every benchmark has a test that runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.tiny_benchmarks import BENCHMARKS, run_tiny

TESTS = Path(__file__).parents[1]


@pytest.mark.slow
def test_every_stage_of_a_session_is_measured() -> None:
    stages = [line.split() for line in run_tiny("bench_million.py", 300)]
    assert [words[0] for words in stages] == ["write", "parse", "csv", "json", "db", "torch", "torch_db"]
    # Those that leave files tell how many bytes: nothing was measured where nothing was written.
    assert all("MB" in words and "kernels/s" in words for words in stages)


@pytest.mark.slow
def test_a_cluster_is_made_and_analysed() -> None:
    lines = run_tiny("bench_cluster.py", 9, 2)
    assert [line.split()[0] for line in lines][:3] == ["synth", "cluster", "vendor"]
    assert any("9 ranks, 6 collectives each" in line for line in lines)
    assert not any("equal: False" in line for line in lines)


@pytest.mark.slow
def test_each_kernel_of_a_longer_recording_is_measured() -> None:
    title, *stages = run_tiny("bench_linear.py", SIZES=(20, 40), STAGES=("write", "parse", "csv"))
    assert title.split()[-2:] == ["20", "40"]
    assert [line.split()[0] for line in stages] == ["write", "parse", "csv"]
    assert all("times the first" in line for line in stages)


def test_files_are_compared_with_plain_writes() -> None:
    assert [line.split()[0] for line in run_tiny("bench_export.py", 500, 1)] == ["trace_view.json", "op_summary.csv"]


def test_operator_records_are_compared_with_plain_writes() -> None:
    title, *rows = run_tiny("bench_raw.py", 300, 1)
    assert title.startswith("300 records")
    assert [row[:10].strip() for row in rows] == ["raw write", "write_tlv", "read_tlv"]


def test_every_benchmark_has_a_test() -> None:
    tested = "\n".join(path.read_text(encoding="utf-8") for path in TESTS.rglob("test_benchmark*.py"))
    names = sorted({path.name for path in BENCHMARKS.glob("*.py")} - {"ratios.py", "pages_in_browser.py"})
    assert names
    assert [name for name in names if name not in tested] == []
