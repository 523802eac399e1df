"""Marks that the script sets."""

from __future__ import annotations
