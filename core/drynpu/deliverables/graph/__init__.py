"""Compiled graphs: names, fused operators, planned memory, iterations."""

from __future__ import annotations
