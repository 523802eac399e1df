"""Variables of the environment that are read before MindSpore is loaded, and after."""

from __future__ import annotations

API_VARIABLE = "DRYNPU_MINDSPORE_API"
"""The release whose profiler is served."""

OPTIONS_VARIABLE = "MS_PROFILER_OPTIONS"
"""Options of a profiler that runs from the import of the framework on (mindspore_profiler.md 8)."""
