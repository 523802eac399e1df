"""Mixed precision as ``apex.amp`` has it: casts around functions, half models with float32 masters, loss scales."""

from __future__ import annotations

from drynpu_apex.amp._casts import (
    float_function,
    half_function,
    init,
    promote_function,
    register_float_function,
    register_half_function,
    register_promote_function,
)
from drynpu_apex.amp._initialize import initialize
from drynpu_apex.amp._lists import FUNCTIONAL, TENSOR, TORCH, CastLists
from drynpu_apex.amp._options import LEVELS, Properties
from drynpu_apex.amp._scale_loss import disable_casts, load_state_dict, scale_loss, state_dict
from drynpu_apex.amp._scaler import LossScaler
from drynpu_apex.amp._state import AMP, AmpState, master_params, print_at, warn_or_raise
from drynpu_apex.amp._wrappers import Handle

__all__ = [
    "AMP",
    "FUNCTIONAL",
    "LEVELS",
    "TENSOR",
    "TORCH",
    "AmpState",
    "CastLists",
    "Handle",
    "LossScaler",
    "Properties",
    "disable_casts",
    "float_function",
    "half_function",
    "init",
    "initialize",
    "load_state_dict",
    "master_params",
    "print_at",
    "promote_function",
    "register_float_function",
    "register_half_function",
    "register_promote_function",
    "scale_loss",
    "state_dict",
    "warn_or_raise",
]
