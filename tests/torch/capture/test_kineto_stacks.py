"""Stacks of operators that Kineto records: from the frames around them, without Kineto's own texts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from drynpu_torch.capture._kineto import KinetoTracer, stacks_of
from drynpu_torch.compat import PythonFrames


def columns(*rows: tuple[int, int, int]) -> list[np.ndarray]:
    return [np.array(column, np.int64) for column in zip(*rows, strict=True)]


def test_an_operator_has_the_frames_around_it_innermost_first() -> None:
    start, end, thread = columns((0, 100, 1), (10, 60, 1), (0, 100, 2))
    frames = PythonFrames(["train", "forward", "loader"], start, end, thread)
    # In the inner frame, in that operator, in the outer one alone, in another thread, and in none.
    operators = columns((10, 50, 1), (20, 30, 1), (70, 80, 1), (20, 30, 2), (20, 30, 3))
    assert [*stacks_of(frames, *operators)] == ["forward;train", "forward;train", "train", "loader", ""]


def test_a_frame_inside_an_operator_is_between_the_frames() -> None:
    start, end, thread = columns((0, 100, 1), (20, 60, 1))
    frames = PythonFrames(["train", "of_hook"], start, end, thread)
    assert [*stacks_of(frames, *columns((10, 90, 1), (30, 40, 1)))] == ["train", "of_hook;train"]


def test_kineto_writes_no_text_for_every_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    """With its option ``verbose`` it does: minutes where a recorded step imports a large package."""
    configs = []
    original = torch._C._profiler._ExperimentalConfig
    module = "drynpu_torch.capture._kineto._ExperimentalConfig"
    monkeypatch.setattr(module, lambda **options: configs.append(options) or original(**options))
    tracer = KinetoTracer(stack=True)
    tracer.start()
    tracer.stop()
    assert [options.get("verbose", False) for options in configs] == [False]
