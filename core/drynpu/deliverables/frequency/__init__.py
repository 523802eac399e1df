"""Changes of the frequency of the AI cores."""

from __future__ import annotations
