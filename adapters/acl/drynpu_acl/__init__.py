"""pyACL on the simulated NPU: profiling, subscription, and the part of the runtime that programs with models touch."""

from __future__ import annotations
