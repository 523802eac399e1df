"""Tasks: what ran on the device when, which call launched it, and the operator that it computes."""

from __future__ import annotations
