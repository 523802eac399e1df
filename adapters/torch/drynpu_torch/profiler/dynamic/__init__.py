"""Dynamic profiling: a file that is edited during training starts recordings."""

from __future__ import annotations

from drynpu_torch.profiler._messages import never_raises
from drynpu_torch.profiler.dynamic._dynamic import DYNAMIC, NonIntrusiveProfile

__all__ = ["NonIntrusiveProfile", "init", "set_state", "start", "step"]

step = never_raises(DYNAMIC.step)  # without a function around it, because every step of training calls it


@never_raises
def init(path: str) -> None:
    """Watch ``<path>/profiler_config.json`` from now on; it is written with every key if it is missing."""
    DYNAMIC.init(path)


@never_raises
def start(config_path: str | None = None) -> None:
    """Begin a recording at once, with *config_path* or with the file that is watched."""
    DYNAMIC.start(config_path)


@never_raises
def set_state(state: object) -> None:
    """Set the number of steps so far: ``{"cur_step": n}``."""
    DYNAMIC.set_state(state)
