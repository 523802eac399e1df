"""Parts of an export by themselves: what one of them raises costs that part and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from drynpu._errors import OutputError
from drynpu._say import say

V = TypeVar("V")
W = TypeVar("W")


def alone(file: str, make: Callable[[], V], instead: W) -> V | W:
    """
    Return what *make* returns, and *instead* where it raises; a line then names the *file* that is missing.

    Raises
    ------
    OutputError
        A file cannot be written: then nothing of the export can.
    """
    try:
        return make()
    except OutputError:
        raise
    except Exception as error:  # noqa: BLE001 - a mistake in one file is none in the others
        _say_missing(file, error)
        return instead


def each_alone(part: str, make: Callable[[], Iterable[V]]) -> Iterator[V]:
    """Yield what *make* returns, up to where it raises; a line then names the *part* of a file that is missing."""
    try:
        yield from make()
    except OutputError:
        raise
    except Exception as error:  # noqa: BLE001 - as above, of one part and the others
        _say_missing(part, error)


def _say_missing(what: str, error: Exception) -> None:
    say(f"ERROR: {what} cannot be made, the other files are: {error!r}")
