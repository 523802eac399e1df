"""All rules on one profile."""

from __future__ import annotations

from collections.abc import Iterable

from attrs import evolve

from drynpu.analysis._summary import Summary
from drynpu.analysis.hints._communication import communication_findings
from drynpu.analysis.hints._finding import Finding
from drynpu.analysis.hints._host import host_findings
from drynpu.analysis.hints._kernels import kernel_findings
from drynpu.analysis.hints._memory import memory_findings
from drynpu.analysis.hints._remedies import framework_of
from drynpu.tables import Profile, intervals

_SAME_SHARE = 0.5
"""Share of the time of a condition that lies in another's from which it is the same time."""


def find_all(profile: Profile, summary: Summary) -> list[Finding]:
    """
    Return what the rules find in a profile, what costs most first; what costs nobody knows at the end.

    Time is counted once: a condition whose time lies in the time of a costlier one is said there.
    """
    findings = [
        *host_findings(profile, summary.steps),
        *kernel_findings(profile, summary.steps),
        *communication_findings(profile, summary.steps),
        *memory_findings(summary.peak_allocated_bytes, summary.peak_reserved_bytes, framework_of(profile)),
    ]
    ordered = sorted(findings, key=lambda finding: -1.0 if finding.cost_us is None else finding.cost_us, reverse=True)
    return _counted_once(ordered)


def _counted_once(findings: Iterable[Finding]) -> list[Finding]:
    kept: list[Finding] = []
    for finding in findings:
        place = next((n for n, other in enumerate(kept) if _is_same_time(finding, other)), None)
        if place is None:
            kept.append(finding)
        else:
            kept[place] = _joined(kept[place], finding)
    return kept


def _is_same_time(finding: Finding, other: Finding) -> bool:
    if not len(finding.intervals) or not len(other.intervals):
        return False
    common = intervals.total(intervals.intersect(finding.intervals, other.intervals))
    return common > _SAME_SHARE * intervals.total(finding.intervals)


def _joined(costlier: Finding, other: Finding) -> Finding:
    """Return the costlier condition, which says the other one, too; the host waits because ranks communicate."""
    remedies = [costlier.remedy, other.remedy][: 1 if costlier.name == "exposed-communication" else 2]
    return evolve(
        costlier,
        evidence=f"{costlier.evidence} In the same time: {other.title}. {other.evidence}",
        remedy=" ".join(remedies),
    )
