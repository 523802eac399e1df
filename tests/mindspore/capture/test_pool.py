"""What MindSpore's memory pool on the CPU held, beside what is modelled of a device's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from drynpu.device import block_bytes
from drynpu_mindspore.capture._launches import read_pool

HEADER = "Timestamp(ns),Total Allocated(Byte),Total Reserved(Byte),Total Active(Byte)\n"


def test_totals_are_read_of_whatever_rank(tmp_path: Path) -> None:
    assert read_pool(tmp_path, 0).shape == (0, 3)
    (tmp_path / "cpu_ms_memory_record_3.txt").write_text(HEADER)
    assert read_pool(tmp_path, 0).shape == (0, 3)
    (tmp_path / "cpu_ms_memory_record_3.txt").write_text(HEADER + "5,512,1024,512\n7,0,1024,0\n")
    assert read_pool(tmp_path, 0).tolist() == [[5, 512, 1024], [7, 0, 1024]]
    assert read_pool(tmp_path, 6).tolist() == [[7, 0, 1024]]


@pytest.mark.parametrize("mode", ["graph", "pynative"])
@pytest.mark.parametrize("name", ["mlp_sgd", "lenet", "block"])
def test_totals_are_those_of_the_recording(workloads, mode, name):
    begin_ns, captured, end_ns = workloads(mode)[name]
    time_ns, allocated, reserved = captured.pool.T
    assert len(time_ns) > 20
    assert (np.diff(time_ns) >= 0).all()
    assert begin_ns <= time_ns[0]
    assert time_ns[-1] <= end_ns
    assert (allocated >= 0).all()
    assert (allocated <= reserved).all()


def test_nothing_is_measured_that_was_not_asked_for(workloads):
    assert len(workloads("graph")["again"][1].pool) == 0


@pytest.mark.parametrize("name", ["lenet", "block"])
def test_the_model_comes_close_to_what_the_pool_held_on_the_cpu(workloads, name):
    """
    What comes and goes is compared: parameters are in the pool of a device alone.

    So are the inputs of a graph, and the workspaces of kernels are in the CPU's alone.
    """
    captured = workloads("graph")[name][1]
    modelled = captured.memory.model(captured.operators).allocations
    blocks = np.sign(modelled.size_bytes) * block_bytes(np.abs(modelled.size_bytes))
    peak = int(np.cumsum(blocks).max())
    allocated = captured.pool[:, 1]
    measured = int(allocated.max() - allocated.min())
    assert 0.9 * measured <= peak <= 1.25 * measured
