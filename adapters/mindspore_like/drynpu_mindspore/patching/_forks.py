"""Processes that a script forks off by itself, and that end in the ordinary way."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType
from typing import Any


@contextmanager
def leave_cleanup_to_parent() -> Iterator[None]:
    """
    While MindSpore is imported: have its cleanup at exit skipped in processes that are forked off this one.

    The cleanup ends MindSpore's threads. A forked process has none of them: where one of them was waiting when the
    process was forked, the cleanup waits for it for ever (``pthread_cond_destroy`` below ``ActorMgr::Finalize``, in
    about one of eight processes on a busy machine). MindSpore registers the cleanup from C++, as a function without a
    module.
    """
    registry: Any = atexit
    register = registry.register

    def register_for_this_process(function: object, *arguments: object, **named: object) -> object:
        if isinstance(function, BuiltinFunctionType) and getattr(function, "__module__", "") is None:
            register(_in_process, os.getpid(), function, *arguments, **named)
        else:
            register(function, *arguments, **named)
        return function

    registry.register = register_for_this_process
    try:
        yield
    finally:
        registry.register = register


def _in_process(process: int, function: Callable[..., Any], *arguments: object, **named: object) -> None:
    """Call *function* in the process of that id alone."""
    if os.getpid() == process:
        function(*arguments, **named)
