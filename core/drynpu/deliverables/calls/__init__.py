"""Calls into the toolkit that the host makes."""

from __future__ import annotations
