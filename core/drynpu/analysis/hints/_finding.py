"""What a suggestion is."""

from __future__ import annotations

import attrs
import numpy as np
import polars as pl
from attrs import field, frozen

from drynpu.arrays import I64


@frozen(kw_only=True)
class Finding:
    """
    A condition that holds for a profile.

    Attributes
    ----------
    name:
        Identifies the rule: lower case, words joined by ``-``.
    evidence:
        The numbers by which the condition holds.
    cost_us:
        Device or host time that it takes, which is the most that a remedy can win; ``None`` if unknown.
    per:
        What the cost and the numbers are a mean of: ``a step``; ``in the recording``, where no steps are marked.
    page:
        Page that shows the evidence.
    rank:
        Label of the rank that it is about, of findings that look at several.
    intervals:
        When the time passes of which this is the cost, ns, ``[n, 2]`` in canonical form; empty where nobody knows.
    """

    name: str
    title: str
    evidence: str
    remedy: str
    cost_us: float | None = None
    per: str = ""
    page: str = "overview"
    rank: str = ""
    intervals: I64 = field(factory=lambda: np.empty((0, 2), np.int64), repr=False, eq=False)

    @property
    def longest(self) -> tuple[int, int] | None:
        """Begin and end of the longest interval, ns."""
        if not len(self.intervals):
            return None
        begin, end = self.intervals[np.argmax(self.intervals[:, 1] - self.intervals[:, 0])].tolist()
        return begin, end

    def document(self) -> dict[str, object]:
        """Return what programs read of it; ``rank`` only of what several ranks say together."""
        left_out = ("intervals",) if self.rank else ("intervals", "rank")
        return attrs.asdict(self, filter=attrs.filters.exclude(*left_out))


def per_text(steps: pl.DataFrame) -> str:
    """Return what a mean over the rows of a step trace is a mean of; without marked steps a row is the recording."""
    return "a step" if steps.height and (steps["step"] != "").all() else "in the recording"
