"""The facade of ``apex.amp``."""

from __future__ import annotations

# The state takes the name of its module, as in the vendor's package.
from apex.amp import amp, frontend, handle, lists, scaler
from apex.amp._amp_state import _amp_state

from drynpu_apex.amp import (
    disable_casts,
    float_function,
    half_function,
    init,
    initialize,
    load_state_dict,
    master_params,
    promote_function,
    register_float_function,
    register_half_function,
    register_promote_function,
    scale_loss,
    state_dict,
)

__all__ = [
    "_amp_state",
    "amp",
    "disable_casts",
    "float_function",
    "frontend",
    "half_function",
    "handle",
    "init",
    "initialize",
    "lists",
    "load_state_dict",
    "master_params",
    "promote_function",
    "register_float_function",
    "register_half_function",
    "register_promote_function",
    "scale_loss",
    "scaler",
    "state_dict",
]
