"""Suggestions that follow from a profile: what costs time, the numbers that show it, what to do about it."""

from __future__ import annotations

from drynpu.analysis.hints._communication import communication_findings
from drynpu.analysis.hints._finding import Finding, per_text
from drynpu.analysis.hints._host import host_findings
from drynpu.analysis.hints._kernels import kernel_findings
from drynpu.analysis.hints._memory import memory_findings
from drynpu.analysis.hints._ranks import rank_findings
from drynpu.analysis.hints._remedies import remedy_for
from drynpu.analysis.hints._run import find_all

__all__ = [
    "Finding",
    "communication_findings",
    "find_all",
    "host_findings",
    "kernel_findings",
    "memory_findings",
    "per_text",
    "rank_findings",
    "remedy_for",
]
