"""Tables as texts: one row a line, lines that begin with a space go on the row before them."""

from __future__ import annotations

import re
from typing import Final

_ROW_START: Final = re.compile(r"\n+(?=\S)")


def table_rows(text: str) -> list[str]:
    """Return the rows of a table."""
    return _ROW_START.split(text.strip())
