"""The same work for many ranks, on the cores of this machine or on a dask.distributed cluster."""

from __future__ import annotations

import multiprocessing
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from drynpu import OutputError, at_stage, require
from drynpu.host import processors

Item = TypeVar("Item")
Result = TypeVar("Result")

READING = "Reading ranks"
"""Stage of all analyses."""
CHUNKS = 4
"""How many parts of the work each process gets, so that a slow one does not hold up the end."""


CONNECT_S = 30
"""How long a scheduler may take to answer."""


def spread(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    *,
    stage: str,
    workers: int | None = None,
    scheduler: str = "",
) -> Iterator[Result]:
    """
    Yield ``function(item)`` of each item, in order.

    Parameters
    ----------
    function:
        Of the top level of a module, or a `functools.partial` of one: it and the items are sent to other processes.
        It may be called again for an item whose worker died.
    stage:
        What is done, for who waits for it: ``Reading ranks``.
    workers:
        Processes on this machine; as many as it has cores by default. With one the work is done here.
    scheduler:
        Address of a dask scheduler that does the work in place of this machine.

    Raises
    ------
    ModuleNotFoundError
        *scheduler* is given and dask.distributed is not installed.
    OutputError
        No scheduler answers at its address.
    """
    results = _by_scheduler(function, items, scheduler) if scheduler else _here(function, items, workers)
    for done in range(len(items)):
        at_stage(stage, done, len(items))
        yield next(results)


def _here(function: Callable[[Item], Result], items: Sequence[Item], workers: int | None) -> Iterator[Result]:
    count = min(workers or processors(), len(items))
    if count <= 1:
        yield from map(function, items)
        return
    # Not forked: the table engine's threads would be missing in the processes.
    context = multiprocessing.get_context("spawn")
    chunk = max(1, len(items) // (count * CHUNKS))
    others = {*multiprocessing.active_children()}
    # An interruption of a terminal reaches the processes as well: they end without a word.
    with ProcessPoolExecutor(count, context, signal.signal, (signal.SIGINT, signal.SIG_DFL)) as pool:
        try:
            yield from pool.map(function, items, chunksize=chunk)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in {*multiprocessing.active_children()} - others:
                process.terminate()
            raise


def _by_scheduler(function: Callable[[Item], Result], items: Iterable[Item], scheduler: str) -> Iterator[Result]:
    distributed: Any = require("distributed", "cluster")
    try:
        connected = distributed.Client(scheduler, set_as_default=False, timeout=CONNECT_S)
    except (OSError, TimeoutError, ValueError) as error:
        raise OutputError(f"no dask scheduler answers at {scheduler}: {error}") from error
    with connected as client:
        futures = client.map(function, list(items), pure=False)
        yield from client.gather(futures)
