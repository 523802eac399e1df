"""Journals of recordings that are made by hand: written, cut, recovered."""

from __future__ import annotations

import errno
import json
import time
from pathlib import Path

import numpy as np
import pytest

from drynpu.device import DispatchKind
from drynpu.kernels import Allocations, Call, KernelPlan, KernelSpec, Operators, Signature, TaskType, TensorDesc
from drynpu.options import ProfilingRequest, Settings
from drynpu.products import load_profile
from drynpu.recorder import Recorder, find_journals, join_recordings, recover
from drynpu.recorder import _journal as journal_module
from drynpu.recorder import _recovery as recovery_module
from drynpu.simulate import HostCall, PythonFrames, Recording

SHAPES = ((8, 4), (16, 4))


def plan(signature: Signature) -> KernelPlan:
    (tensor,) = signature.tensors()
    kernel = KernelSpec(
        name=f"aclnn{signature.name}",
        op_type=signature.name,
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=(tensor,),
        vector_ops=tensor.elements,
        bytes_read=tensor.size_bytes,
    )
    return KernelPlan(api=f"aclnn{signature.name}", kernels=(kernel,))


def part(begin_ns: int, step: int) -> Recording:
    """One step of 1 ms with two operators; the second has another shape in every step."""
    shapes = (SHAPES[0], (16 + step, 4))
    calls = [
        Call(Signature("Add", (TensorDesc(shape, "FLOAT"),)), begin_ns + at, begin_ns + at + 10_000, thread=7)
        for shape, at in zip(shapes, (100_000, 300_000), strict=True)
    ]
    return Recording(
        operators=Operators.from_calls([Call(f"ProfilerStep#{step}", begin_ns, begin_ns + 1_000_000, 7), *calls]),
        allocations=Allocations.from_rows([(begin_ns + 1, 7, 64, 128), (begin_ns + 2, 7, 64, -128)]),
        begin_ns=begin_ns,
        end_ns=begin_ns + 1_000_000,
        host_calls=(HostCall(begin_ns + 900_000, 7, DispatchKind.WAIT_DEVICE),),
        live_before_bytes=512,
    )


@pytest.fixture
def recorder() -> Recorder:
    recorder = Recorder.open("made", ProfilingRequest(), Settings(chip="Ascend910B3", seed=4))
    recorder.start()
    recorder.stop()
    return recorder


def parts_of(recorder: Recorder) -> list[Recording]:
    return [part(recorder.begin_ns + step * 2_000_000, step) for step in range(3)]


def save(recorder: Recorder, directory: Path, warned: list[str]) -> Path | None:
    """Save three parts, and wait until they are on disk."""
    for each in parts_of(recorder):
        recorder.save(lambda each=each: {2: each}, lambda: plan, directory, warn=warned.append, host_data=False)
    journal = recorder.journal
    assert journal is not None
    journal._parts.put(None)
    assert journal._thread is not None
    journal._thread.join(20)
    return journal.path


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that wrote the journal is gone."""
    monkeypatch.setattr(recovery_module, "process_start_s", lambda pid: 0.0)


def test_joined_parts_are_what_they_hold_in_order(recorder: Recorder) -> None:
    parts = parts_of(recorder)
    frames = PythonFrames(
        names=("f", "g"), name=np.array([1]), start_ns=np.array([5]), end_ns=np.array([6]), thread=np.array([7])
    )
    joined = join_recordings(
        [*parts[:2], Recording(operators=parts[2].operators, begin_ns=0, end_ns=1, python_frames=frames)]
    )
    names = [joined.operators.names[name] for name in joined.operators.name.tolist()]
    assert names == ["ProfilerStep#0", "Add", "Add", "ProfilerStep#1", "Add", "Add", "ProfilerStep#2", "Add", "Add"]
    # The first shape is in all parts and stands once, the second differs.
    assert len(joined.operators.signatures) == 4
    assert joined.allocations.size_bytes.tolist() == [128, -128, 128, -128]
    assert (joined.begin_ns, joined.end_ns) == (0, parts[1].end_ns)
    assert joined.live_before_bytes == 512
    assert len(joined.host_calls) == 2
    assert joined.python_frames is not None
    assert [joined.python_frames.names[name] for name in joined.python_frames.name.tolist()] == ["g"]


@pytest.mark.usefixtures("ended")
def test_a_cut_recording_is_written_as_the_process_would_have(recorder: Recorder, tmp_path: Path) -> None:
    messages: list[str] = []
    whole = recorder.write({2: join_recordings(parts_of(recorder))}, plan, tmp_path / "whole", host_data=False)
    journal = save(recorder, tmp_path, messages)
    assert messages == []
    assert find_journals(tmp_path.parent) == find_journals(tmp_path) == [journal]
    (found,) = recover(tmp_path, messages.append)
    assert (found.steps, found.operators) == (3, 9)
    assert "Recovered: 3 steps with 9 operators" in messages[0]
    assert find_journals(tmp_path) == []
    assert journal is not None
    assert not journal.exists()
    (prof,) = tmp_path.glob("PROF_*")
    assert whole.prof_path is not None
    table = load_profile(prof).kernels
    assert table.equals(load_profile(whole.prof_path).kernels)
    assert table["device_id"].to_list() == [2] * 6
    document = json.loads((prof / "profiler_metadata.json").read_text())["drynpu"]
    assert (document["chip"], document["seed"]) == ("Ascend910B3", 4)
    assert "Recovered: 3 steps" in document["notes"][0]


@pytest.mark.usefixtures("ended")
def test_a_half_written_result_goes_and_a_whole_one_stays(recorder: Recorder, tmp_path: Path) -> None:
    messages: list[str] = []
    save(recorder, tmp_path, messages)
    half = recorder.write({2: join_recordings(parts_of(recorder))}, plan, tmp_path, host_data=False).prof_path
    other = tmp_path / "PROF_000001_20200101000000000_AAAAAAAAAAAAAAAA"
    other.mkdir()
    assert half is not None
    recover(tmp_path, messages.append)
    assert not half.exists()
    assert other.exists()
    assert len(list(tmp_path.glob("PROF_*"))) == 2


def test_a_running_process_is_left_alone(recorder: Recorder, tmp_path: Path) -> None:
    messages: list[str] = []
    journal = save(recorder, tmp_path, messages)
    assert recover(tmp_path, messages.append) == []
    assert "is still recording" in messages[0]
    assert find_journals(tmp_path) == [journal]
    recorder.settle()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("ended")
def test_foreign_and_damaged_journals_are_told_and_stay(recorder: Recorder, tmp_path: Path) -> None:
    messages: list[str] = []
    journal = save(recorder, tmp_path, messages)
    assert journal is not None
    (journal / "head.npz").write_bytes(b"nothing")
    assert recover(tmp_path, messages.append) == []
    assert "could not be recovered" in messages[0]
    assert len(list(journal.glob("part-*.npz"))) == 3


def test_no_space_is_told_once_and_ends_the_journal(
    recorder: Recorder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, written = journal_module._write_file, []

    def short(path: Path, data: bytes) -> None:
        written.append(path.name)
        if len(written) > 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, data)

    monkeypatch.setattr(journal_module, "_write_file", short)
    messages: list[str] = []
    journal = save(recorder, tmp_path, messages)
    recorder.save(lambda: {2: parts_of(recorder)[0]}, lambda: plan, tmp_path, warn=messages.append)
    time.sleep(0.1)
    assert len(messages) == 1
    assert "No space left on device" in messages[0]
    assert "goes on in memory" in messages[0]
    assert written == ["head.npz", "part-000000.npz", "part-000001.npz"]
    assert journal is not None
    assert sorted(path.name for path in journal.iterdir()) == ["head.npz", "part-000000.npz"]
