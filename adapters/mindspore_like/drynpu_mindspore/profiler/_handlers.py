"""``tensorboard_trace_handler``, and what is called when a recording is complete (mindspore_profiler.md 5.7)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from attrs import frozen

from drynpu_mindspore.profiler._session import Session

HANDLER_MARK = "_drynpu_analyses"
"""Set on the factories of handlers: what one that is given to a profiler uncalled stands for."""


@frozen
class RunHandle:
    """What ``on_trace_ready`` is called with: the recording that is complete."""

    session: Session

    def analyse(self, **kwargs: Any) -> None:
        """Write the deliverables; ``async_mode=True`` does not wait for them."""
        self.session.analyse(**kwargs)


def make_handler(
    session: Session, dir_name: Any, worker_name: Any, analyse_flag: Any, async_mode: Any
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


def completion(session: Session, handler: Callable[..., Any] | None) -> Callable[[], Any]:
    """
    Return what to call when a recording is complete.

    The vendor's factory given uncalled, as an example in its own documentation has it, takes the recording for a
    folder and analyses nothing; here it analyses.
    """
    if handler is None:
        return lambda: None
    meant: Callable[[], Any] | None = getattr(handler, HANDLER_MARK, None)
    if meant is not None:
        return meant
    if session.generation.behaviour.handler_takes_run:
        return functools.partial(handler, RunHandle(session))
    return handler
