"""The command line and a result directory: the same as the core's."""

from __future__ import annotations

from tests.core.conftest import drynpu, profile

__all__ = ["drynpu", "profile"]
