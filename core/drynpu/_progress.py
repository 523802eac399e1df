"""Where long work is: its stage and how much of that is done, for whoever shows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple, TypeAlias, TypeVar

_T = TypeVar("_T")


class Stage(NamedTuple):
    """
    What long work does now. Importing this module imports little, so it is no class of attrs.

    Attributes
    ----------
    text:
        In a few words, without a full stop; ``""`` where nothing long happens any more.
    done, total:
        Parts of the stage; 0 and 0 where nobody knows them.
    """

    text: str
    done: int = 0
    total: int = 0


Listener: TypeAlias = Callable[[Stage], None]
"""Gets each stage as it begins; what it raises ends the work."""
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Let *listener* hear the stages of what runs in the block and in this thread; ``None`` lets nobody."""
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def at_stage(text: str, done: int = 0, total: int = 0) -> None:
    """Say what happens now, e.g. ``at_stage("Reading ranks", 3, 64)``. It costs nothing where nobody listens."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(Stage(text, done, total))


@contextmanager
def at_part(name: str) -> Iterator[None]:
    """Put the name of a part before the stages in the block, e.g. ``rank 3: Reading tasks``."""
    listener = _LISTENER.get()
    if listener is None:
        yield
        return
    with listening(lambda stage: listener(stage._replace(text=stage.text and f"{name}: {stage.text}"))):
        yield


def staged(text: str, items: Sequence[_T]) -> Iterator[_T]:
    """Yield the items and say before each how many are done."""
    for done, item in enumerate(items):
        at_stage(text, done, len(items))
        yield item
