"""What drynpu says at run time: one line each, on stderr, so that the script's own output stays its own."""

from __future__ import annotations

import functools
import sys
import textwrap

from drynpu._printable import printable

_LONGEST = 500
"""Characters of a line; what a script passed, and a message quotes, may be longer."""


def say(text: str) -> None:
    """Print one line."""
    line = textwrap.shorten(text, _LONGEST, placeholder=" ...") if len(text) > _LONGEST or "\n" in text else text
    sys.stderr.write(f"[drynpu] {printable(line)}\n")
    sys.stderr.flush()


@functools.cache
def say_once(text: str) -> None:
    """Print one line, unless this process has printed it before."""
    say(text)
