"""Monitors around the cores: accelerators, buses, links to other chips, memory partitions, image engines."""

from __future__ import annotations
