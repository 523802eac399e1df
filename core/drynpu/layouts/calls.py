"""Facts of the calls of the toolkit on the host."""

from __future__ import annotations

from drynpu.raw import HOST_MAGIC, RecordKind, has_host_magic, layout

API_EVENT = RecordKind(
    name="api_event",
    side="host",
    stem="unaging.api_event.data",
    dtype=layout(
        40,
        ("magic", "<u2", 0),
        ("level", "<u2", 2),
        ("type", "<u4", 4),
        ("thread_id", "<u4", 8),
        ("request_id", "<u4", 12),
        ("begin", "<u8", 16),
        ("end", "<u8", 24),
        ("item_id", "<u8", 32),
    ),
    plausible=has_host_magic,
    constants={"magic": HOST_MAGIC},
)
"""
One host API call, or one half of a call: a record whose ``end`` is all ones is an event whose time is ``begin``,
and two events with equal (level, type, thread_id, request_id, item_id) make one call. Times are raw host times.
"""

KINDS: tuple[RecordKind, ...] = (API_EVENT,)
