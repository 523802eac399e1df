"""Runs to look at: the same as the core's."""

from __future__ import annotations

from tests.core.conftest import drynpu, profile, write
from tests.core.views.conftest import genuine, recorded, view

__all__ = ["drynpu", "genuine", "profile", "recorded", "view", "write"]
