"""What a check finds."""

from __future__ import annotations

from attrs import frozen

from drynpu.checks import Place
from drynpu.options import Severity


@frozen(kw_only=True)
class Mistake:
    """
    One thing that the run would show too late.

    Attributes
    ----------
    name:
        Identifies the rule: lower case, words joined by ``-``.
    level:
        An error costs the profile or the run; a warning costs time or a file; an information is worth a look.
    place:
        Line of the script; ``None`` where it belongs to none.
    evidence:
        The numbers that show it.
    cost_us:
        Modelled time that it takes, ``None`` if unknown; *per* says in what, as ``a step``.
    """

    name: str
    level: Severity
    title: str
    evidence: str
    fix: str
    place: Place | None = None
    cost_us: float | None = None
    per: str = ""
