"""Computing and communication of the device at the same time, one alone, or neither."""

from __future__ import annotations
