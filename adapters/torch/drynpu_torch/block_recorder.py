"""A block of a test or of a notebook, recorded with the profiler of torch_npu."""

from __future__ import annotations

import importlib
from pathlib import Path

_ENDLESS = 1_000_000
"""Steps of a schedule that records all of them."""


class TorchBlockRecorder:
    """
    Records every step of a block at level 1, with shapes and memory, below *folder*.

    Raises
    ------
    ImportError
        PyTorch is not installed.
    """

    def __init__(self, folder: Path) -> None:
        # By name: torch_npu is the vendor's package to whoever calls, and may be the genuine one.
        profiler = importlib.import_module("torch_npu").profiler
        self._profile = profiler.profile(
            schedule=profiler.schedule(wait=0, warmup=0, active=_ENDLESS, repeat=1),
            on_trace_ready=profiler.tensorboard_trace_handler(str(folder)),
            profile_memory=True,
            record_shapes=True,
            experimental_config=profiler._ExperimentalConfig(profiler_level=profiler.ProfilerLevel.Level1),
        )

    def start(self) -> None:
        """Begin to record."""
        self._profile.start()

    def step(self) -> None:
        """End a step."""
        self._profile.step()

    def stop(self) -> None:
        """End the recording and write its files."""
        self._profile.stop()
