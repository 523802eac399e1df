"""The timeline as a packed Chrome trace, for Perfetto and chrome://tracing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from drynpu.deliverables.registry import registered_groups
from drynpu.products.registry import product_named
from drynpu.tables import Profile
from drynpu.writers.files import make_directory
from drynpu.writers.trace_json import CHUNK_ROWS, SPACED, Events, write_trace

DAY_US = 86_400_000_000
_TIME = re.compile(r'(?<="ts": ")\d+')


def export_chrome(profile: Profile, folder: Path) -> Sequence[Path]:
    """
    Write ``trace_view.json.gz``, of a distributed run ``trace_view_<rank>.json.gz``; nothing without events.

    The events equal the trace_view.json that the framework's profiler leaves, but times count from the last midnight
    (UTC). Perfetto reads them as 64-bit floats: since 1970 these have steps of a quarter of a microsecond, and slices
    that overlap after that are dropped. Raises `OutputError`.
    """
    rank = f"_{profile.rank_id}" if profile.rank_id >= 0 else ""
    path = make_directory(folder) / f"trace_view{rank}.json.gz"
    blocks = product_named(profile.product).trace(profile, registered_groups())
    return [path] if write_trace(path, _of_the_day(blocks), SPACED) else []


def _of_the_day(blocks: Iterable[Events | Sequence[str]]) -> Iterator[Sequence[str]]:
    for block in blocks:
        if not isinstance(block, Events):
            yield block
            continue
        for offset in range(0, block.rows.height, CHUNK_ROWS):
            events = block.render(SPACED, offset, CHUNK_ROWS)
            if len(events):
                yield [_TIME.sub(lambda time: str(int(time[0]) % DAY_US), SPACED.comma.join(events))]
