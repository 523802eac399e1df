"""Benchmarks leave their ratios in one file, and two revisions are compared by ratios of the same round."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
from ratios import record_ratio

record_ratio("ours / theirs", [3.0, 1.0, 2.5])
record_ratio("one round", 4)
"""


@pytest.fixture
def tools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), str(ROOT / "benchmarks"), *sys.path])


@pytest.fixture
def bench(tools: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the tool; its benchmarks are a good and a broken script, and one for a Python that is not here."""
    module = importlib.import_module("bench")
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "ratios.py").write_text((ROOT / "benchmarks" / "ratios.py").read_text(encoding="utf-8"))
    (folder / "bench_good.py").write_text(SCRIPT)
    (folder / "bench_broken.py").write_text("raise SystemExit(3)")
    (folder / "bench_mindspore.py").write_text(SCRIPT)
    monkeypatch.setattr(module, "BENCHMARKS", folder)
    return module


def run(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", [f"{module.__name__}.py", *arguments])
    status: int = module.main()
    return status


def test_one_file_has_the_ratios_of_all_scripts(
    bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "build" / "bench.json"
    assert run(bench, monkeypatch, "-o", str(output), "--mindspore", "/nowhere/python") == 1
    document = json.loads(output.read_text(encoding="utf-8"))
    assert document["ratios"] == [
        {"script": "bench_good.py", "name": "ours / theirs", "median": 2.5, "least": 1.0, "greatest": 3.0, "rounds": 3},
        {"script": "bench_good.py", "name": "one round", "median": 4, "least": 4, "greatest": 4, "rounds": 1},
    ]
    assert document["failed"] == ["bench_broken.py"]
    assert set(document["measured"]) >= {"revision", "date", "system", "processors", "load", "python", "packages"}
    printed = capsys.readouterr().out
    assert "LEFT OUT: bench_mindspore.py: there is no /nowhere/python" in printed
    assert "FAILED: bench_broken.py" in printed
    assert run(bench, monkeypatch, "-o", str(output), "--only", "good") == 0


def test_a_revision_is_slower_only_where_its_interval_says_so(tools: None) -> None:
    compare = importlib.import_module("bench_compare")
    assert compare.interval([1.3, 1.0, 1.2]) == (1.0, 1.3)
    # Nine rounds: all but the outermost two hold the median in 96 %, all but the outermost four in 82 %.
    assert compare.interval([1.8, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 9.0]) == (1.1, 1.8)
    assert compare.verdict([1.1] * 5) == ""
    assert compare.verdict([1.1] * 6) == "slower"
    assert compare.verdict([1.02] * 6) == ""
    assert compare.verdict([1.1] * 5 + [0.9]) == ""
    assert compare.verdict([0.8] * 8 + [1.2]) == "faster"


def test_the_other_revision_has_our_packages_and_not_our_drynpu(tools: None, tmp_path: Path) -> None:
    compare = importlib.import_module("bench_compare")
    python = str(compare.environment_for(tmp_path / "venv"))
    numpy = compare.run([python, "-c", "import numpy; print(numpy.__version__)"])
    assert numpy.strip() == importlib.import_module("numpy").__version__
    assert compare.run([python, "-c", "import importlib.util as u; print(u.find_spec('drynpu'))"]) == "None\n"


def test_a_workload_that_fails_ends_the_comparison(tools: None) -> None:
    compare = importlib.import_module("bench_compare")
    assert compare.processor_s(sys.executable, ["-c", "open('empty.py')"]) > 0
    with pytest.raises(SystemExit, match="status 3"):
        compare.processor_s(sys.executable, ["-c", "raise SystemExit(3)"])
