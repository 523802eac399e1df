"""Settings of the test tools that pyproject.toml cannot hold."""

from __future__ import annotations

import os

from hypothesis import settings

# Shared machines are slow at times, which is no failure; and CI should fail for the change at hand, not by chance.
settings.register_profile("house", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("house")
