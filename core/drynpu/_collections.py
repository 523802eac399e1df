"""Work without collections of Python's garbage."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def without_collections() -> Iterator[None]:
    """
    Switch garbage collections off.

    Work on a recording creates many objects and no garbage that needs a collector. The objects would start collections
    of everything. Those take longer the more objects the script has, 0.1 s each beside PyTorch, and longer than the
    work on a small recording.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
