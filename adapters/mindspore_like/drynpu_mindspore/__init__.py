"""MindSpore on the simulated NPU: the profiler's surface, capture on the CPU, kernel rules, and a recording's files."""

from __future__ import annotations
