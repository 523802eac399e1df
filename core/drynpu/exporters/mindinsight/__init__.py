"""The text files that MindInsight 2.3.1 reads (mindinsight_dashboard.md 3 to 7 and 10)."""

from __future__ import annotations

from drynpu.exporters.mindinsight._export import export_mindinsight

__all__ = ["export_mindinsight"]
