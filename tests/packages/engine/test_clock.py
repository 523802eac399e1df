"""The engine on virtual time in its usual shape: engine core and workers are processes of their own, on one clock."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.busy_loops import busy_loops

OPTIONS = json.dumps({"enforce_eager": True, "tensor_parallel_size": 2})


@pytest.mark.slow  # three starts of four processes
@pytest.mark.timeout(1800)
def test_an_engine_of_several_processes_has_one_clock(
    program: Callable[..., Any], offline: Callable[..., str], model: Callable[..., str]
) -> None:
    folder = model("qwen3")
    words = program("clock.py", folder, OPTIONS)["words"]

    def on_virtual_time() -> Any:
        script = str(Path(__file__).with_name("clock.py"))
        text = offline("drynpu", "run", "--quiet", "--time", "virtual", script, folder, OPTIONS)
        return json.loads(text.partition("RESULT ")[2].splitlines()[0])

    calm = on_virtual_time()
    with busy_loops(4):
        assert on_virtual_time() == calm
    assert calm["words"] == words
    begin, *_, end = map(float, calm["times"][0][1:])
    assert 0 < end - begin < 1
