"""What ``mindspore.hal``, ``mindspore.runtime`` and ``mindspore.device_context`` say of the simulated device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from drynpu_mindspore.patching._device import SimulatedDevice
from drynpu_mindspore.target import ASCEND

Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


def answers(
    device: SimulatedDevice, *, chip: str, devices: int, synchronize: Callable[[], None]
) -> Mapping[str, Mapping[str, Wrapper]]:
    """
    Return, by module and name, what makes a function answer for the device from the function of the CPU build.

    Parameters
    ----------
    chip, devices:
        The simulated chip's name and how many the script sees.
    synchronize:
        Waits until everything that was called has run.
    """
    yes, count, waits = _about(device, True), _about(device, devices), _calling(synchronize)
    return {
        "mindspore.hal": {
            "is_available": yes,
            "is_initialized": yes,
            "device_count": count,
            "get_device_name": _about(device, chip),
            "synchronize": waits,
        },
        "mindspore.runtime": {"synchronize": waits},
        "mindspore.device_context.ascend": {"is_available": yes, "device_count": count},
    }


def _about(device: SimulatedDevice, answer: Any) -> Wrapper:
    """Answer for Ascend, named or meant; ask the CPU build for anything else."""

    def replace(genuine: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(genuine)
        def call(*args: Any, **kwargs: Any) -> Any:
            named = kwargs.get("device_target") or next((each for each in args if isinstance(each, str)), None)
            if (named or device.target) == ASCEND:
                return answer
            return genuine(*args, **kwargs)

        return call

    return replace


def _calling(instead: Callable[[], None]) -> Wrapper:
    def replace(genuine: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(genuine)
        def call() -> None:
            instead()

        return call

    return replace
