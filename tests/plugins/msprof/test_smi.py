"""``npu-smi info``: programs that a script starts learn from it what is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from drynpu_msprof.smi import PYTHON_VARIABLE, main, serve_command

ASKING = """
import subprocess, sys
done = subprocess.run(["npu-smi", *sys.argv[1:]], capture_output=True, text=True)
print(done.stdout, end="")
sys.exit(done.returncode)
"""


@pytest.fixture(autouse=True)
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRYNPU_DEVICES", "2")
    monkeypatch.setenv("DRYNPU_CHIP", "Ascend910B4")


def fields(text: str) -> dict[str, str]:
    """Return the values by name, as programs that read the command's lines do."""
    return {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def test_a_script_finds_the_command(tmp_path: Path) -> None:
    (tmp_path / "asking.py").write_text(ASKING)
    path = os.pathsep.join(("/usr/bin", "/bin"))  # where drynpu's Python is not
    words = [sys.executable, "-m", "drynpu", "run", "--quiet", "--devices", "3", "asking.py", "info", "-l"]
    done = subprocess.run(words, cwd=tmp_path, env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("NPU ID") == 3


def test_a_genuine_command_comes_first() -> None:
    environment = {"PATH": "/usr/local/bin"}
    serve_command(environment)
    serve_command(environment)
    first, ours = environment["PATH"].split(os.pathsep)
    assert first == "/usr/local/bin"
    assert os.access(Path(ours) / "npu-smi", os.X_OK)
    assert environment[PYTHON_VARIABLE] == sys.executable


def test_a_board_has_a_driver(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "-t", "board", "-i", "1"]) == 0
    board = fields(capsys.readouterr().out)
    assert board["NPU ID"] == "1"
    assert tuple(map(int, board["Software Version"].split(".")[:2])) >= (25, 3)  # the first that shares memory
    assert main(["info", "-t", "board", "-i", "1", "-c", "0"]) == 0
    chip = fields(capsys.readouterr().out)
    assert (chip["Chip Type"] + chip["Chip Name"]).lower() == "ascend910b4"


def test_the_lists_have_every_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert {len(line) for line in table} == {98}
    assert sum("910B4" in line for line in table) == 2
    assert sum("/ 32768" in line for line in table) == 2
    assert main(["info", "-m"]) == 0
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split("  ")[0].strip() == "NPU ID"
    assert [row.split() for row in rows] == [[number, "0", number, "Ascend", "910B4"] for number in "01"]
    assert main(["info", "-t", "health", "-i", "0"]) == 0
    assert fields(capsys.readouterr().out) == {"Health": "OK"}


@pytest.mark.parametrize("words", ["-t topo", "-t board", "-t board -i 2", "-t board -i 0 -c 1"])
def test_what_is_not_simulated_fails_in_one_line(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", *words.split()]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("npu-smi: ")
    assert said.err.count("\n") == 1
