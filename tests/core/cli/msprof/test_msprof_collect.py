"""What ``drynpu msprof`` does around an application, and the script of that name that doctor writes."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

from drynpu import CommandError, OptionError
from drynpu.options import Level, ProfilingRequest, Switches
from drynpu.session import CollectionOrder, CollectionReport

Make = Callable[..., Path]
Run = Callable[..., Result]


def test_a_collection_that_is_not_available_starts_nothing(run: Run, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    for flags, what in (
        ((f"--output={tmp_path}", "--delay=2", "touch", touched), "--delay"),
        ((f"--output={tmp_path}", "--duration=2", "touch", touched), "--duration"),
        ((f"--output={tmp_path}", "--dynamic=on", "touch", touched), "--dynamic=on"),
        (
            (f"--output={tmp_path}", "--sys-devices=all", "--sys-period=1", "--sys-hardware-mem=on"),
            "--sys-devices without an application",
        ),
    ):
        done = run("msprof", *flags)
        assert done.exit_code == 1
        assert f"[ERROR] Start profiling failed: {what} is not available" in done.output
        assert "Start profiling...." not in done.output
    assert not touched.exists()


def test_an_application_that_leaves_nothing_to_record(run: Run, tmp_path: Path) -> None:
    done = run(
        "msprof", f"--output={tmp_path}", "--environment=DRYNPU_TEST_CODE=3", "sh", "-c", "exit $DRYNPU_TEST_CODE"
    )
    assert done.exit_code == 1
    assert "[INFO] Start profiling...." in done.output
    assert "[WARNING] An exception has occurred in process App, return code: 3." in done.output
    assert "[ERROR] Failed to find profiling data, please check that the application executes AI-related" in done.output
    assert "Profiling finished." not in done.output
    missing = run("msprof", f"--output={tmp_path}", tmp_path / "none")
    assert missing.exit_code == 1
    assert f"[ERROR] App path({tmp_path / 'none'}) does not exist or permission denied!!!" in missing.output
    assert "Start profiling...." not in missing.output


def test_an_order_reaches_the_application_and_comes_back(tmp_path: Path) -> None:
    order = CollectionOrder(
        request=ProfilingRequest(level=Level.L2, switches=Switches(l2_cache=True)),
        directory=tmp_path / "out",
        journal=tmp_path / "journal",
    )
    same = CollectionOrder.from_text(order.to_text())
    assert same == order
    reports = [CollectionReport(path=tmp_path / "PROF_1"), CollectionReport(notes=("not written", 'a "quoted" one'))]
    assert order.reports() == []
    for report in reports:
        same.report(report)
    assert order.reports() == reports


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"request": {"level": "l9"}, "directory": "", "journal": ""}'])
def test_an_order_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(OptionError):
        CollectionOrder.from_text(text)


def test_the_script_that_doctor_writes_starts_the_command(make: Make, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    done = run("doctor", "--install-msprof", folder)
    assert done.exit_code == 0, done.output
    script = folder / "msprof"
    assert stat.S_IMODE(script.stat().st_mode) & 0o111 == 0o111
    assert f"{folder} is not first on PATH" in done.output
    assert sys.executable in script.read_text()
    prof = make()
    started = subprocess.run(
        [script, "--query=on", f"--output={prof}"], capture_output=True, text=True, check=False, timeout=120
    )
    assert started.returncode == 0, started.stderr
    assert sum("\t" in line for line in started.stdout.splitlines()) == 3
    assert run("doctor", "--install-msprof", folder).exit_code == 0


def test_a_foreign_msprof_is_left_alone_without_force(run: Run, tmp_path: Path) -> None:
    foreign = tmp_path / "msprof"
    foreign.write_text("#!/bin/sh\n")
    done = run("doctor", "--install-msprof", tmp_path)
    assert isinstance(done.exception, CommandError)
    assert f"{foreign} is there and was not written by drynpu; --force replaces it." in str(done.exception)
    assert foreign.read_text() == "#!/bin/sh\n"
    assert run("doctor", "--install-msprof", tmp_path, "--force").exit_code == 0
    assert "drynpu" in foreign.read_text()
