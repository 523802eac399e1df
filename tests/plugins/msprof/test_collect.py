"""What ``drynpu msprof`` does around an application, and by the script that doctor writes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Make = Callable[..., Path]
Run = Callable[..., Result]


def exported(folder: Path, stem: str) -> list[str]:
    (path,) = folder.glob(f"PROF_*/mindstudio_profiler_output/{stem}_*.csv")
    return path.read_text(encoding="utf-8").splitlines()


def test_idle_devices_have_no_traffic_and_what_is_not_simulated_is_told(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRYNPU_DEVICES", "2")
    done = run(
        "msprof",
        f"--output={tmp_path}",
        "--sys-devices=all",
        "--sys-period=1",
        "--sys-hardware-mem=on",
        "--sys-interconnection-profiling=on",
        "--sys-profiling=on",
    )
    assert done.exit_code == 0, done.output
    assert "[INFO] Profiling finished." in done.output
    assert "[WARNING] --sys-profiling: the device's own system is not simulated" in done.output
    rows = [row.split(",") for row in exported(tmp_path, "hbm")[1:]]
    assert {row[0] for row in rows} == {"0", "1"}
    assert {float(value) for row in rows for value in row[2:]} == {0.0}
    assert not list(tmp_path.glob("PROF_*/mindstudio_profiler_output/op_summary_*"))
    assert not list(tmp_path.glob("PROF_*/mindstudio_profiler_output/cpu_usage_*"))


def test_a_process_of_the_host_is_measured_for_the_period(run: Run, tmp_path: Path) -> None:
    held = "x = bytearray(64 << 20)\nimport time\ntime.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", held])
    try:
        done = run(
            "msprof", f"--output={tmp_path}", "--host-sys=mem", f"--host-sys-pid={process.pid}", "--sys-period=1"
        )
    finally:
        process.kill()
        process.wait()
    assert done.exit_code == 0, done.output
    _, row = exported(tmp_path, "host_mem_usage")
    assert float(row.split(",")[2]) > 64 << 10
    (prof,) = tmp_path.glob("PROF_*")
    assert json.loads((prof / "host" / "info.json").read_text())["pid"] == str(process.pid)
    assert not list(prof.glob("device_*"))


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("--sys-devices=10,11", "--sys-io-profiling=on"), "The following devices(10,11) are offline"),
        (("--sys-devices=11", "--sys-io-profiling=on"), "Argument --sys-devices is invalid,Please enter a valid"),
        (("--host-sys=cpu", "--host-sys-pid=2147483646"), "2147483646 is not the id of a running process"),
    ],
)
def test_a_device_or_process_that_is_not_there(run: Run, tmp_path: Path, flags: tuple[str, ...], text: str) -> None:
    done = run("msprof", f"--output={tmp_path}", "--sys-period=1", *flags)
    assert done.exit_code == 1
    assert text in done.output
    assert "Start profiling...." not in done.output
    assert not list(tmp_path.iterdir())


def test_a_process_that_does_not_listen_cannot_be_reached(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = run("msprof", f"--output={tmp_path}", "--dynamic=on", "--pid=1")
    assert done.exit_code == 1
    assert "[ERROR] cannot connect to server for pid 1, maybe server is closed" in done.output
    assert "[ERROR] Running profiling failed. Please check log for more info." in done.output


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


def test_the_script_that_doctor_writes_starts_the_command(make: Make, run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    done = run("doctor", "--install-msprof", folder)
    assert done.exit_code == 0, done.output
    prof = make()
    started = subprocess.run(
        [folder / "msprof", "--query=on", f"--output={prof}"], capture_output=True, text=True, check=False
    )
    assert started.returncode == 0, started.stderr
    assert sum("\t" in line for line in started.stdout.splitlines()) == 3
