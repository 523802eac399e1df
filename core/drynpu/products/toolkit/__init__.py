"""The ``PROF_*`` directories of the toolkit (msprof)."""

from __future__ import annotations
