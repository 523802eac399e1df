"""Calls of compiled graphs, which the patches tell the capture of."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable

from drynpu_mindspore.capture import GraphCalls

_RUNNERS = (("GraphExecutor_", "__call__"), ("JitExecutor_", "__call__"), ("PyNativeExecutor_", "grad_jit"))
"""Classes of MindSpore's library and the method that runs a graph which has been compiled."""


# N18, docs/tricks.md
def follow_graphs(calls: GraphCalls) -> None:
    """Have *calls* told whenever the script runs a compiled graph."""
    from mindspore import _c_expression

    for name, method in _RUNNERS:
        runner: object = getattr(_c_expression, name, None)
        if runner is not None:  # some releases lack one
            setattr(runner, method, _timed(getattr(runner, method), calls))


def _timed(genuine: Callable[..., object], calls: GraphCalls) -> Callable[..., object]:
    @functools.wraps(genuine)
    def run(executor: object, *args: object, **kwargs: object) -> object:
        start_ns = time.time_ns()
        try:
            return genuine(executor, *args, **kwargs)
        finally:
            calls.add(start_ns, time.time_ns())

    return run
