"""MindSpore on the simulated NPU: the profiler's surface, capture on the CPU, kernel rules, and what a recording leaves."""

from __future__ import annotations
