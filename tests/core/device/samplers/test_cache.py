"""Counters of the L2 cache: requests, victims, and hits where a generation counts them, else the misses left over."""

from __future__ import annotations

import numpy as np
import pytest

from drynpu.device.samplers.cache import encode_cache_events
from drynpu.platforms import find_platform

READS, WRITES = np.array([100, 70]), np.array([30, 5])
READ_MISSES, WRITE_MISSES, VICTIMS = np.array([17, 20]), np.array([4, 2]), np.array([6, 11])
EVENTS = {version: find_platform(version).memory.l2_events for version in ("0", "1", "4", "5", "7", "8", "11", "15")}


@pytest.mark.parametrize("version", [version for version, events in EVENTS.items() if events is not None])
def test_each_event_counts_what_it_is_called_for(version: str) -> None:
    events = EVENTS[version]
    assert events is not None
    found = encode_cache_events(events, READS, WRITES, READ_MISSES, WRITE_MISSES, VICTIMS)
    column = {code: found[:, place].tolist() for place, code in enumerate(events.events)}
    assert found.shape == (2, 8)

    def counted(codes: tuple[int, ...], read: np.ndarray, write: np.ndarray) -> None:
        expected = [read.tolist(), write.tolist()] if len(codes) > 1 else [(read + write).tolist()]
        assert [column[code] for code in codes] == expected

    counted(events.requests, READS, WRITES)
    assert column[events.victims[0]] == [6, 11]
    if events.hits:
        counted(events.hits, READS - READ_MISSES, WRITES - WRITE_MISSES)
    else:
        assert column[events.misses[0]] == [17 + 4 - 6, 20 + 2 - 11]


def test_generations_differ_in_what_they_count() -> None:
    """Both branches are tested: hits read and written apart, hits together or misses alone."""
    known = [events for events in EVENTS.values() if events is not None]
    assert {bool(each.hits) for each in known} == {True, False}
