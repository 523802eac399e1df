"""``npu_bridge.estimator.npu``."""

from __future__ import annotations

from typing import NoReturn as _NoReturn

from drynpu.plugins import join_parts as _join_parts
from drynpu.plugins import missing_part as _missing_part

parts = _join_parts(__name__)
globals().update(parts)


def __getattr__(name: str) -> _NoReturn:
    if name.endswith("_rnn"):
        raise _missing_part(f"{__name__}.{name}", "tf1_contrib")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
