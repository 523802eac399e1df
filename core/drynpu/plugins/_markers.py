"""The two pluggy markers, and the names that hang on them."""

from __future__ import annotations

import pluggy

PROJECT = "drynpu"
"""Name of the pluggy project; hook functions are called ``drynpu_<something>``."""

ENTRY_POINT_GROUP = "drynpu.adapters"
"""Entry-point group in which adapters register: ``name = "module.with.the.hooks"``."""

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin module as the implementation of the hook of the same name."""
