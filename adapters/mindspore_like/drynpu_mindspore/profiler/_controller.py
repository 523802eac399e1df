"""The calls that lead from one action to the next, and the user's handler (mindspore_profiler.md 5.1, 5.7)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from drynpu.recorder import TransitionStep, transition
from drynpu_mindspore.profiler._session import Session
from drynpu_mindspore.profiler._values import ACTION_OF, ProfilerAction

HANDLER_MARK = "_drynpu_analyses"
"""Attribute of the factories of handlers: what runs where a script passes the factory itself instead of calling it."""


@frozen
class RunHandle:
    """The argument of ``on_trace_ready``: the recording that is complete."""

    session: Session

    def analyse(self, **kwargs: object) -> None:
        """Write the deliverables; ``async_mode=True`` does not wait for them."""
        self.session.analyse(**kwargs)


def make_handler(
    session: Session, dir_name: object, worker_name: object, analyse_flag: object, async_mode: object
) -> Callable[[RunHandle], None]:
    """
    Set where results go, now, and return the callback that analyses.

    Raises
    ------
    OutputError
        *dir_name* cannot be a folder.
    """
    session.place.configure(dir_name, worker_name)
    if not isinstance(analyse_flag, bool):
        session.user_log.warning("analyse_flag is not bool, set by default.")
        analyse_flag = True
    if not isinstance(async_mode, bool):
        session.user_log.warning("async_mode is not bool, set by default.")
        async_mode = False

    def handler_fn(prof_inst: RunHandle) -> None:
        if analyse_flag:
            prof_inst.analyse(async_mode=async_mode)

    return handler_fn


def completion(session: Session, handler: Callable[..., Any] | None) -> Callable[[], object]:
    """
    Return what to call when a recording is complete.

    The vendor's factory given uncalled, as an example in its own documentation has it, takes the recording for a
    folder and analyses nothing; here it analyses.
    """
    if handler is None:
        return lambda: None
    meant: Callable[[], object] | None = getattr(handler, HANDLER_MARK, None)
    if meant is not None:
        return meant
    if session.generation.is_current:
        return functools.partial(handler, RunHandle(session))
    return handler


@frozen
class Controller:
    """
    Carries out transitions.

    Attributes
    ----------
    session:
        What is told to start, stop and so on.
    ready:
        Called when a recording is complete.
    """

    session: Session
    ready: Callable[[], object]

    def transit(self, previous: object, following: object) -> None:
        """
        Go from *previous* to *following*; ``None`` ends the profiler.

        Nothing happens to what a schedule of the script's returned and is no action.
        """
        if not isinstance(previous, ProfilerAction) or not isinstance(following, ProfilerAction | None):
            return
        change = transition(ACTION_OF[previous], None if following is None else ACTION_OF[following])
        if not change.steps:
            return
        self.session.user_log.info(f"ProfilerAction transition: {previous} -> {following}")
        if change.warning is not None:
            self.session.user_log.warning(change.warning.value)
        for call in _calls(change.steps):
            self._carry_out(call)

    def _carry_out(self, call: str) -> None:
        if call == "trace_ready":
            self.session.backend.trace_ready()
            self.ready()
        else:
            getattr(self.session, call)()


_CALL_OF: Mapping[TransitionStep, str] = {
    TransitionStep.INIT: "init",
    TransitionStep.START: "start",
    TransitionStep.STOP: "stop",
    TransitionStep.FINALIZE: "finalize",
    TransitionStep.READY: "trace_ready",
    TransitionStep.DELETE: "delete_dir",
}


def _calls(steps: tuple[TransitionStep, ...]) -> list[str]:
    """
    Return the session's methods for the steps of the core.

    MindSpore's profiler does not warm up, and lets go of a run after its last step, which torch_npu's has no word for.
    """
    calls = [_CALL_OF[step] for step in steps if step in _CALL_OF]
    if "finalize" in calls:
        last = max(calls.index(name) for name in ("finalize", "trace_ready") if name in calls)
        calls.insert(last + 1, "clear")
    return calls
