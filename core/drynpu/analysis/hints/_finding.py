"""What a suggestion is."""

from __future__ import annotations

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
        Device or host time per step that it takes, which is the most that a remedy can win; ``None`` if unknown.
    page:
        Page that shows the evidence.
    """

    name: str
    title: str
    evidence: str
    remedy: str
    cost_us: float | None = None
    page: str = "overview"
