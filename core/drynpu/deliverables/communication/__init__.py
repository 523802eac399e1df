"""Communication operators, their tasks and their links."""

from __future__ import annotations
