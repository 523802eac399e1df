"""What ``mindspore.hal``, ``mindspore.runtime`` and ``mindspore.device_context`` say of the simulated device."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from drynpu_mindspore.patching._device import ASCEND, SimulatedDevice

__all__ = ["answers"]


def answers(
    device: SimulatedDevice, *, chip: str, devices: int, synchronize: Callable[[], None]
) -> Mapping[str, Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]]]:
    """
    Return, by module and name, what makes a function answer for the device from the function of the CPU build.

    Parameters
    ----------
    chip, devices:
        The simulated chip's name and how many the script sees.
    synchronize:
        Waits until everything that was called has run.
    """

    def about(answer: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
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

    def waiting(genuine: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(genuine)
        def call() -> None:
            synchronize()

        return call

    return {
        "mindspore.hal": {
            "is_available": about(True),
            "is_initialized": about(True),
            "device_count": about(devices),
            "get_device_name": about(chip),
            "synchronize": waiting,
        },
        "mindspore.runtime": {"synchronize": waiting},
        "mindspore.device_context.ascend": {"is_available": about(True), "device_count": about(devices)},
    }
