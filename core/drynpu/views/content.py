"""
What a page holds, whatever shows it: facts, figures, tables and notes.

The dashboard, the report, the notebook and the terminal all show the same blocks, so that a number cannot differ
between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl
from attrs import field, frozen

if TYPE_CHECKING:
    import plotly.graph_objects as go

NOTE, WARNING, EMPTY, ANSWER = "note", "warning", "empty", "answer"
"""Kinds of `Note`: a remark; something to act on; why there is nothing to show; what a page comes to."""


PLACE = "at"
"""
Choice that a click on a figure sets: points with the ``customdata`` ``at=<value>`` can be clicked in the dashboard. It
stands in the address like any choice, so that a link shows the same.
"""


@frozen
class Fact:
    """
    One number with its name.

    Attributes
    ----------
    text:
        The value as it is shown, with its unit; ``N/A`` if unknown.
    detail:
        What the value means or follows from, in one line; may be empty.
    modelled:
        Whether the simulation computed it. Measured otherwise.
    window:
        Begin and end of the time that it is about, ns, which an outlet may show in a timeline; ``None`` for no time.
    """

    label: str
    text: str
    detail: str = ""
    modelled: bool = False
    window: tuple[int, int] | None = None


@frozen
class Facts:
    """Facts that belong together, shown side by side."""

    facts: Sequence[Fact]
    title: str = ""


@frozen(eq=False)
class Chart:
    """
    One figure.

    Attributes
    ----------
    name:
        Identifies the block on its page: lower case, words joined by ``-``.
    draw:
        Makes the figure. It is called only where figures are shown, so that a terminal needs no plotly.
    alternative:
        The figure in a sentence, for those who cannot see it.
    modelled:
        Whether its numbers come from the simulation.
    """

    name: str
    title: str
    draw: Callable[[], go.Figure]
    alternative: str
    detail: str = ""
    modelled: bool = False
    height_px: int = 320


@frozen(eq=False)
class TimelineChart(Chart):
    """The timeline of a rank: a figure of the whole, in which a reader of the dashboard can move."""


@frozen
class Column:
    """
    One column of a table.

    Attributes
    ----------
    name:
        Of the column of the frame.
    heading:
        What stands above it, with the unit in brackets: ``total (us)``.
    decimals:
        Of numbers; ``None`` shows them as they are.
    """

    name: str
    heading: str
    decimals: int | None = None
    wide: bool = False
    """Whether the column takes the room that others leave: names, shapes."""


@frozen(eq=False)
class Table:
    """
    One table.

    Attributes
    ----------
    frame:
        All rows; how many are shown at a time is up to the outlet.
    columns:
        Columns in their order; further columns of the frame are not shown.
    window:
        Names of the columns with begin and end of the time that a row is about, ns; nulls for none.
    """

    name: str
    title: str
    frame: pl.DataFrame = field(repr=False)
    columns: Sequence[Column]
    detail: str = ""
    modelled: bool = False
    window: tuple[str, str] | None = None


@frozen
class Note:
    """A sentence on the page: a remark, a warning, or why something is absent."""

    text: str
    kind: str = NOTE


@frozen
class Hint:
    """
    A suggestion.

    Attributes
    ----------
    evidence:
        The numbers by which the condition holds.
    remedy:
        What to do about it.
    cost_us:
        Time that it costs, as far as it is known; hints are sorted by it.
    per:
        What the cost is a mean of: ``a step``, ``in the recording``.
    window:
        Begin and end of the longest time that it passes, ns; ``None`` where nobody knows.
    """

    title: str
    evidence: str
    remedy: str
    cost_us: float | None = None
    per: str = ""
    page: str = ""
    """Name of the page that shows the evidence."""
    window: tuple[int, int] | None = None


@frozen
class Row:
    """Blocks side by side where there is room, below each other where there is not."""

    blocks: Sequence[Chart | Table | Facts | Note | Hint]


Block: TypeAlias = "Facts | Chart | Table | Note | Hint | Row"


@frozen
class Control:
    """
    A choice that a page offers besides rank and step.

    Attributes
    ----------
    name:
        Its key in the address and in `Selection.choices`.
    options:
        Values with the texts that stand for them; the first is the default.
    """

    name: str
    label: str
    options: tuple[tuple[str, str], ...]


def flat(blocks: Sequence[Block]) -> list[Block]:
    """Return the blocks with rows replaced by their blocks."""
    unpacked: list[Block] = []
    for block in blocks:
        unpacked.extend(flat(block.blocks) if isinstance(block, Row) else [block])
    return unpacked


def find_block(blocks: Sequence[Block], name: str, kind: type[Any]) -> Any:
    """
    Return the block of a kind with that name.

    Raises
    ------
    KeyError
        There is none.
    """
    for block in flat(blocks):
        if isinstance(block, kind) and getattr(block, "name", "") == name:
            return block
    raise KeyError(name)
