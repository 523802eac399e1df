"""The timeline as a packed Chrome trace, for Perfetto and chrome://tracing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drynpu.deliverables.registry import registered_groups
from drynpu.products.registry import product_named
from drynpu.tables import Profile
from drynpu.writers.files import make_directory
from drynpu.writers.trace_json import SPACED, write_trace


def export_chrome(profile: Profile, folder: Path) -> Sequence[Path]:
    """
    Write ``trace_view.json.gz``, of a distributed run ``trace_view_<rank>.json.gz``; nothing without events.

    The events equal the trace_view.json that the framework's profiler leaves. Raises `OutputError`.
    """
    rank = f"_{profile.rank_id}" if profile.rank_id >= 0 else ""
    path = make_directory(folder) / f"trace_view{rank}.json.gz"
    blocks = product_named(profile.product).trace(profile, registered_groups())
    return [path] if write_trace(path, blocks, SPACED) else []
