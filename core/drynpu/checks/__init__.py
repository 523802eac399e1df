"""
What a process of a checked script does: an adapter notes it (`Observation`) and leaves it in a file at the end.

The plugin ``script_check`` runs the script and finds its mistakes in what was noted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.checks._observed import (
        WAIT_RANGE,
        Observation,
        ObservedCall,
        ObservedFailure,
        ObservedMessage,
        ObservedOperator,
        ObservedOutput,
        ObservedProfiler,
        ObservedWait,
        Place,
        read_observations,
    )
    from drynpu.checks._places import Places
    from drynpu.checks._process import CheckedProcess
else:
    __getattr__ = lazy_room(__name__)

__all__ = [
    "WAIT_RANGE",
    "CheckedProcess",
    "Observation",
    "ObservedCall",
    "ObservedFailure",
    "ObservedMessage",
    "ObservedOperator",
    "ObservedOutput",
    "ObservedProfiler",
    "ObservedWait",
    "Place",
    "Places",
    "read_observations",
]
