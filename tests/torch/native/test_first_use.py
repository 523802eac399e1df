"""``drynpu run`` builds the native device by itself, once."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SCRIPT = "import torch, torch_npu; print(torch.ones(1, device='npu').device)"
COMPILER = """#!/bin/sh
echo compiling >> "{log}"
sleep 1
while [ "$1" != -o ]; do shift; done
{how} "$2"
"""
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path, library: Path) -> Start:
    """Return a function that starts ``drynpu run`` where nothing is built; the compiler copies a library."""

    def start(how: str = f'cp "{library}"', **environ: str) -> subprocess.Popen[str]:
        (tmp_path / "script.py").write_text(SCRIPT)
        compiler = tmp_path / "compiler"
        compiler.write_text(COMPILER.format(log=tmp_path / "log", how=how))
        compiler.chmod(0o755)
        kept = {name: text for name, text in os.environ.items() if not name.startswith("DRYNPU_")}
        return subprocess.Popen(
            [sys.executable, "-m", "drynpu", "run", str(tmp_path / "script.py")],
            env={**kept, "CXX": str(compiler), "XDG_CACHE_HOME": str(tmp_path / "cache"), **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


@pytest.mark.slow
@pytest.mark.parametrize(
    ("how", "device"), [(None, "npu:0"), pytest.param("false", "cpu", marks=pytest.mark.slow)], ids=["built", "failed"]
)
def test_runs_that_start_at_once_build_once(start: Start, tmp_path: Path, how: str | None, device: str) -> None:
    runs = [start() if how is None else start(how) for _ in range(2)]
    said = [run.communicate(timeout=600) for run in runs]
    assert [out.split()[0] for out, _ in said] == [device, device], said
    assert (tmp_path / "log").read_text() == "compiling\n"
    assert sum("building the native npu device for torch" in err for _, err in said) == 1


def test_a_setting_switches_that_off(start: Start, tmp_path: Path) -> None:
    out, _ = start(DRYNPU_BUILD="0").communicate(timeout=600)
    assert out.split()[0] == "cpu"
    assert not (tmp_path / "log").exists()


@pytest.mark.slow
def test_without_a_compiler_a_line_says_how_to_get_one(start: Start, tmp_path: Path) -> None:
    out, err = start(CXX="/nowhere/c++").communicate(timeout=600)
    assert out.split()[0] == "cpu"
    assert sum("install a C++ compiler (apt-get install g++" in line for line in err.splitlines()) == 1
