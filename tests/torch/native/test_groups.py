"""Collectives of tensors that say npu."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest


@pytest.mark.slow
def test_tensors_of_the_device_are_exchanged_where_they_are(run: Any) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    places, values, device_ids = run(Path(__file__).with_name("group_script.py"), str(port))
    assert places == ["npu:0"] * 8
    assert values == [[3.0, 3.0], [1.0, 1.0], [2.0, 2.0], [1.0, 1.0, 2.0, 2.0], [3.0], [8.0], [3.0, 3.0], [1.5, 1.5]]
    assert device_ids == [0]


@pytest.mark.slow
def test_a_parallel_model_is_dropped_after_its_group(run: Any) -> None:
    """A thread of gloo that dropped a Python object while its group waited for it would hang one time in a few."""
    assert run(Path(__file__).with_name("teardown_script.py"), "20") == 20
