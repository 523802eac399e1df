"""The name of the process, by which a timeline names the layer of the user's marks."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from drynpu.recorder import Outcome


@pytest.mark.parametrize(
    ("executable", "name"), [("/opt/bin/python", "python"), ("/usr/bin/python3", "python3"), ("python3.11", "python3")]
)
def test_mindspore_finds_its_marks_under_the_interpreter(
    tools: Any, write: Callable[..., Outcome], monkeypatch: pytest.MonkeyPatch, executable: str, name: str
) -> None:
    """MindSpore 2.7 looks for the processes python and python3; drynpu run is neither."""
    monkeypatch.setattr(sys, "argv", ["/opt/bin/drynpu", "run", "train.py"])
    monkeypatch.setattr(sys, "executable", executable)
    table = tools.operators([tools.Row("add", 0, 10_000)])
    assert tools.read(write(table, framework="mindspore")).pid_name == name
    assert tools.read(write(table, "script")).pid_name == "drynpu"
