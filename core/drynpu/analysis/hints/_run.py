"""All rules on one profile."""

from __future__ import annotations

from drynpu.analysis._summary import Summary
from drynpu.analysis.hints._communication import communication_findings
from drynpu.analysis.hints._finding import Finding
from drynpu.analysis.hints._host import host_findings
from drynpu.analysis.hints._kernels import kernel_findings
from drynpu.analysis.hints._memory import memory_findings
from drynpu.tables import Profile


def find_all(profile: Profile, summary: Summary) -> list[Finding]:
    """Return what the rules find in a profile, what costs most first; what costs nobody knows at the end."""
    findings = [
        *host_findings(profile, summary.steps),
        *kernel_findings(profile, summary.steps),
        *communication_findings(profile, summary.steps),
        *memory_findings(summary.peak_allocated_bytes, summary.peak_reserved_bytes),
    ]
    return sorted(findings, key=lambda finding: -1.0 if finding.cost_us is None else finding.cost_us, reverse=True)
