"""Every Python that is here and that drynpu serves reads its sources; `make test-wheels` installs there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
READ = """
import ast, pathlib, sys
count = 0
for path in pathlib.Path(sys.argv[1]).glob("*/"):
    for file in path.rglob("*.py"):
        if "__pycache__" not in file.parts:
            compile(file.read_bytes(), str(file), "exec")
            count += 1
print(count)
"""


def tool() -> ModuleType:
    specification = importlib.util.spec_from_file_location("wheel_matrix", ROOT / "tools" / "wheel_matrix.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


MATRIX = tool()
PYTHONS = MATRIX.interpreters()


def test_this_python_is_among_them() -> None:
    assert PYTHONS[f"{sys.version_info.major}.{sys.version_info.minor}"] == Path(sys.executable)
    assert set(PYTHONS) <= {"3.10", "3.11", "3.12", "3.13", "3.14"}


@pytest.mark.parametrize("version", PYTHONS)
def test_it_reads_every_source(version: str) -> None:
    for folder in ("core", "adapters", "plugins"):
        command = [str(PYTHONS[version]), "-W", "error", "-c", READ, str(ROOT / folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        files = [path for path in (ROOT / folder).glob("*/**/*.py") if "__pycache__" not in path.parts]
        assert int(done.stdout) == len(files) > 0


def test_a_wheel_that_does_not_work_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        bad = "pip" in command and "check" in command
        return subprocess.CompletedProcess(command, int(bad), "{}", "drynpu requires numpy, which is missing\n")

    monkeypatch.setattr(MATRIX.subprocess, "run", run)
    (tmp_path / "place").mkdir()
    wrong = MATRIX.install(Path(sys.executable), tmp_path / "drynpu.whl", "core", tmp_path / "place")
    assert wrong.endswith("drynpu requires numpy, which is missing")
