"""
Kernels in front of the operators of ``c10d``, at the key BackendSelect, above all devices.

All ways into a collective (the functions of ``torch.distributed``, DistributedDataParallel's reducer, functional
collectives) lead to these operators. PyTorch takes one kernel of Python for an operator and a key (up to 2.12 a second
one raises), so all of drynpu share this one: it serves uneven parts, and tells the recordings that run of each call.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from attrs import define, field

from drynpu_torch.distributed._payloads import CALLS
from drynpu_torch.distributed._uneven import UNEVEN, argument_names, issue


class CallObserver(Protocol):
    """Receives the collectives of this process, whatever their group."""

    def on_call(self, name: str, values: Mapping[str, object], result: object, begin_ns: int) -> None:
        """Note a call of the operator *name* that began at *begin_ns* (Unix ns); *values* are its arguments by name."""


@define(eq=False)
class Interception:
    """The kernels: for uneven parts all the time, for the other operators while somebody observes."""

    _observers: list[CallObserver] = field(factory=list)
    _lasting: torch.library.Library | None = None
    _passing: torch.library.Library | None = None

    def __attrs_post_init__(self) -> None:
        self._lasting = self._register(list(UNEVEN))

    def add(self, observer: CallObserver) -> Callable[[], None]:
        """Tell *observer* of each call from now on, until the function that is returned is called."""
        if self._passing is None:
            self._passing = self._register([name for name in CALLS if name not in UNEVEN])
        self._observers.append(observer)
        return lambda: self._remove(observer)

    def _remove(self, observer: CallObserver) -> None:
        self._observers = [each for each in self._observers if each is not observer]
        if not self._observers and self._passing is not None:
            self._passing._destroy()  # type: ignore[no-untyped-call]
            self._passing = None

    def _register(self, names: list[str]) -> torch.library.Library:
        library = torch.library.Library("c10d", "IMPL")  # type: ignore[no-untyped-call]
        for name in names:
            library.impl(name, self._kernel(name), "BackendSelect", with_keyset=True)  # type: ignore[no-untyped-call]
        return library

    def _kernel(self, name: str) -> Callable[..., Any]:
        names = argument_names(name)

        def kernel(keys: torch._C.DispatchKeySet, *args: object, **kwargs: object) -> Any:
            begin_ns = time.time_ns()
            values = dict(zip(names, args, strict=False)) | kwargs
            result = issue(name, keys, values)
            for observer in tuple(self._observers):
                observer.on_call(name, values, result, begin_ns)
            return result

        return kernel


@functools.cache
def interception() -> Interception:
    """Return the interception of this process; the cache keeps its kernels, which end with it."""
    return Interception()
