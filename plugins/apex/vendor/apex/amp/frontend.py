"""The facade of ``apex.amp.frontend``."""

from __future__ import annotations

from drynpu_apex.amp import (
    LEVELS as opt_levels,
)
from drynpu_apex.amp import (
    Properties,
    initialize,
    load_state_dict,
    state_dict,
)

__all__ = [
    "Properties",
    "initialize",
    "load_state_dict",
    "opt_levels",
    "state_dict",
]
