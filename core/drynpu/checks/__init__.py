"""
Mistakes of a script, found in its first steps before the run is paid for: where they are, what shows them, a fix.

`check_script` runs a script and applies all rules. An adapter notes what the script does (`Observation`) in the process
that the script runs in; the rules look at that and at the recording of the first steps, after the process has ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from drynpu._lazy import lazy_room

if TYPE_CHECKING:
    from drynpu.checks._check import CheckedRun, check_environment, check_script, run_command
    from drynpu.checks._mistake import Mistake
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
    "CheckedRun",
    "Mistake",
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
    "check_environment",
    "check_script",
    "read_observations",
    "run_command",
]
