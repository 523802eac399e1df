"""Tensors and events of the npu in several processes: they have one memory, as on a device."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

SHARING = Path(__file__).parent / "sharing_script.py"


@pytest.mark.slow
@pytest.mark.parametrize("device", ["native", "sink"])
@pytest.mark.parametrize(
    "kind", ["whole", "view", "parameter", "leaf", "buffer", "empty", "scalar", "twice", "dropped", "bfloat16"]
)
def test_a_queue_carries_a_tensor_whose_memory_both_processes_have(kind: str, device: str, run: Any) -> None:
    """The child doubles what it gets in place; the parent sees it, and the child what the parent writes later."""
    shown = run(SHARING, "queue", kind, device=device)
    assert shown["got"] == shown["sent"]
    assert shown["seen_by_parent"] == shown["doubled"]
    assert shown["seen_by_child"] == shown["written_later"]


@pytest.mark.parametrize("device", ["native", pytest.param("sink", marks=pytest.mark.slow)])
def test_arguments_are_the_vendors_and_take_another_device(device: str, run: Any) -> None:
    """vLLM-Ascend sends the arguments alone, by plain pickle, and writes its own device into the seventh."""
    shown = run(SHARING, "arguments", device=device)
    assert shown == {"function": "rebuild_npu_tensor", "arguments": 15, "device": 0, "values": [3.0, 4.0], "same": True}


def test_a_manager_that_is_late_is_asked_again(run: Any) -> None:
    """Beside busy processes it does not answer within a second, and verl could not give weights to its engine."""
    assert run(SHARING, "late") == {"function": "rebuild_npu_tensor", "values": [0.0, 1.0, 2.0], "same": True}


@pytest.mark.slow
def test_sharing_changes_neither_the_values_nor_the_memory_of_the_device(run: Any) -> None:
    shown = run(SHARING, "memory")
    assert shown == {"allocated": 0, "peak": 0, "values": True, "gradient": True, "of_the_child": 0}


@pytest.mark.slow
def test_nothing_stays_in_the_systems_memory(run: Any) -> None:
    assert run(SHARING, "left") == {"while_shared": True, "afterwards": []}


@pytest.mark.slow
@pytest.mark.parametrize("device", ["native", "sink"])
def test_what_cannot_be_sent_says_why(device: str, run: Any) -> None:
    shown = run(SHARING, "refused", device=device)
    assert "Cowardly refusing to serialize non-leaf tensor" in shown["non_leaf"]
    assert "make it with torch.npu.Event(interprocess=True)" in shown["event"]
    assert "object of size 64, but got 3" in shown["handle"]
    if device == "native":
        assert "Cannot pickle NPU storage; try pickling a NPU tensor instead" in shown["storage"]


@pytest.mark.slow
def test_an_event_goes_to_another_process(run: Any) -> None:
    assert run(SHARING, "event") == {"queue": True, "handle": True, "size": 64}


@pytest.mark.slow
def test_without_values_a_tensor_of_the_same_size_arrives(run: Any) -> None:
    shown = run(SHARING, "outline", DRYNPU_COMPUTE="0")
    assert shown == {"shape": [1024, 1024], "device": "npu:0"}
