"""The script form of the command, and what is no application."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from drynpu_msprof._script import script_arguments, script_flags

Make = Callable[..., Path]
Run = Callable[..., Result]


@pytest.mark.parametrize(
    ("arguments", "flags"),
    [
        ("import -dir D", {"parse": "on", "output": "D"}),
        ("import --collection-dir D --cluster", {"parse": "on", "output": "D"}),
        ("query -dir D --id 0 --data-type 1", {"query": "on", "output": "D"}),
        ("export timeline -dir D", {"export": "on", "output": "D"}),
        (
            "export summary -dir D --format json --model-id 7 --iteration-id 2 --clear",
            {
                "export": "on",
                "output": "D",
                "summary-format": "json",
                "model-id": "7",
                "iteration-id": "2",
                "clear": "on",
            },
        ),
        ("export timeline -dir D -reports r.json", {"export": "on", "output": "D", "reports": "r.json"}),
        ("export db -dir D", {"export": "on", "output": "D", "type": "db"}),
        (
            "analyze --rule communication -dir D --type db",
            {"analyze": "on", "output": "D", "rule": "communication", "type": "db"},
        ),
    ],
)
def test_arguments_of_the_script_are_flags(arguments: str, flags: dict[str, str]) -> None:
    assert script_flags(arguments.split()) == flags


@pytest.mark.parametrize("script", ["msprof.py", "python3 msprof.py", "/usr/bin/python3.11 /opt/tools/msprof.py"])
def test_the_script_is_no_application(script: str, make: Make, run: Run) -> None:
    prof = make()
    done = run("msprof", *script.split(), "export", "summary", "-dir", str(prof))
    assert (done.exit_code, f"Export all data in {prof.name} done." in done.output) == (0, True), done.output
    assert list((prof / "mindstudio_profiler_output").glob("op_summary_*.csv"))


@pytest.mark.parametrize(
    "command", ["train.py", "python3 train.py export", "python3 msprof.py train", "msprofx.py export"]
)
def test_applications_are_no_script(command: str) -> None:
    assert script_arguments(command.split()) is None


@pytest.mark.parametrize("arguments", ["export summary", "export all -dir D", "import", "query -dir"])
def test_what_the_script_lacks_is_said(arguments: str, run: Run) -> None:
    done = run("msprof", "msprof.py", *arguments.split())
    assert done.exit_code == 1
    assert done.output.startswith("[ERROR] msprof.py: ")


@pytest.mark.parametrize("command", ["op ./app", "op simulator ./app", "op --kernel-name=add ./app"])
def test_operator_tuning_is_refused_in_one_sentence(command: str, run: Run) -> None:
    done = run("msprof", *command.split())
    assert done.exit_code == 1
    assert done.output.startswith("[ERROR] 'msprof op' is not simulated")
    assert done.output.count("\n") == 1


def test_the_installed_script_starts_the_command(make: Make, run: Run, tmp_path: Path) -> None:
    assert run("doctor", "--install-msprof", str(tmp_path / "bin")).exit_code == 0
    command = ["python3", str(tmp_path / "bin" / "msprof.py"), "query", "-dir", str(make())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "Job Info" in done.stdout) == (0, True), done.stderr
