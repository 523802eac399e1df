"""``mindspore.profiler.experimental_config``: the parameters that ``profile`` takes in an object of their own."""

from __future__ import annotations

from drynpu_mindspore.profiler import ExperimentalConfig as _ExperimentalConfig

__all__ = ["_ExperimentalConfig"]
