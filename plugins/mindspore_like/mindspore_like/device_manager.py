"""``mindspore.device_manager``: the device."""

from __future__ import annotations

from mindspore_like.context import set_device

__all__ = ["set_device"]
