"""Where text is printed: a terminal, or a pipe that gets no padding."""

from __future__ import annotations

import re
import sys
from typing import IO, TYPE_CHECKING, cast

from attrs import frozen

if TYPE_CHECKING:
    from rich.console import Console

_PADDING = re.compile(r" +(?=\n)")


@frozen
class _Unpadded:
    """A file that gets lines without the spaces that fill a terminal's width."""

    file: IO[str]

    def write(self, text: str) -> int:
        """Write *text* without spaces at the ends of its lines."""
        self.file.write(_PADDING.sub("", text))
        return len(text)

    def __getattr__(self, name: str) -> object:
        return getattr(self.file, name)


def plain_console(*, stderr: bool = False) -> Console:
    """Return a console that prints text as it is: ``drynpu[torch]`` and ``[Errno 2]`` are no markup."""
    from rich.console import Console  # a script that is run does not wait for it

    stream = sys.stderr if stderr else sys.stdout
    file = stream if stream.isatty() else cast("IO[str]", _Unpadded(stream))
    return Console(file=file, markup=False, emoji=False, highlight=False)
