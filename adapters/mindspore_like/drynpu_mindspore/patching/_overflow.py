"""How training with loss scaling sees an overflow."""

from __future__ import annotations

import functools
import os
import sys
from types import ModuleType
from typing import Any

from drynpu_mindspore.patching._device import SimulatedDevice

_MODE, _SATURATION = "MS_ASCEND_CHECK_OVERFLOW_MODE", "SATURATION_MODE"
_SAYS = (
    f"{_MODE}={_SATURATION}: the register of overflows is not simulated; overflow is looked for in the gradients, as "
    "in INFNAN_MODE"
)


def check_overflow_by_gradients(package: ModuleType, device: SimulatedDevice, *, all_finite: bool) -> None:
    """
    Have training with loss scaling look for overflow in the gradients, which is what it does on Ascend 910B.

    MindSpore asks its library for the chip, and on the CPU, which is none, reads the register of the Ascend 910. Where
    the primitive AllFinite is not computed (*all_finite*), it looks for overflow by primitives that the CPU has.
    """
    cell: Any = package.nn.TrainOneStepWithLossScaleCell
    genuine = cell.__init__
    say = functools.cache(lambda: sys.stderr.write(f"[drynpu] {_SAYS}\n"))

    @functools.wraps(genuine)
    def initialise(self: Any, *args: object, **kwargs: object) -> None:
        genuine(self, *args, **kwargs)
        if not device.is_ascend:
            return
        if os.environ.get(_MODE) == _SATURATION:
            say()
        self.ascend_910a_target, self.ascend_910b_target = False, True
        self._ascend_check_overflow_mode = None
        if not all_finite:
            self.enable_allfinite = False

    cell.__init__ = initialise
