"""Device memory that is reserved and not used."""

from __future__ import annotations

from collections.abc import Iterator

from drynpu.analysis.hints._finding import Finding
from drynpu.analysis.hints._remedies import remedy_for

_FACTOR, _LEAST_BYTES = 1.3, 1 << 30
"""Reserved against allocated at their peaks, and the difference, from which fragmentation is named; ours."""


def memory_findings(allocated_bytes: int | None, reserved_bytes: int | None, framework: str = "") -> Iterator[Finding]:
    """Yield what the peaks of allocated and reserved memory say; ``None`` is unknown."""
    if not allocated_bytes or not reserved_bytes:
        return
    if reserved_bytes > _FACTOR * allocated_bytes and reserved_bytes - allocated_bytes > _LEAST_BYTES:
        gib = 1 << 30
        yield Finding(
            name="fragmentation",
            title="Device memory is reserved and not used",
            evidence=f"{reserved_bytes / gib:.1f} GiB reserved for a peak of {allocated_bytes / gib:.1f} GiB.",
            remedy=remedy_for("fragmentation", framework),
            page="memory",
        )
