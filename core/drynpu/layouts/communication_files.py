"""Names in the JSON files of communication; apart from the records, which readers of results do without."""

from __future__ import annotations

ANALYSES = ("communication", "communication_matrix")
"""The analyses of communication that ``msprof --analyze`` makes (cann_msprof.md 6.2)."""

START_TIME = "Start Timestamp(us)"
"""When an operator began, in communication.json and its kin."""
