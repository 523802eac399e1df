"""The ``*_ascend_ms`` directories of MindSpore's profiler."""

from __future__ import annotations
