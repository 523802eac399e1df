"""Real MindSpore under ``drynpu run``: an Ascend device to the script, the CPU to itself, and our profiler."""

from __future__ import annotations

from drynpu_mindspore.patching._device import SimulatedDevice, chosen_device_id, is_mindspores_own
from drynpu_mindspore.patching._import import serve_mindspore

__all__ = ["SimulatedDevice", "chosen_device_id", "is_mindspores_own", "serve_mindspore"]
