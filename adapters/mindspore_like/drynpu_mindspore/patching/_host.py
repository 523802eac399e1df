"""Real MindSpore as the host of the profiler's surface."""

from __future__ import annotations

from typing import Any

from attrs import frozen

from drynpu_mindspore.inside import wait_for_pynative
from drynpu_mindspore.patching._device import SimulatedDevice
from drynpu_mindspore.profiler import Log


@frozen
class MindSporeHost:
    """See ``profiler.Host``."""

    package: Any
    device: SimulatedDevice

    @property
    def log(self) -> Log:
        """The log ``ME``."""
        log: Log = self.package.log
        return log

    @property
    def callback_base(self) -> type:
        """``mindspore.train.Callback``."""
        base: type = self.package.train.Callback
        return base

    @property
    def stream_class(self) -> type:
        """``mindspore.runtime.Stream``."""
        stream: type = self.package.runtime.Stream
        return stream

    @property
    def version(self) -> str:
        """MindSpore's version."""
        return str(self.package.__version__)

    def device_target(self) -> str:
        """Return the device that the script chose, Ascend if it chose none."""
        return self.device.device_target

    def device_id(self) -> int:
        """Return the device's number."""
        return self.device.device_id

    def jit_level(self) -> str:
        """Return the level that the script set."""
        return self.device.jit_level

    def synchronize(self) -> None:
        """Wait for what PyNative has queued; graphs are waited for by whoever calls them."""
        wait_for_pynative()
