"""The directory that a recording is written to, and the process that it is of."""

from __future__ import annotations

from pathlib import Path

from attrs import frozen

MINDSPORE = "mindspore"
"""The framework whose host data have layouts of their own."""


@frozen(kw_only=True)
class Destination:
    """
    The directory that a recording is written to, and the process that it is of.

    ``framework`` is the prefix of the files in ``FRAMEWORK``; ``prof_number`` counts the PROF directories of this
    process from 0. ``host_data`` and ``device_data`` say which of ``FRAMEWORK`` and ``PROF_*`` are written.
    """

    directory: Path
    framework: str
    pid: int
    device_id: int = 0
    rank_id: int = -1
    prof_number: int = 0
    host_data: bool = True
    device_data: bool = True
