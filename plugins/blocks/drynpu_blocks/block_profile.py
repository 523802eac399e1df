"""A block of a test or of a notebook: its recording and its numbers."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import redirect_stdout
from functools import cached_property
from io import StringIO
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

from attrs import evolve

from drynpu import PluginError, open_run
from drynpu.analysis import Summary, summarise
from drynpu.plugins import BlockRecorder, build_manager
from drynpu.products import find_profiles, load_profile

_UNREAD = "there are no numbers before the block of the profile has ended"


class BlockProfile:
    """
    A recording on the simulated npu and its numbers, which are there when the block has ended. Times are modelled.

    ::

        profile = BlockProfile(Path("profiles"))
        with profile:
            for _ in range(3):
                train_step()
                profile.step()
        profile.step_ms, profile.kernels, profile.peak_memory

    Parameters
    ----------
    folder:
        Where the result directory is written.
    framework:
        Whose profiler records: the name of an adapter that implements ``drynpu_block_recorder``.
    """

    def __init__(self, folder: Path, framework: str = "torch") -> None:
        self.folder = folder
        self.framework = framework
        self._recorder: BlockRecorder | None = None
        self._summary: Summary | None = None
        self._steps = 0
        self._there: frozenset[Path] = frozenset()
        """Result directories in the folder before the block."""

    @property
    def used(self) -> bool:
        """Whether a block was recorded."""
        return self._summary is not None

    @property
    def summary(self) -> Summary:
        """All numbers. Raises `RuntimeError` before the block has ended."""
        if self._summary is None:
            raise RuntimeError(_UNREAD)
        return self._summary

    @property
    def path(self) -> Path:
        """The result directory, for ``drynpu dashboard`` and the vendor's tools."""
        return self.summary.path

    @property
    def step_ms(self) -> float:
        """Median time of the steps, so that the first may set things up; without :meth:`step` the time of the block."""
        names = ("computing_us", "communication_not_overlapped_us", "free_us")
        times = self.summary.steps.select(names).sum_horizontal()
        return median(times.to_list()) / 1000 if len(times) else 0.0

    @property
    def kernel_ms(self) -> float:
        """Time of all kernels."""
        return self.summary.kernel_us / 1000

    @property
    def kernels(self) -> Mapping[str, int]:
        """Type of kernel -> how many ran."""
        counts: dict[str, int] = {}
        for kernel in self.summary.kernels:
            counts[kernel.op_type] = counts.get(kernel.op_type, 0) + kernel.count
        return counts

    @property
    def kernel_count(self) -> int:
        """How many kernels ran."""
        return self.summary.kernel_count

    @property
    def peak_memory(self) -> int:
        """Largest device memory of tensors in bytes. Raises `RuntimeError` if none was recorded."""
        if self.summary.peak_allocated_bytes is None:
            raise RuntimeError("no device memory was recorded: nothing was allocated on the npu in the block")
        return self.summary.peak_allocated_bytes

    @cached_property
    def run(self) -> Any:
        """
        The whole result: tables, figures, hints (`drynpu.open_run`).

        Raises `RuntimeError` before the block has ended, and `PluginError` where the plugin ``pages`` is off.
        """
        return open_run(self.path)

    def step(self) -> None:
        """End a step. Raises `RuntimeError` outside the block."""
        if self._recorder is None:
            raise RuntimeError("a step ends inside the block of the profile: `with profile:`")
        self._steps += 1
        with redirect_stdout(StringIO()):
            self._recorder.step()

    def __enter__(self) -> BlockProfile:
        """Begin to record. Raises `ImportError` where the framework is missing, `PluginError` for an unknown one."""
        os.environ.setdefault("DRYNPU_QUIET", "1")  # no summary of the last recording when the process ends
        self._there = self._find_profiles()
        with redirect_stdout(StringIO()):
            self._recorder = build_manager().block_recorder(self.framework, self.folder)
            self._recorder.start()
        self.__dict__.pop("run", None)
        self._summary, self._steps = None, 0
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """End the recording and read it; what follows the last step counts to none."""
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        with redirect_stdout(StringIO()) as said:
            recorder.stop()
        new = self._find_profiles() - self._there
        if new:
            summary = summarise(load_profile(min(new)))
            self._summary = evolve(summary, steps=summary.steps.head(self._steps)) if self._steps else summary
        elif error is None:  # the block's error says more than that nothing was recorded
            raise RuntimeError(f"nothing was recorded: {said.getvalue().strip() or 'no operator ran on the npu'}")

    def _find_profiles(self) -> frozenset[Path]:
        return frozenset(find_profiles(self.folder) if self.folder.is_dir() else ())

    def __str__(self) -> str:
        """Return the numbers in one line."""
        peak = self.summary.peak_allocated_bytes
        memory = "" if peak is None else f", peak {peak / 2**20:.1f} MB"
        step = f"step {self.step_ms:.3f} ms, " if self._steps else ""
        return f"{step}{self.kernel_count} kernels, {self.kernel_ms:.3f} ms{memory} (modelled)"

    def __repr__(self) -> str:
        """Return the numbers, the kernels that took most time and the folder."""
        if not self.used:
            return f"<profile below {self.folder}, without numbers yet>"
        top = ", ".join(f"{kernel.op_type} x{kernel.count}" for kernel in self.summary.kernels[:5])
        return "\n".join(filter(None, (str(self), top, str(self.path))))

    def _repr_html_(self) -> str | None:
        """Return the overview of the run for a notebook; without the plugin ``pages`` it shows the text instead."""
        if not self.used:
            return None
        try:
            overview: str = self.run._repr_html_()
        except PluginError:
            return None
        return overview
