"""Memory and caches of the device, sampled."""

from __future__ import annotations
