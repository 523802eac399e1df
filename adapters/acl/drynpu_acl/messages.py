"""What the adapter says at run time: one line each, on stderr, so that the program's own output stays its own."""

from __future__ import annotations

import functools
import sys

__all__ = ["say", "say_once"]


def say(text: str) -> None:
    """Print one line."""
    sys.stderr.write(f"[drynpu] {text}\n")
    sys.stderr.flush()


@functools.cache
def say_once(text: str) -> None:
    """Print one line, unless this process has printed it before."""
    say(text)
