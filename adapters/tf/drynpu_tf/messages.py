"""What the adapter says at run time: one line each, on stderr, so that the script's own output stays its own."""

from __future__ import annotations

import functools
import sys


def say(text: str) -> None:
    """Print one line."""
    sys.stderr.write(f"[drynpu] {text}\n")
    sys.stderr.flush()


@functools.cache
def say_once(text: str) -> None:
    """Print one line, unless this process has printed it before."""
    say(text)
