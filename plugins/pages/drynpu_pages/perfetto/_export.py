"""The exporter ``perfetto``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from drynpu.tables import Profile
from drynpu.writers.files import make_directory, new_file
from drynpu_pages.perfetto._trace import perfetto_trace
from drynpu_pages.perfetto._window import window_of
from drynpu_pages.tracks import timeline_index


def export_perfetto(profile: Profile, folder: Path) -> Sequence[Path]:
    """
    Write ``timeline.pftrace``, of a distributed run ``timeline_<rank>.pftrace``; nothing without events.

    Unlike the Chrome trace it has all digits of the times, counters with units, and arrows through the whole way from
    an operator to its kernels. Raises `OutputError`.
    """
    index = timeline_index(profile)
    if not index.events:
        return []
    rank = f"_{profile.rank_id}" if profile.rank_id >= 0 else ""
    path = make_directory(folder) / f"timeline{rank}.pftrace"
    name = f"rank {profile.rank_id}" if rank else "run"
    with new_file(path) as file:
        for part in perfetto_trace({name: profile}, window_of([index], most=index.events)):
            file.write(part)
    return [path]
