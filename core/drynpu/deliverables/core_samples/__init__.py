"""Counters of single cores, sampled."""

from __future__ import annotations
