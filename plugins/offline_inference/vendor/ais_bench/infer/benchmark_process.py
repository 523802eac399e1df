"""The command of the benchmark."""

from __future__ import annotations

from collections.abc import Sequence

from ais_bench.infer.interface import InferSession, MemorySummary
from ais_bench.infer.summary import summary

from drynpu_offline_inference import bench

__all__ = ["main"]


def main(arguments: Sequence[str]) -> int:
    return bench.main(arguments, InferSession, MemorySummary, summary)
