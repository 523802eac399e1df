"""Parts of a long file: while one is written, threads make the next ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

from drynpu.host import processors

T = TypeVar("T")

_MOST_THREADS: Final = 4
"""Parts that are in memory at a time, some 50 MB each; one thread writes, and hardly keeps up with more."""


def in_turn(calls: Sequence[Callable[[], T]]) -> Iterator[T]:
    """
    Yield what each call returns, in their order; the next ones are made meanwhile, where there are processors.

    What a call raises is raised in its turn, and no further call begins.
    """
    threads = min(processors(), _MOST_THREADS, len(calls))
    if threads < 2:
        yield from (call() for call in calls)
        return
    with ThreadPoolExecutor(threads, thread_name_prefix="drynpu-writing") as pool:
        waiting: deque[Future[T]] = deque()
        try:
            for call in calls:
                if len(waiting) == threads:
                    result = waiting.popleft().result()
                    waiting.append(started(pool, call))
                    yield result
                else:
                    waiting.append(started(pool, call))
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def started(pool: ThreadPoolExecutor, call: Callable[[], T]) -> Future[T]:
    """Return the result to come of a call that a thread makes."""
    try:
        return pool.submit(call)
    except RuntimeError:  # The interpreter is ending and starts no threads: files of that moment are made here.
        finished: Future[T] = Future()
        finished.set_result(call())
        return finished
