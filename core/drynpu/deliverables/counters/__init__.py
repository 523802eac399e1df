"""Counters of kernels, read after each task."""

from __future__ import annotations
