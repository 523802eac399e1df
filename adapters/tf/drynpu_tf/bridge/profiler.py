"""``npu_bridge.profiler.profiler.Profiler``: collection of a part of a script (tf_adapters.md 1.7)."""

from __future__ import annotations

import os
from types import MappingProxyType, TracebackType
from typing import Any

from drynpu import OptionError
from drynpu.options import ProfilingRequest, Settings
from drynpu.options.profiling_options import parse, prepare_output
from drynpu.recorder import load_chosen_chip
from drynpu_tf.recording import PROCESS

_METRICS = (
    *("ArithmeticUtilization", "L2Cache", "Memory", "MemoryL0", "MemoryUB", "PipeUtilization"),
    "ResourceConflictRatio",
)
_L1 = MappingProxyType({"task_time": "l1", "hccl": "on"})
_LEVELS = MappingProxyType({"L0": {"task_time": "l0"}, "L1": _L1, "L2": {**_L1, "runtime_api": "on", "aicpu": "on"}})
"""The levels as the collector's JSON has them: data types of the device, the calls of ACL always among them."""


class Profiler:
    """
    Record the sessions that run inside a ``with`` block (or between `start` and `stop`).

    Recording begins with the first ``sess.run`` of a session on the device; a block without one leaves nothing.

    Parameters
    ----------
    level:
        ``L0``: task times. ``L1``: and communication and counters of the cores. ``L2``: and calls of the runtime, and
        AI CPU.
    aic_metrics:
        The group of counters; empty: ``PipeUtilization``, and none for ``L0``.
    output_path:
        Where the PROF directory goes; empty: the working directory.

    Raises
    ------
    ValueError
        An argument is no str.
    """

    def __init__(self, *, level: str = "L0", aic_metrics: str = "", output_path: str = "") -> None:
        for name, value in (("level", level), ("aic_metrics", aic_metrics), ("output_path", output_path)):
            if not isinstance(value, str):
                raise ValueError(f"Option {name} should be str, but get type: {type(value)}")
        self._level = level
        self._aic_metrics = aic_metrics
        self._output_path = output_path

    def start(self) -> None:
        """
        Arm the profiler.

        Raises
        ------
        RuntimeError
            An option cannot be, or another profiler is armed.
        """
        request = self._request()
        if PROCESS.armed:
            raise RuntimeError("Not support nested call 'profiler.Profiler'.")
        PROCESS.arm(request)

    def stop(self) -> None:
        """Disarm the profiler, and write what was recorded."""
        PROCESS.disarm()

    def __enter__(self) -> Profiler:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    def _request(self) -> ProfilingRequest:
        """Return what to record. Raises ``RuntimeError`` with the vendor's texts."""
        if self._level not in _LEVELS:
            raise RuntimeError(
                f"Profiler options: level cannot set to: {self._level}, should set level to [{', '.join(_LEVELS)}]."
            )
        if self._level == "L0" and self._aic_metrics:
            raise RuntimeError("Please use L1 or L2 if you want to collect aic metrics!")
        if self._aic_metrics and self._aic_metrics not in _METRICS:
            raise RuntimeError(
                f"Profiler options: aic_metrics cannot set to: {self._aic_metrics}, should set aic_metrics to "
                f"[{', '.join(_METRICS)}]."
            )
        document: dict[str, Any] = {"output": self._output_path or "./", **_LEVELS[self._level]}
        if self._level != "L0":
            document["aic_metrics"] = self._aic_metrics or "PipeUtilization"
        settings = Settings.from_environ(os.environ)
        chip = load_chosen_chip(settings)
        try:
            request = parse(document, chip=chip.platform_version, strict=settings.strict).request
            prepare_output(request.output.directory or ".")
        except OptionError as error:
            raise RuntimeError(str(error)) from error
        return request
