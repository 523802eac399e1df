"""
A line for a script that is slow because this CPU computes float16 or bfloat16, which it may do a hundred times slower.

A thread looks twice a second at the tensors in the innermost frames of the script's main thread, so the line also comes
during a first step of ten minutes. It looks only where that changes nothing: see `keeps_locals`.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from functools import partial
from types import FrameType, ModuleType

from attrs import define, field

from drynpu import say_once

_NEEDED = ("Tensor", "float16", "bfloat16")
"""Names of PyTorch that are not there before it is imported to its end."""
_LOOK_S = 0.5
_SEEN = 40
"""Looks that are judged together: 20 s, in which a step on a CPU with float32 would be over."""
_LEAST = 5
"""Looks among them that saw tensors: a backward pass has none in its frames."""
_DEPTH = 6
"""Frames from the innermost outwards."""
_BUSY = 0.05
"""Share of the time in which the process computes, on a busy machine; a script that waits is slow for that reason."""


def keeps_locals() -> bool:
    """
    Return whether looking at the variables of a running function keeps their values alive.

    Before Python 3.13 (PEP 667) the frame keeps a copy of them. Tensors would then be freed later than the script frees
    them, and its memory would depend on when somebody looked.
    """
    return type(sys._getframe().f_locals) is dict


def watch_types(main: int) -> None:
    """Start the thread that looks at the thread *main*, an identity of `threading`; it ends with the process."""
    threading.Thread(target=_watch, args=(main,), name="drynpu-slow-types", daemon=True).start()


def _watch(main: int) -> None:
    begun_s, pause = time.monotonic(), threading.Event()
    watch = TypeWatch()
    while not pause.wait(_LOOK_S):
        torch, frame = sys.modules.get("torch"), sys._current_frames().get(main)
        if frame is None or torch is None or not all(map(partial(hasattr, torch), _NEEDED)):
            continue
        if watch.look(half_type_in(frame, torch), time.process_time(), time.monotonic()):
            say_once(slow_text(watch.name, time.monotonic() - begun_s))
            return


def slow_text(name: str, elapsed_s: float) -> str:
    """Return what is said once of a script that computes in a type."""
    return (
        f"{elapsed_s:.0f} s so far, in which this CPU computes {name}: that is slow on a CPU and says nothing of the "
        "NPU. drynpu run --no-compute runs the same script on shapes alone, in seconds, with the same device times"
    )


@define
class TypeWatch:
    """The last looks at a script."""

    name: str = ""
    """The type that was seen last."""
    _looks: deque[tuple[str | None, float, float]] = field(factory=lambda: deque(maxlen=_SEEN))

    def look(self, seen: str | None, cpu_s: float, now_s: float) -> bool:
        """
        Add a look; return whether the script is slow because of what was seen.

        Parameters
        ----------
        seen:
            What `half_type_in` returned.
        cpu_s, now_s:
            Time of the process on processors, and of the clock.
        """
        self._looks.append((seen, cpu_s, now_s))
        self.name = seen or self.name
        if len(self._looks) < _SEEN:
            return False
        tensors = [each for each, _, _ in self._looks if each is not None]
        _, first_cpu, first = self._looks[0]
        halves = sum(bool(each) for each in tensors)
        is_busy = cpu_s - first_cpu >= _BUSY * (now_s - first)
        return is_busy and halves >= _LEAST and 2 * halves >= len(tensors)


def half_type_in(frame: FrameType, torch: ModuleType) -> str | None:
    """Return float16 or bfloat16 where the innermost frame with tensors has one of it, else ""; ``None`` without."""
    halves = {torch.float16: "float16", torch.bfloat16: "bfloat16"}
    for each in itertools.islice(_outwards(frame), _DEPTH):
        # Plain tensors alone: to ask an object of another class may run code of the script's, in this thread.
        types = [value.dtype for value in [*each.f_locals.values()] if type(value) is torch.Tensor]
        floating = [dtype for dtype in types if dtype.is_floating_point]
        if floating:
            return next((halves[dtype] for dtype in floating if dtype in halves), "")
    return None


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None and not _is_backward(frame):
        yield frame
        frame = frame.f_back


def _is_backward(frame: FrameType) -> bool:
    """Return whether a frame runs a backward pass, whose tensors no frame shows."""
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith("torch.autograd")
