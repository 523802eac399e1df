"""What options ask for and nothing is simulated for."""

from __future__ import annotations
