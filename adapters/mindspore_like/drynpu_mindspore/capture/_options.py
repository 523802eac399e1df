"""What a capture is to record beside operators."""

from __future__ import annotations

from attrs import frozen


@frozen(kw_only=True)
class CaptureOptions:
    """What is recorded beside operators."""

    data_process: bool = False
    """The data pipelines that are made in the meantime."""
    host_events: bool = False
    """What the framework does on the host."""
    with_stack: bool = False
    """Calls of Python functions, among the events of the host."""
    profile_memory: bool = False
    """Totals of MindSpore's memory pool."""
