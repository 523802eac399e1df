"""
Chip descriptions and their loader.

One YAML file per chip in ``chips/``, every number with its source; more files can be added by the user or a plugin.
"""

from __future__ import annotations

from drynpu.platforms._chip import Chip, Interconnect
from drynpu.platforms._load import known_chips, load_chip, load_chip_file

__all__ = ["Chip", "Interconnect", "known_chips", "load_chip", "load_chip_file"]
