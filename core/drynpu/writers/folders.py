"""Names of the folders that hold deliverables."""

from __future__ import annotations

from typing import Final

FRAMEWORK_OUTPUT: Final = "ASCEND_PROFILER_OUTPUT"
"""In the result directory of a framework's profiler."""
TOOLKIT_OUTPUT: Final = "mindstudio_profiler_output"
"""In a PROF directory, written by msprof."""
