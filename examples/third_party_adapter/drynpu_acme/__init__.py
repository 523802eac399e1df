"""A small third-party extension of drynpu."""

from __future__ import annotations
