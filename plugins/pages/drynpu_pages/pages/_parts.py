"""What several pages share: the parts of a step, and the time that a row of a table is about."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import polars as pl

MOST_ROWS = 2000
"""Rows of a table at most whose rows are many small parts: a reader looks at the largest."""
WINDOW = ("start_ns", "end_ns")
"""Columns with the time that a row of a table is about."""
STEP_PARTS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "computing": ("Computing", "computing_us"),
        "communication": ("Communication (not overlapped)", "communication_not_overlapped_us"),
        "free": ("Free", "free_us"),
    }
)
"""Colour of the part -> its name on pages, and its column in the step trace."""


def end_time() -> pl.Expr:
    """Return when something with ``start_ns`` and ``duration_ns`` ends, as the second column of `WINDOW`."""
    return (pl.col("start_ns") + pl.col("duration_ns")).alias(WINDOW[1])
