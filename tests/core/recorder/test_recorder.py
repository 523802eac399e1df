"""The life of one recording: clocks, samples of the host, the directory it leaves."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from attrs import evolve

from drynpu import CaptureError, ChipError
from drynpu.kernels import Call, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.layouts.result_files import METADATA_FILE
from drynpu.options import Clock, HostSystem, Output, ProfilingRequest, Sampling, Settings
from drynpu.recorder import Recorder
from drynpu.simulate import Recording

TENSOR = TensorDesc((64, 32), "FLOAT16")
KERNEL = KernelSpec(name="k", op_type="K", task_type=TaskType.AI_VECTOR_CORE, outputs=(TENSOR,), vector_ops=2048)


def plan(_: Signature) -> KernelPlan:
    return KernelPlan(kernels=(KERNEL,), in_graph=True)


def recording(recorder: Recorder) -> Recording:
    start_ns = recorder.begin_ns + 1000
    call = Call(Signature("K", (TENSOR,)), start_ns, start_ns + 5000, 77)
    return Recording(
        operators=Operators.from_calls([call]),
        begin_ns=recorder.begin_ns,
        end_ns=recorder.end_ns(start_ns + 5000),
        host_samples=recorder.host_samples,
    )


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    monkeypatch.setattr("drynpu.recorder._recorder._PROF_NUMBERS", itertools.count())
    return Recorder.open("neutral", ProfilingRequest(output=Output(analyse=False)), Settings(seed=5))


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRYNPU_CHIP", "Ascend310P3")
    monkeypatch.setenv("DRYNPU_CLOCK", "wall")
    recorder = Recorder.open("neutral", ProfilingRequest())
    assert (recorder.chip.name, recorder.settings.clock) == ("Ascend310P3", Clock.WALL)
    monkeypatch.setenv("DRYNPU_CHIP", "Ascend9999")
    with pytest.raises(ChipError, match="Ascend9999"):
        Recorder.open("neutral", ProfilingRequest())


def test_prof_directories_of_a_process_are_counted(recorder: Recorder, tmp_path: Path) -> None:
    recorder.start()
    recorder.stop()
    names = []
    for device_id in (0, 3):
        outcome = recorder.write({device_id: recording(recorder)}, plan, tmp_path, host_data=False)
        assert outcome.prof_path is not None
        assert (outcome.prof_path / f"device_{device_id}").is_dir()
        names.append(outcome.prof_path.name[:12])
    assert names == ["PROF_000001_", "PROF_000002_"]
    assert recorder.outcome is outcome
    assert (outcome.chip, outcome.clock, outcome.seed, outcome.kernels) == ("Ascend910B2", "modelled", 5, 1)


@pytest.mark.parametrize("analyse", [False, True])
def test_metadata_and_deliverables_are_beside_the_records(recorder: Recorder, tmp_path: Path, analyse: bool) -> None:
    recorder.request = evolve(recorder.request, output=Output(analyse=analyse))
    assert recorder.deliver() is None, "nothing has been written"
    recorder.start()
    recorder.stop()
    recorder.write({0: recording(recorder)}, plan, tmp_path, host_data=False)
    path = recorder.deliver()
    assert path is not None
    assert json.loads((path / METADATA_FILE).read_text())["drynpu"]["seed"] == 5
    assert (path / "mindstudio_profiler_output").is_dir() == analyse


def test_clocks_are_read_at_the_first_start_alone(recorder: Recorder) -> None:
    before_ns = time.time_ns()
    recorder.start(host_hz=1_000_000_000)
    anchors = recorder.anchors
    recorder.stop()
    recorder.start(host_hz=1_000_000_000)
    assert anchors is not None
    assert recorder.anchors is anchors
    assert anchors.host_hz == 1_000_000_000
    assert before_ns // 1000 * 1000 <= recorder.begin_ns <= time.time_ns()
    assert recorder.end_ns(2**62) == 2**62
    assert recorder.end_ns() > recorder.begin_ns


def test_the_host_is_sampled_while_the_capture_runs(recorder: Recorder) -> None:
    recorder.request = evolve(recorder.request, sampling=Sampling(host_systems=(HostSystem.MEMORY,)))
    counts = []
    for _ in range(2):
        recorder.start()
        recorder.stop()
        recorder.stop()
        assert recorder.host_samples is not None
        counts.append(recorder.host_samples.samples)
    assert 0 < counts[0] < counts[1], "samples of both stretches are kept"


def test_a_capture_that_cannot_start_leaves_nothing_running(recorder: Recorder) -> None:
    recorder.request = evolve(recorder.request, sampling=Sampling(host_systems=(HostSystem.MEMORY,)))

    def refuse() -> None:
        raise CaptureError("another profiler is active")

    with pytest.raises(CaptureError):
        recorder.start(refuse)
    recorder.stop()
    assert recorder.host_samples is None


FORKED = """
import os, sys
from drynpu.recorder import at_process_end
at_process_end(lambda: print("ended", flush=True))
if not os.fork():
    sys.exit(0)
os.wait()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="fork")
def test_forked_processes_leave_the_end_to_their_parent() -> None:
    done = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("ended\n", 0)
