"""
Dialect: the collection switches of the ``msprof`` command line (cann_msprof.md 6.1).

`FLAGS` declares every switch once, with its help text, so that a command can be generated from it; `parse` reads a
mapping of given switches into the neutral model and says, in the vendor's words, what cannot be.
"""

from __future__ import annotations

from drynpu.options.msprof_cli._flags import FLAGS, Flag
from drynpu.options.msprof_cli._launch import Launch, LaunchMode, MsprofParsed
from drynpu.options.msprof_cli._parse import parse
from drynpu.options.msprof_cli._read import MAX_PATH
from drynpu.options.msprof_cli._spell import to_flags

__all__ = [
    "FLAGS",
    "MAX_PATH",
    "Flag",
    "Launch",
    "LaunchMode",
    "MsprofParsed",
    "parse",
    "to_flags",
]
