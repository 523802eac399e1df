"""Data loaders, whose work is the host's beside a real NPU too."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from typing import Any

from torch.autograd.profiler import record_function
from torch.utils.data.dataloader import _BaseDataLoaderIter

LOADER = "enumerate(DataLoader)#"
"""Begins the name of the ranges that PyTorch opens around every batch of a loader."""
MAKING = ".__init__"
"""Ends the name of the range that :func:`loaders_on_host` opens; it tells where work is done and is not shown."""


@contextlib.contextmanager
def loaders_on_host() -> Iterator[None]:
    """
    Open such a range around the making of a loader's iterator as well.

    It draws a seed with tensor operators, which nothing else tells from the device's; PyTorch annotates only the
    batches that follow.
    """
    original = _BaseDataLoaderIter.__init__

    @functools.wraps(original)
    def init(self: _BaseDataLoaderIter, *args: Any, **kwargs: Any) -> None:
        with record_function(f"{LOADER}{type(self).__name__}{MAKING}"):
            original(self, *args, **kwargs)

    _BaseDataLoaderIter.__init__ = init  # type: ignore[method-assign]
    try:
        yield
    finally:
        _BaseDataLoaderIter.__init__ = original  # type: ignore[method-assign]
