"""Calls that wait for the device: each is a range of the recording, named for its line."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from drynpu.checks import WAIT_RANGE, ObservedWait, Place
from drynpu_torch import device
from drynpu_torch.profiler.checking._places import PLACES

_METHODS = {
    "item": "item()",
    "tolist": "tolist()",
    "cpu": "cpu()",
    "numpy": "numpy()",
    "nonzero": "nonzero()",
    "unique": "unique()",
    "masked_select": "masked_select()",
    "equal": "equal()",
    "__bool__": "a tensor as a condition",
    "__float__": "float() of a tensor",
    "__int__": "int() of a tensor",
    "__index__": "a tensor as an index of Python",
    "__repr__": "a tensor printed",
    "__format__": "a tensor printed",
}
"""Methods of a tensor whose result the host needs, as a finding names them."""
_TO_HOST = "to() the host"
_FUNCTIONS = ("nonzero", "unique", "masked_select", "equal")


class Waits:
    """The lines that wait, each with the index that its ranges carry."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Place], int] = {}
        self._inside = False

    def install(self) -> None:
        """Put the ranges around the calls of this process."""
        for name, call in _METHODS.items():
            self._replace(torch.Tensor, name, call, _first_on_npu)
        self._replace(torch.Tensor, "to", _TO_HOST, _leaves_npu)
        for name in _FUNCTIONS:
            self._replace(torch, name, f"torch.{name}()", _first_on_npu)
        self._replace(torch, "where", "torch.where() with one argument", _finds_indices)
        self._replace(device.npu, "synchronize", "torch.npu.synchronize()", _always)
        for kind in (device.Stream, device.Event):
            self._replace(kind, "synchronize", f"{kind.__name__}.synchronize()", _always)

    def lines(self) -> tuple[ObservedWait, ...]:
        """Return the lines in the order of their first wait."""
        return tuple(ObservedWait(index=index, call=call, place=place) for (call, place), index in self._known.items())

    def _replace(self, owner: object, name: str, call: str, wanted: Callable[[Any, Any], bool]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def waiting(*args: object, **kwargs: object) -> Any:
            place = PLACES.find() if not self._inside and wanted(args, kwargs) else None
            if place is None:
                return original(*args, **kwargs)
            index = self._known.setdefault((call, place), len(self._known))
            self._inside = True
            try:
                with torch.autograd.profiler.record_function(f"{WAIT_RANGE}{index}"):
                    return original(*args, **kwargs)
            finally:
                self._inside = False

        setattr(owner, name, waiting)


def _first_on_npu(args: Any, _: Any) -> bool:
    return bool(args) and device.on_npu(args[0])


def _finds_indices(args: Any, kwargs: Any) -> bool:
    return len(args) == 1 and not kwargs and _first_on_npu(args, kwargs)


def _always(_: object, __: object) -> bool:
    return True


def _leaves_npu(args: Any, kwargs: Any) -> bool:
    if not _first_on_npu(args, kwargs) or kwargs.get("non_blocking"):
        return False
    aim = kwargs.get("device", args[1] if len(args) > 1 else None)
    if device.is_tensor(aim):
        return not device.on_npu(aim)
    return issubclass(type(aim), (str, torch.device)) and torch.device(aim).type == "cpu"
