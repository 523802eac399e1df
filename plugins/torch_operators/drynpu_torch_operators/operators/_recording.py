"""What a recording sees of an operator: its call and its kernels, not how the CPU computes it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

from torch.autograd import _enable_record_function, _profiler_enabled

from drynpu_torch.device import state


class _Hidden(threading.local):
    """How many blocks hide calls in this thread; PyTorch does not tell whether it records."""

    depth = 0


_HIDDEN = _Hidden()


def is_recording() -> bool:
    """Whether a profiler of PyTorch or a recording of drynpu listens, the latter in all threads."""
    return _profiler_enabled() or state().recorder is not None


@contextlib.contextmanager
def unrecorded() -> Iterator[None]:
    """Hide the calls inside."""
    _HIDDEN.depth += 1
    _enable_record_function(False)
    try:
        yield
    finally:
        _HIDDEN.depth -= 1
        _enable_record_function(not _HIDDEN.depth)


@contextlib.contextmanager
def recorded() -> Iterator[None]:
    """Show the calls inside, also where a block outside hides them."""
    _enable_record_function(True)
    try:
        yield
    finally:
        _enable_record_function(not _HIDDEN.depth)
