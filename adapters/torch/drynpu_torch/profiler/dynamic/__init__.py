"""Dynamic profiling: recordings of a running training, asked for by editing a file."""

from __future__ import annotations

from typing import Any

from drynpu_torch.profiler._messages import never_raises
from drynpu_torch.profiler.dynamic._dynamic import DYNAMIC
from drynpu_torch.profiler.dynamic._non_intrusive import NonIntrusiveProfile

__all__ = ["NonIntrusiveProfile", "init", "set_state", "start", "step"]

step = never_raises(DYNAMIC.step)  # nothing in between: it is called in every step of training


@never_raises
def init(path: str) -> None:
    """Watch ``<path>/profiler_config.json`` from now on; it is made with every key if it is missing."""
    DYNAMIC.init(path)


@never_raises
def start(config_path: str | None = None) -> None:
    """Begin a recording at once, by *config_path* or by the file that is watched."""
    DYNAMIC.start(config_path)


@never_raises
def set_state(state: Any) -> None:
    """Set the number of steps counted so far: ``{"cur_step": n}``."""
    DYNAMIC.set_state(state)
