"""The summary of the process."""

from __future__ import annotations

from drynpu_offline_inference.bench import Summary

__all__ = ["Summary", "summary"]

summary = Summary()
