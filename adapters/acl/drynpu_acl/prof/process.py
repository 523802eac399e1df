"""Profiling of this process, as process-wide as the vendor's; imported by the facade, made at its first import."""

from __future__ import annotations

import os

from drynpu_acl.prof._process import open_profiling

__all__ = ["PROFILING"]

PROFILING = open_profiling(os.environ)
"""Give it the runtime with ``PROFILING.runtime = ...``; hand it to the runtime as its listener."""
