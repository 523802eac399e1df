"""What all tracers have in common: how they are started and stopped, and what the stretches of a recording share."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from attrs import define, field

from drynpu import CaptureError
from drynpu.arrays import I64
from drynpu.kernels import Signature
from drynpu_torch.capture._chunk import Chunk, Interner
from drynpu_torch.capture._threads import RecordedThreads
from drynpu_torch.device import Library, state

Call = tuple[str, list[Any], list[str], list[Any]]
"""Name; of each argument the shape (of a list of tensors a list of them), the type, and the value if it is a number."""


@define(kw_only=True)
class Tracer:
    """
    Starts and stops what records operators; keeps the distinct names, calls and stacks of all stretches of a recording.

    ``calls`` maps the key of a call to its id; ``examples[id]`` is the call. ``signatures`` has, by the ids of the call
    that is shown and the one that is launched and the number of a placement, the signature and the texts of a row.
    ``stack`` records the call stack of every operator and Python frames, ``frames`` records the frames alone.

    All threads are recorded. Operators on threads that Python started count as reported while ``threads`` says so,
    and frames are kept for that time. Other threads are always reported, because PyTorch gives them work of the
    recording thread, as to the threads of the backward pass.

    ``library`` is the native device, which knows the operators that ran on it and whose memory alone counts; ``None``
    where the sink serves.

    ``keep_results`` keeps the objects that Kineto returned, in ``results``, for PyTorch's analyses. ``taken_over`` says
    that another profiler was started meanwhile and got the events of this one. ``alone`` says whether PyTorch's own
    profiler may not run beside it.
    """

    library: Library | None = field(factory=lambda: state().library)
    memory: bool = False
    stack: bool = False
    frames: bool = False
    keep_results: bool = False
    threads: RecordedThreads = field(factory=RecordedThreads)
    results: list[object] = field(factory=list)
    taken_over: bool = False
    alone: bool = True
    frame_names: Interner = field(factory=Interner)
    names: Interner = field(factory=Interner)
    stacks: Interner = field(factory=Interner)
    calls: Interner = field(factory=Interner)
    examples: dict[int, Call] = field(factory=dict)
    signatures: dict[tuple[int, int, int], tuple[Signature, tuple[str, str]]] = field(factory=dict)

    @property
    def follows_threads(self) -> bool:
        """Whether threads that Python started are recorded, too."""
        return True

    @property
    def knows_drynpu(self) -> bool:
        """Whether frames and stacks are recorded without drynpu's, and each on the thread that it runs on."""
        return False

    def resume(self) -> None:
        """Go on with what the script may have interrupted; called at the start and at every step boundary."""

    def start(self) -> None:
        """
        Start recording.

        Raises
        ------
        CaptureError
            If another profiler is active in this process.
        """
        raise NotImplementedError

    def stop(self) -> Chunk:
        """Stop recording and return the events since :meth:`start`."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Raise a `CaptureError` if another profiler is active in this process."""
        # Kineto writes every start and stop to stderr unless this is set when it is first used, by whomever.
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        self.must_be_alone()

    def must_be_alone(self) -> None:
        """Raise a `CaptureError` if another profiler is active in this process."""
        if self.library is not None and self.library.is_recording:
            raise CaptureError(
                "another recording is already running in this process; only one can. Stop that one first."
            )
        if self.alone and torch.autograd._profiler_enabled():
            raise CaptureError(
                "PyTorch's own profiler is already recording in this process; only one recording can run at a "
                "time. Stop torch.profiler first, or profile with torch_npu.profiler alone."
            )

    def marks(self) -> dict[str, Any]:
        """Return the columns of marks that the native device noted."""
        marks: I64 = np.empty((0, 3), np.int64)
        names: list[str] = []
        if self.library is not None:
            marks, names = self.library.take_marks()
        known = self.names.index(names, len(names))
        return {"mark_time_ns": marks[:, 0], "mark_thread": marks[:, 1], "mark_name": known[marks[:, 2]]}
