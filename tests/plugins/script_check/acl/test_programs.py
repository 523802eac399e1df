"""``drynpu check`` of pyACL programs with planted mistakes, each of which has to be found at its line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Check = Callable[..., Any]
HEAD = """
import acl
import numpy as np

acl.init()
acl.rt.set_device(0)
model, code = acl.mdl.load_from_file("mlp.om")
assert code == 0
desc = acl.mdl.create_desc()
assert acl.mdl.get_desc(desc, model) == 0


def buffers(size):
    data = acl.mdl.create_dataset()
    address, code = acl.rt.malloc(size, 0)
    assert code == 0
    acl.mdl.add_dataset_buffer(data, acl.create_data_buffer(address, size))
    return data


inputs = buffers(acl.mdl.get_input_size_by_index(desc, 0))
outputs = buffers(acl.mdl.get_output_size_by_index(desc, 0))
stream, code = acl.rt.create_stream()
"""
MISTAKEN = (
    HEAD
    + """
acl.prof.init("profiles")
acl.prof.set_config(5, "7000")  # frequency
config = acl.prof.create_config([0], 1, 0, 0x2 | 0x4)
acl.prof.start(config)  # started
acl.prof.start(config)  # again
acl.rt.malloc(1 << 50, 0)  # memory
for number in range(12):
    acl.mdl.execute_async(model, inputs, outputs, stream)
    acl.rt.synchronize_stream(stream)  # waits
open("ended", "w").close()
"""
)
CLEAN = (
    HEAD
    + """
acl.init()
acl.prof.init("profiles")
config = acl.prof.create_config([0], 1, 0, 0x2 | 0x4)
assert acl.prof.start(config) == 0
for number in range(4):
    stamp = acl.prof.create_stamp()
    assert acl.prof.set_stamp_trace_message(stamp, "run", 3) == 0
    assert acl.prof.push(stamp) == 0
    assert acl.mdl.execute(model, inputs, outputs) == 0
    assert acl.prof.pop() == 0
assert acl.prof.stop(config) == 0
assert acl.prof.finalize() == 0
acl.finalize()
open("ended", "w").close()
"""
)
NEVER_STOPPED = CLEAN.replace("assert acl.prof.stop(config) == 0\nassert acl.prof.finalize() == 0\n", "")
RUN = "acl.mdl.execute(model, inputs, outputs)\nacl.finalize()\n"
IMAGES = HEAD.replace("acl.init()", 'acl.init("acl.json")') + RUN


@pytest.fixture
def folder(tmp_path: Path, models: ModuleType) -> Path:
    models.save(models.mlp(), tmp_path / "mlp.om")
    return tmp_path


def test_planted_mistakes_are_found_at_their_lines(checked: Check, folder: Path) -> None:
    found = checked(MISTAKEN, folder)
    assert found.status == 1
    failed = {each["title"]: each for each in found.named("call-fails")}
    assert set(found.sources("call-fails")) == {
        'acl.prof.set_config(5, "7000")  # frequency',
        "acl.prof.start(config)  # again",
        "acl.rt.malloc(1 << 50, 0)  # memory",
    }
    assert "100010 (INVALID_PROFILING_CONFIG)" in failed["acl.prof.set_config fails"]["evidence"]
    assert failed["acl.prof.start fails"]["level"] == "error"
    assert "207001 (MEMORY_ALLOCATION)" in failed["acl.rt.malloc fails"]["evidence"]
    assert failed["acl.rt.malloc fails"]["level"] == "warning", "what is no profiling is lost by nobody"
    assert found.sources("host-waits") == ["acl.rt.synchronize_stream(stream)  # waits"]
    # The process ends at the limit: nobody knows whether it would have stopped the profiler.
    assert "never-stopped" not in found.names
    assert (found.document["steps"], found.document["ended_by_limit"]) == (5, True)
    assert not (folder / "ended").exists()
    assert not list(folder.rglob("PROF_*")), "the script's own profiler records nothing"


@pytest.mark.slow
def test_its_runs_are_recorded_with_their_memory(checked: Check, folder: Path) -> None:
    document = checked(CLEAN, folder).document
    assert (document["steps"], document["exit_code"], document["ended_by_limit"]) == (4, 0, False)
    # Two matrix products, a bias and an activation of each at most: the graph is fused.
    assert document["kernels_per_step"] > 0
    assert document["peak_allocated_bytes"] == 4 * 16 * 4 + 4 * 8 * 4, "input and output"
    assert (folder / "ended").exists()


@pytest.mark.slow
def test_a_clean_program_has_no_error_nor_warning(checked: Check, folder: Path) -> None:
    found = checked(CLEAN, folder)
    assert (found.status, found.document["errors"], found.document["warnings"]) == (0, 0, 0)


@pytest.mark.slow
def test_a_profiler_that_is_never_stopped(checked: Check, folder: Path) -> None:
    found = checked(NEVER_STOPPED, folder)
    assert found.sources("never-stopped") == ["assert acl.prof.start(config) == 0"]


@pytest.mark.slow
def test_data_that_is_not_simulated_is_told(checked: Check, folder: Path) -> None:
    (folder / "acl.json").write_text('{"profiler": {"switch": "on", "output": "out", "dvpp_freq": 50}}')
    (folder / "out").mkdir()
    found = checked(IMAGES, folder)
    (told,) = [each for each in found.named("not-simulated") if "dvpp" in each["evidence"]]
    assert (told["level"], found.lines[told["line"] - 1]) == ("info", 'acl.init("acl.json")')
    assert "no work of the image engines is simulated" in told["evidence"]


@pytest.mark.slow
def test_ranks_that_do_not_say_their_number(checked: Check, folder: Path) -> None:
    starts = "import subprocess, sys\nfor _ in range(2):\n    subprocess.run([sys.executable, 'child.py'])\n"
    (folder / "child.py").write_text(CLEAN)
    assert "rank-unknown" in checked(starts, folder).names
