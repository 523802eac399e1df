"""``torch_npu.utils.profiler.Profile``: one step of a training is recorded, then the script ends."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch

from drynpu_torch.device import ErrCode, prof_error
from drynpu_torch.profiler._analyse import tensorboard_trace_handler
from drynpu_torch.profiler._config import _ExperimentalConfig
from drynpu_torch.profiler._profile import profile
from drynpu_torch.profiler._values import ProfilerLevel

_TORCH: Final = "TORCH"
_ASCEND: Final = "ASCEND_PROFILER"
_OPTIONS: Final = {
    _TORCH: (
        *("enabled", "use_cuda", "record_shapes", "with_flops", "profile_memory"),
        *("with_stack", "use_kineto", "use_cpu", "use_npu_simple"),
    ),
    _ASCEND: ("activities", "schedule", "record_shapes", "profile_memory", "with_stack"),
}
"""Options of each type of profile that the vendor lets through (torch_npu/utils/profiler.py)."""
_OF_OTHER_DEVICES: Final = ("use_cuda", "use_npu_simple")
"""Options that PyTorch's profiler has no more, or has for another device."""


class StepProfile:
    """
    A recording of one step: scripts call `start` and `end` around every step, as their vendor's samples do.

    Nothing is recorded but the step with the number *start_step*, from 1 on. At its end the files are written and the
    process ends (``SystemExit``), as with the vendor.

    Parameters
    ----------
    start_step:
        The step that is recorded.
    save_path:
        The folder of the files, which is made.
    profile_type:
        ``ASCEND_PROFILER`` writes the result directory of `profile`; ``TORCH`` the trace of PyTorch's own profiler, as
        ``torch_prof_<time>.json``. With anything else nothing is recorded, and the script goes on.
    use_npu, record_shape, experimental_config:
        Whether the device is recorded (``TORCH``, without effect here); shapes and the configuration, by default the
        one of level 2 (``ASCEND_PROFILER``).
    options:
        Of the profiler that records.

    Raises
    ------
    ValueError
        An option is none of the profiler's, or the folder cannot be made.
    """

    def __init__(
        self,
        start_step: int = 10,
        save_path: str = "./npu_profiling",
        profile_type: str | None = None,
        use_npu: bool = True,
        record_shape: bool = True,
        experimental_config: Any = None,
        **options: Any,
    ) -> None:
        del use_npu
        self._start_step = start_step
        self._folder = save_path
        self._type = profile_type if profile_type in _OPTIONS else ""
        self._steps = 0
        self._is_open = False
        self._profiler: Any = None
        if not self._type:
            return
        _check_options(self._type, options)
        if self._type == _TORCH:
            kept = {name: value for name, value in options.items() if name not in _OF_OTHER_DEVICES}
            self._profiler = torch.autograd.profiler.profile(**kept)
        else:
            self._profiler = profile(
                on_trace_ready=tensorboard_trace_handler(save_path),
                experimental_config=experimental_config or _ExperimentalConfig(profiler_level=ProfilerLevel.Level2),
                **{"record_shapes": record_shape, **options},
            )
        _make_folder(save_path)

    def start(self) -> None:
        """
        Begin a step.

        Raises
        ------
        RuntimeError
            The last one has not ended.
        """
        if self._is_open:
            raise RuntimeError("start interface can only be called once" + prof_error(ErrCode.INTERNAL))
        self._is_open = True
        self._steps += bool(self._type)
        if self._is_recorded():
            self._profiler.__enter__()

    def end(self) -> None:
        """
        End a step; if it is the recorded one, write its files and end the process.

        Raises
        ------
        RuntimeError
            None has begun.
        """
        if not self._is_open:
            raise RuntimeError("start interface must be called after end" + prof_error(ErrCode.INTERNAL))
        self._is_open = False
        if not self._is_recorded():
            return
        self._profiler.__exit__(None, None, None)
        if self._type == _TORCH:
            name = f"torch_prof_{time.strftime('%Y%m%d%H%M%S')}.json"
            self._profiler.export_chrome_trace(str(Path(self._folder) / name))
        sys.exit()

    def _is_recorded(self) -> bool:
        return bool(self._type) and self._steps == self._start_step


def _check_options(kind: str, options: Mapping[str, object]) -> None:
    allowed = set(_OPTIONS[kind])
    if not set(options) <= allowed:
        raise ValueError(f"Args '{options.keys()}' invaild, expect args '{allowed}' ." + prof_error(ErrCode.VALUE))


def _make_folder(path: str) -> None:
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except Exception as error:
        raise ValueError(f"the path of '{path}' is invaild." + prof_error(ErrCode.VALUE)) from error
