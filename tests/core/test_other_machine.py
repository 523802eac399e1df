"""A whole recording on what looks like a laptop with macOS, and like the host of an Ascend machine (aarch64)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from attrs import frozen

from drynpu.products import load_profile

pytestmark = pytest.mark.slow

PROGRAM = """
import os
import time
import numpy as np
import acl

assert acl.init() == 0
assert acl.rt.set_device(0) == 0
memory, ret = acl.rt.malloc(4096, 0)
assert ret == 0
assert acl.rt.memcpy(memory, 4096, acl.util.bytes_to_ptr(bytes(4096)), 4096, 1) == 0
acl.rt.free(memory)
# The kernel counts a process in ticks: without a few of them there is no usage by process.
ends = time.process_time() + 20 / os.sysconf("SC_CLK_TCK")
while time.process_time() < ends:
    pass
acl.rt.reset_device(0)
acl.finalize()
print("done", os.uname().sysname, hasattr(os, "fork"), os.path.exists("/proc/self"))
"""
OPTIONS = ("--host-sys=cpu,mem,disk,network", "--host-sys-usage=cpu,mem", "--host-sys-usage-freq=10")


@frozen
class Recorded:
    """What a program printed and left."""

    said: str
    profile: Path


def record(folder: Path, pretended: str) -> Recorded:
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM, encoding="utf-8")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("DRYNPU_", "PYTHONPATH"))}
    disguise = {"PYTHONPATH": str(Path(__file__).with_name("other_machine")), "PRETENDED": pretended}
    command = [sys.executable, "-m", "drynpu", "msprof", *OPTIONS, "--output=out", sys.executable, "program.py"]
    done = subprocess.run(command, cwd=folder, env={**clean, **disguise}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (profile,) = (folder / "out").glob("PROF_*")
    return Recorded(done.stdout + done.stderr, profile)


def names(profile: Path) -> set[str]:
    """Kinds of files of the device, which no machine changes."""
    return {path.name.partition(".")[0] for path in profile.glob("device_0/data/*")}


@pytest.fixture(scope="module")
def genuine(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return record(tmp_path_factory.mktemp("here") / "run", f"Linux {os.uname().machine}")


def test_a_laptop_with_macos_lacks_the_counters_of_the_host(genuine: Recorded, tmp_path: Path) -> None:
    there = record(tmp_path / "run", "Darwin arm64")
    assert "done Darwin False False" in there.said
    assert "done Linux True True" in genuine.said
    lines = {line.partition("] ")[2] for line in there.said.splitlines() if "/proc" in line}
    (line,) = lines
    assert line.endswith("could not be measured: this system has no /proc")
    assert "host memory" in line
    assert "Traceback" not in there.said
    assert names(there.profile) == names(genuine.profile) != set()
    calls = [load_profile(each.profile).api.height for each in (there, genuine)]
    assert calls[0] == calls[1] > 0


def test_the_host_of_an_ascend_machine_has_all(genuine: Recorded, tmp_path: Path) -> None:
    there = record(tmp_path / "run", "Linux aarch64")
    assert "done Linux True True" in there.said
    assert "could not be measured" not in there.said
    info = next(there.profile.glob("host/info.json")).read_text(encoding="utf-8")
    assert json.loads(info)["hwtype"] == "aarch64"
    assert names(there.profile) == names(genuine.profile)
