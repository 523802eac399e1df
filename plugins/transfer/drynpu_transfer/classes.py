"""Classes of PyTorch whose constructors read ``cuda`` as ``npu``, though they are no Python classes."""

from __future__ import annotations

from typing import Any

import torch

from drynpu_transfer.devices import with_npu_devices


def event_class(original: type[torch.Event]) -> Any:
    """Return a class that makes events as *original* does; every event is an instance of it."""

    class _Kind(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, original)

    def new(cls: type, *args: object, **kwargs: object) -> Any:
        del cls
        return make(*args, **kwargs)

    make = with_npu_devices(original)
    return _Kind("Event", (original,), {"__new__": new, "__doc__": original.__doc__})
