"""Switching the search for races on and off."""

from __future__ import annotations

import contextlib
import os
import warnings

from drynpu_races._dispatch import SanitizerMode
from drynpu_races._streams_of_memory import StreamsOfMemory
from drynpu_torch.device import state

VARIABLE = "TORCH_NPU_SANITIZER"
_KERNELS = "ASCEND_OPP_DEBUG_PATH"


class CheckKind:
    """What is searched: races between streams, or errors inside kernels, which have to be built for that."""

    STREAM = 0
    KERNEL = 1


class Sanitizer:
    """
    The search for races of this process.

    Attributes
    ----------
    event_handler, dispatch:
        What looks for races and what shows it the operators; ``None`` while it is off.
    """

    def __init__(self) -> None:
        self.event_handler: StreamsOfMemory | None = None
        self.dispatch: SanitizerMode | None = None
        self.mode = CheckKind.STREAM
        self.enabled = False

    def enable(self) -> None:
        """Look for races from now on, in this thread."""
        self.mode = CheckKind.KERNEL if os.environ.get(_KERNELS) else CheckKind.STREAM
        started = self.enable_kernel_check() if self.mode == CheckKind.KERNEL else self.enable_stream_check()
        self.enabled = self.enabled or started

    def enable_kernel_check(self) -> bool:
        """Return that kernels are not checked: they are simulated, so none was built for it."""
        reason = f"{_KERNELS} is not set" if not os.environ.get(_KERNELS) else "drynpu runs no kernels of the device"
        warnings.warn(f"{VARIABLE} checks no kernels: {reason}", stacklevel=3)
        return False

    def enable_stream_check(self) -> bool:
        """Begin to see operators; return whether that is possible, which it is on the native device."""
        if state().library is None:
            warnings.warn(f"{VARIABLE} needs the native device: tensors of the sink say cpu", stacklevel=3)
            return False
        self.event_handler = StreamsOfMemory()
        self.dispatch = SanitizerMode(self.event_handler)
        self.dispatch.__enter__()  # type: ignore[no-untyped-call]
        self.event_handler.listen()
        return True

    def __del__(self, suppress: type[contextlib.suppress] = contextlib.suppress) -> None:
        """Leave the mode, which is one of the thread; where the interpreter ends, modules have lost their names."""
        with suppress(Exception):
            if self.dispatch is not None:
                self.dispatch.__exit__(None, None, None)


sanitizer = Sanitizer()
"""The sanitizer of ``TORCH_NPU_SANITIZER``."""
