"""Which thread launches, as the variables of torch_npu say that stand for it (its OptionsManager.cpp)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from drynpu.device import LaunchMode
from drynpu.options import Clock

_QUEUE: Final = "TASK_QUEUE_ENABLE"
_BLOCKING: Final = "ASCEND_LAUNCH_BLOCKING"
_MODES: Final = {0: LaunchMode.CALLER, 1: LaunchMode.QUEUE, 2: LaunchMode.QUEUE_WITH_WORKSPACE}
_NUMBER: Final = re.compile(r"\s*([+-]?\d+)")


def launch_mode(environment: Mapping[str, str], clock: Clock) -> tuple[LaunchMode, tuple[str, ...]]:
    """
    Return which thread launches, and lines for readers of the profile where that is not what the variables say.

    ``TASK_QUEUE_ENABLE``: 0 the calling thread, 1 (default) a second one, 2 that one asks for workspaces as well.
    ``ASCEND_LAUNCH_BLOCKING``: anything but 0 lets the calling thread launch and wait, whatever the other says. Both
    are read as C's ``strtol`` does: a text without a number is 0.

    On the clock ``wall`` a call lasts as long as it did on this machine, which has no room for its launch.

    >>> launch_mode({"TASK_QUEUE_ENABLE": "2"}, Clock.MODELLED)
    (<LaunchMode.QUEUE_WITH_WORKSPACE: 'queue, with workspace'>, ())
    """
    value = environment.get(_QUEUE, "1")
    blocks = bool(_number(environment.get(_BLOCKING, "0")))
    mode = LaunchMode.CALLER_WAITS if blocks else _MODES.get(_number(value))
    if mode is None:
        return LaunchMode.QUEUE, (f"{_QUEUE} should be 0, 1 or 2, not {value!r}: torch_npu raises; 1 is used here",)
    if clock is Clock.WALL and mode is not LaunchMode.QUEUE:
        variable = _BLOCKING if blocks else _QUEUE
        return LaunchMode.QUEUE, (f"{variable} is not shown on the clock wall, where a second thread launches",)
    return mode, ()


def _number(text: str) -> int:
    match = _NUMBER.match(text)
    return int(match[1]) if match else 0
