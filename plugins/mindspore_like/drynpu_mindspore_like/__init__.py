"""``mindspore_like`` for scripts that say ``mindspore``, where there is no MindSpore."""

from __future__ import annotations
