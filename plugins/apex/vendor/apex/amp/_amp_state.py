"""The facade of ``apex.amp._amp_state``."""

from __future__ import annotations

from drynpu_apex.amp import (
    AMP as _amp_state,
)
from drynpu_apex.amp import (
    AmpState,
    master_params,
)
from drynpu_apex.amp import (
    print_at as maybe_print,
)
from drynpu_apex.amp import (
    warn_or_raise as warn_or_err,
)

__all__ = [
    "AmpState",
    "_amp_state",
    "master_params",
    "maybe_print",
    "warn_or_err",
]
