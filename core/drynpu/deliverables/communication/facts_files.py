"""Names in the JSON files of communication that several readers look for."""

from __future__ import annotations

START_TIME = "Start Timestamp(us)"
"""When an operator began, in communication.json and its kin."""
