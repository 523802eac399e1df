"""Device memory in use, sampled: of the process, of the device, of each component of the device software."""

from __future__ import annotations
