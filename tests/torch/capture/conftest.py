"""One process with the device installed; what a piece of work leaves in the capture, and what is made of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

os.environ.setdefault("KINETO_LOG_LEVEL", "99")

from drynpu.kernels import build_rule_book
from drynpu.options import Clock, Level, MetricGroup, ProfilingRequest, Switches
from drynpu.platforms import load_chip
from drynpu.raw import ClockAnchors
from drynpu.recorder import Outcome, Setup, write_recording
from drynpu.simulate import Destination, Recording
from drynpu_torch import device
from drynpu_torch.capture import Capture, CapturedTorch, new_tracer
from drynpu_torch.install import install
from drynpu_torch.rules import FALLBACKS, RULES


@pytest.fixture(autouse=True)
def npu() -> Iterator[None]:
    install()
    yield
    device.state().recorder = None


@pytest.fixture
def record() -> Callable[..., CapturedTorch]:
    """Return a function that captures work, given as one function per step."""

    def run(*steps: Callable[[], object], memory: bool = True, stack: bool = False, **options: Any) -> CapturedTorch:
        capture = Capture(tracer=new_tracer(memory=memory, stack=stack), **options)
        capture.start()
        device.state().recorder = capture.device_calls
        try:
            for step in steps:
                step()
                capture.step()
        finally:
            captured = capture.stop()
            device.state().recorder = None
        return captured

    return run


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Outcome]:
    """Return a function that makes a result directory of what was captured."""
    anchors = ClockAnchors.now(50_000_000)

    def run(
        captured: CapturedTorch, name: str, *, chip: str = "Ascend910B2", clock: Clock = Clock.PROJECTED, seed: int = 0
    ):
        directory = tmp_path / name
        directory.mkdir()
        recording = Recording(
            operators=captured.operators,
            allocations=captured.allocations,
            host_calls=tuple(captured.device_calls.calls),
            streams=tuple(captured.device_calls.streams),
            begin_ns=captured.begin_ns,
            end_ns=captured.end_ns,
        )
        return write_recording(
            recording,
            Destination(directory=directory, framework="torch", pid=os.getpid()),
            Setup(
                request=ProfilingRequest(
                    level=Level.L1,
                    aic_metrics=MetricGroup.PIPE_UTILIZATION,
                    switches=Switches(record_shapes=True, profile_memory=True),
                ),
                chip=load_chip(chip),
                clock=clock,
                seed=seed,
                anchors=anchors,
                plan=build_rule_book(RULES, fallbacks=FALLBACKS).plan,
            ),
        )

    return run
