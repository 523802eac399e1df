"""Names of files in result directories that several rooms read and write."""

from __future__ import annotations

METADATA_FILE = "profiler_metadata.json"
"""What the script added, and what drynpu says of itself (torch_npu_profiler.md 3.4)."""
