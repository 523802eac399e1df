"""Patches that last as long as a recording: ranges around calls of PyTorch."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.autograd.profiler import record_function
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drynpu_torch.device.npu import mstx

LOADER = "enumerate(DataLoader)#"
"""Begins the name of the ranges that PyTorch opens around every batch of a loader."""
CREATION = ".__init__"
"""Ends the name of the range of :func:`loaders_on_host`, which places operators on the host and is not shown."""


@contextlib.contextmanager
def patched(owner: object, name: str, wrapper: Callable[..., Any]) -> Iterator[None]:
    """Put *wrapper* in the place of an attribute of a class or module, and put the original back at the end."""
    original = getattr(owner, name)
    setattr(owner, name, wrapper)
    try:
        yield
    finally:
        if getattr(owner, name, None) is wrapper:  # else another package has patched it meanwhile, around this one
            setattr(owner, name, original)


def loaders_on_host() -> contextlib.AbstractContextManager[None]:
    """
    Open a range around the creation of every data loader's iterator; loaders work on the host beside a real NPU too.

    The iterator draws a seed with tensor operators, which look like work of the device. PyTorch annotates only the
    batches that follow.
    """
    original = _BaseDataLoaderIter.__init__

    @functools.wraps(original)
    def init(self: _BaseDataLoaderIter, *args: Any, **kwargs: Any) -> None:
        with record_function(f"{LOADER}{type(self).__name__}{CREATION}"):
            original(self, *args, **kwargs)

    return patched(_BaseDataLoaderIter, "__init__", init)


@contextlib.contextmanager
def automatic_marks() -> Iterator[None]:
    """
    Set the ranges that the vendor sets while marks are recorded (torch_npu_profiler.md 1.10).

    They are ``dataloader`` around every batch of a loader, and ``save_checkpoint`` around ``torch.save``.
    """
    with contextlib.ExitStack() as patches:
        for owner, name, message in (
            (_BaseDataLoaderIter, "__next__", "dataloader"),
            (torch, "save", "save_checkpoint"),
        ):
            patches.enter_context(patched(owner, name, _in_range(message, getattr(owner, name))))
        yield


def _in_range(message: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> Any:
        range_id = mstx.range_start(message)
        # A call that raises, as a loader's last one does, leaves no range.
        result = function(*args, **kwargs)
        mstx.range_end(range_id)
        return result

    return wrapper
