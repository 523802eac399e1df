"""Ranges that the vendor sets by itself while marks are recorded (torch_npu_profiler.md 1.10)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data.dataloader import _BaseDataLoaderIter

from drynpu_torch.device.npu import mstx


@contextlib.contextmanager
def automatic_marks() -> Iterator[None]:
    """Have a range ``dataloader`` around every batch taken from a loader, ``save_checkpoint`` around ``torch.save``."""
    places = ((_BaseDataLoaderIter, "__next__", "dataloader"), (torch, "save", "save_checkpoint"))
    originals = [getattr(owner, name) for owner, name, _ in places]
    patches = [_in_range(message, original) for (*_, message), original in zip(places, originals, strict=True)]
    for (owner, name, _), patch in zip(places, patches, strict=True):
        setattr(owner, name, patch)
    try:
        yield
    finally:
        for (owner, name, _), patch, original in zip(places, patches, originals, strict=True):
            if getattr(owner, name) is patch:  # somebody else may have patched it meanwhile
                setattr(owner, name, original)


def _in_range(message: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        range_id = mstx.range_start(message)
        # A call that raises, as a loader's last one does, leaves no range.
        result = function(*args, **kwargs)
        mstx.range_end(range_id)
        return result

    return inner
