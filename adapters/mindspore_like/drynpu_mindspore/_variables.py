"""Variables of the environment that are read before MindSpore is loaded, and after."""

from __future__ import annotations

API_VARIABLE = "DRYNPU_MINDSPORE_API"
"""The release whose profiler a script gets; without it MindSpore 2.7."""

OPTIONS_VARIABLE = "MS_PROFILER_OPTIONS"
"""Options of a profiler that runs from the import of the framework on (mindspore_profiler.md 8)."""
