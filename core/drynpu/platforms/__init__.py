"""
Platforms and chips: what a generation of chips records, and how fast each chip is.

``platforms.yaml`` holds every property of a generation; code asks a `Platform` for a property, never for its number.
``chips/`` holds one file per chip, every number with its source; more can be added by the user or a plugin.
"""

from __future__ import annotations

from drynpu.platforms._chip import Chip, Interconnect, SlowLink
from drynpu.platforms._counters import CounterGroup, CounterSet, Formula, MetricColumn
from drynpu.platforms._load import DEFAULT_CHIP, known_chips, load_chip, load_chip_file
from drynpu.platforms._platform import CacheEvents, Platform
from drynpu.platforms._platforms import (
    find_platform,
    known_platforms,
    known_series,
    named_platforms,
    resolve_platform,
    resolve_series,
)
from drynpu.platforms._topology import ClusterTopology, Hccs, Level, Package, SuperNode, load_topology

__all__ = [
    "DEFAULT_CHIP",
    "CacheEvents",
    "Chip",
    "ClusterTopology",
    "CounterGroup",
    "CounterSet",
    "Formula",
    "Hccs",
    "Interconnect",
    "Level",
    "MetricColumn",
    "Package",
    "Platform",
    "SlowLink",
    "SuperNode",
    "find_platform",
    "known_chips",
    "known_platforms",
    "known_series",
    "load_chip",
    "load_chip_file",
    "load_topology",
    "named_platforms",
    "resolve_platform",
    "resolve_series",
]
