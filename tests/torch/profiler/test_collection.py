"""``drynpu msprof`` with a training script that knows nothing of profiling."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

STEPS = 3
SCRIPT = f"""
import sys, torch, torch_npu
model = torch.nn.Linear(8, 4).npu()
for _ in range({STEPS}):
    model(torch.ones(2, 8).npu()).sum().backward()
print("arguments", *sys.argv[1:])
sys.exit(int(sys.argv[1]))
"""
SELF_PROFILING = """
import torch, torch_npu
model = torch.nn.Linear(8, 4).npu()
with torch_npu.profiler.profile():
    model(torch.ones(2, 8).npu())
print("went on")
"""


def msprof(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DRYNPU_")}
    return subprocess.run(
        [sys.executable, "-m", "drynpu", "msprof", *words],
        cwd=folder,
        env=environment | variables,
        capture_output=True,
        text=True,
        check=False,
    )


def script(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text)
    return path


def directories(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.startswith("PROF_"))


def test_a_plain_script_is_recorded_exported_and_listed(tmp_path: Path) -> None:
    script(tmp_path, SCRIPT)
    done = msprof(tmp_path, f"--output={tmp_path / 'out'}", "--l2=on", "python", "train.py", "0", "--epochs=2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    (prof,) = directories(tmp_path / "out")
    assert lines[:2] == ["[INFO] Start profiling....", "arguments 0 --epochs=2"]
    assert lines[-2:] == [
        "[INFO] Profiling finished.",
        f"[INFO] Process profiling data complete. Data is saved in {prof}.",
    ]
    assert any(line.startswith("NA") and "device_0" in line for line in lines)
    (summary,) = (prof / "mindstudio_profiler_output").glob("op_summary_*.csv")
    with summary.open(encoding="utf-8", newline="") as stream:
        kinds = Counter(row["OP Type"] for row in csv.DictReader(stream))
    assert kinds["MatMulV3"] + kinds["MatMulV2"] + kinds["MatMul"] >= STEPS, kinds
    sample = json.loads((prof / "host" / "sample.json").read_text())
    assert sample["prof_level"] == "level1"
    assert not list((tmp_path / "out").glob("*_ascend_pt"))
    assert not list((tmp_path / "out").glob("FRAMEWORK"))


def test_options_reach_the_recording_and_a_failing_script_is_told(tmp_path: Path) -> None:
    path = script(tmp_path, SCRIPT)
    done = msprof(tmp_path, f"--output={tmp_path}", "--task-time=l0", f"--application=python {path} 5")
    assert done.returncode == 0, done.stderr
    assert "An exception has occurred in process App, return code: 5." in done.stderr
    (prof,) = directories(tmp_path)
    assert len(list(prof.glob("msprof_*.db"))) == 1
    assert json.loads((prof / "host" / "sample.json").read_text())["prof_level"] == "level0"
    assert not list((prof / "mindstudio_profiler_output").glob("op_statistic_*.csv"))


def test_a_script_that_profiles_itself_goes_on_without(tmp_path: Path) -> None:
    script(tmp_path, SELF_PROFILING)
    done = msprof(tmp_path, f"--output={tmp_path / 'out'}", "train.py")
    assert done.returncode == 0, done.stderr
    assert "went on" in done.stdout
    assert len(directories(tmp_path / "out")) == 1


LOOP = """
import sys, time, torch, torch_npu
model = torch.nn.Linear(8, 4).npu()
print("ready", flush=True)
print("began", time.time())
end = time.time() + float(sys.argv[1])
while time.time() < end:
    model(torch.ones(2, 8).npu()).sum().backward()
    time.sleep(0.002)
"""
DIALOGUE_S = 60


def starts_us(prof: Path) -> list[float]:
    (summary,) = (prof / "mindstudio_profiler_output").glob("op_summary_*.csv")
    with summary.open(encoding="utf-8", newline="") as stream:
        return [float(row["Task Start Time(us)"]) for row in csv.DictReader(stream)]


def test_only_the_window_is_recorded(tmp_path: Path) -> None:
    script(tmp_path, LOOP)
    launched_s = time.time()
    # On the modelled clock the span does not depend on the load of this machine, as the window does.
    words = (f"--output={tmp_path / 'out'}", "--delay=2", "--duration=2", "train.py", "6")
    done = msprof(tmp_path, *words, DRYNPU_CLOCK="wall")
    assert done.returncode == 0, done.stderr
    (prof,) = directories(tmp_path / "out")
    times = starts_us(prof)
    assert len(times) > 20
    # Of the 6 s that the loop runs; a busy machine starts the command, and stops the recording, a little late. It may
    # also need longer than the delay for importing PyTorch, and there is nothing to record before that.
    began_s = float(re.findall(r"began (\S+)", done.stdout)[0])
    expected_us = 1e6 * (launched_s + 4 - max(began_s, launched_s + 2))
    assert 0.5 * expected_us < max(times) - min(times) < 3.5e6


def test_an_application_that_ends_before_the_delay_is_no_error(tmp_path: Path) -> None:
    script(tmp_path, LOOP)
    done = msprof(tmp_path, f"--output={tmp_path / 'out'}", "--delay=1000", "train.py", "0")
    assert done.returncode == 0, done.stderr
    assert "Before delay time, the app process has exited." in done.stderr


class Dialogue:
    """Talks to a command line: what it says is collected by a thread, so that waiting for it can end."""

    def __init__(self, folder: Path, *words: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "drynpu", "msprof", "--dynamic=on", *words],
            cwd=folder,
            env=dynamic_environment(folder),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.said = ""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self) -> None:
        assert self.process.stdout is not None
        while character := self.process.stdout.read(1):
            self.said += character

    def wait_for(self, text: str, count: int = 1) -> None:
        deadline = time.monotonic() + DIALOGUE_S
        while self.said.count(text) < count:
            assert time.monotonic() < deadline, self.said
            assert self.reader.is_alive() or self.said.count(text) >= count, self.said
            time.sleep(0.02)

    def type(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(DIALOGUE_S)
        self.reader.join()
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code


def dynamic_environment(folder: Path) -> dict[str, str]:
    """Return an environment with its sockets in *folder*; the native device stays in its place, or each builds it."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("DRYNPU_")}
    return {"XDG_CACHE_HOME": str(Path.home() / ".cache"), **kept, "HOME": str(folder)}


def record_twice(dialogue: Dialogue) -> None:
    """Start and stop two recordings, and ask for what cannot be in between."""
    for number in (1, 2):
        dialogue.type("start")
        dialogue.wait_for("start success", number)
        if number == 1:
            dialogue.type("start")
            dialogue.wait_for("already started")
        time.sleep(1)  # a busy machine may let the script wait for half a second
        dialogue.type("stop")
        dialogue.wait_for("stop success", number)
    dialogue.type("stop")
    dialogue.wait_for("has not started")
    dialogue.type("pause")
    dialogue.wait_for("invalid option -- 'pause'")
    dialogue.type("quit")
    dialogue.wait_for("quit success")


def test_recordings_are_started_and_stopped_by_hand(tmp_path: Path) -> None:
    script(tmp_path, LOOP)
    dialogue = Dialogue(tmp_path, f"--output={tmp_path / 'out'}", "train.py", "10")
    dialogue.wait_for("> ")
    record_twice(dialogue)
    assert dialogue.end() == 0, dialogue.said
    assert "[INFO] waiting for app process exit......" in dialogue.said
    first, second = directories(tmp_path / "out")
    assert not (first / "mindstudio_profiler_output").exists()
    exported = msprof(tmp_path, "--export=on", f"--output={tmp_path / 'out'}")
    assert exported.returncode == 0, exported.stderr
    assert starts_us(first)
    assert max(starts_us(first)) < min(starts_us(second))
    assert not list(tmp_path.glob("dynamic_profiling_socket_*"))


def test_a_running_process_is_attached_to_and_goes_on(tmp_path: Path) -> None:
    path = script(tmp_path, LOOP)
    home = tmp_path / ("h" * 120)  # longer than the address of a socket can be
    home.mkdir()
    environment = {**dynamic_environment(home), "PROFILING_MODE": "dynamic"}
    command = [sys.executable, "-m", "drynpu", "run", "-q", str(path), "600"]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            dialogue = Dialogue(home, f"--output={tmp_path / 'out'}", f"--pid={process.pid}")
            dialogue.wait_for("> ")
            record_twice(dialogue)
            assert dialogue.end() == 0, dialogue.said
            assert process.poll() is None
        finally:
            process.kill()
    assert len(directories(tmp_path / "out")) == 2


OTHER_PROFILER = """
import time, torch, torch_npu
with torch.profiler.profile():
    print("ready", flush=True)
    end = time.time() + 600
    while time.time() < end:
        time.sleep(0.002)
"""


def test_a_recording_that_cannot_start_leaves_the_directory_as_it_is(tmp_path: Path) -> None:
    path = script(tmp_path, OTHER_PROFILER)
    environment = {**dynamic_environment(tmp_path), "PROFILING_MODE": "dynamic"}
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "kept").write_text("of others")
    command = [sys.executable, "-m", "drynpu", "run", "-q", str(path)]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            dialogue = Dialogue(tmp_path, f"--output={tmp_path / 'out'}", f"--pid={process.pid}")
            dialogue.wait_for("> ")
            dialogue.type("start")
            dialogue.wait_for("start failed")
            dialogue.end()
            assert process.poll() is None
        finally:
            process.kill()
    assert (tmp_path / "out" / "kept").read_text() == "of others"


PLAIN = """
import os, sys, torch
(torch.ones(4).npu() + 1).sum().item()
child = os.fork()
if not child:
    sys.exit(0)
os.waitpid(child, 0)
home = os.path.expanduser("~")
print([name.partition("_socket")[0] for name in os.listdir(home)] if os.path.isdir(home) else "none")
sys.exit(3)
"""


def test_listening_is_nothing_to_a_script(tmp_path: Path) -> None:
    path = script(tmp_path, PLAIN)
    home = tmp_path / "home"
    home.mkdir()
    for place, said, warned in ((home, "['dynamic_profiling']", False), (tmp_path / "nowhere", "none", True)):
        environment = {**dynamic_environment(place), "PROFILING_MODE": "dynamic"}
        command = [sys.executable, "-m", "drynpu", "run", "-q", str(path)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (3, said), done.stderr
        assert ("no socket for commands can be made" in done.stderr) == warned
    assert not list(home.iterdir())
