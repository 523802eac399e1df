"""Memory of operators as the toolkit reports it."""

from __future__ import annotations
