"""What a suggestion is."""

from __future__ import annotations

import polars as pl
from attrs import frozen


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
    """

    name: str
    title: str
    evidence: str
    remedy: str
    cost_us: float | None = None
    per: str = ""
    page: str = "overview"


def per_text(steps: pl.DataFrame) -> str:
    """Return what a mean over the rows of a step trace is a mean of; without marked steps a row is the recording."""
    return "a step" if steps.height and (steps["step"] != "").all() else "in the recording"
