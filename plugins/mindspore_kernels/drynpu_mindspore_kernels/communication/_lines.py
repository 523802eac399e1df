"""Collectives that go on beside the script; collectives of one line run one after another."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import Any

from attrs import define, field

from drynpu_mindspore_kernels.communication._memory import write


@define(eq=False)
class Pending:
    """The handle of a call that goes on beside the script."""

    run: Callable[[], Sequence[Any]]
    places: Sequence[Any]
    """The tensors that get what ``run`` returns; for ``None`` one stays as it is."""
    done: threading.Event = field(factory=threading.Event)
    _error: Exception | None = None

    def complete(self) -> None:
        """Run it; whoever waits gets to know what goes wrong."""
        try:
            for place, value in zip(self.places, self.run(), strict=True):
                if value is not None:
                    write(place, value)
        except Exception as error:  # noqa: BLE001 - it is raised where the script waits
            self._error = error
        self.done.set()

    def wait(self) -> None:
        """
        Wait until the tensors have their values.

        Raises
        ------
        RuntimeError
            The ranks do not call the same, or one of them has not come.
        """
        self.done.wait()
        if self._error is not None:
            raise RuntimeError(str(self._error)) from self._error


@define(eq=False)
class Lines:
    """A thread for each line, which lives as long as the process."""

    _queues: dict[str, queue.SimpleQueue[Pending]] = field(factory=dict)
    _last: dict[str, Pending] = field(factory=dict)

    def start(self, line: str, run: Callable[[], Sequence[Any]], places: Sequence[Any]) -> Pending:
        """Have something run behind what stands in the line."""
        pending = Pending(run, places)
        if line not in self._queues:
            self._queues[line] = queue.SimpleQueue()
            threading.Thread(target=_work, args=(self._queues[line],), name="drynpu_collective", daemon=True).start()
        self._queues[line].put(pending)
        self._last[line] = pending
        return pending

    def settle(self, line: str) -> None:
        """Wait until nothing stands in the line; what went wrong is told to whoever waits for it."""
        pending = self._last.get(line)
        if pending is not None:
            pending.done.wait()


def _work(waiting: queue.SimpleQueue[Pending]) -> None:
    while True:
        waiting.get().complete()
