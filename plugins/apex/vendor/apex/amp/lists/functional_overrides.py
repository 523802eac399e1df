"""The lists of ``torch.nn.functional``."""

from __future__ import annotations

from drynpu_apex.amp import FUNCTIONAL

MODULE = FUNCTIONAL.module
FP16_FUNCS = FUNCTIONAL.half
FP32_FUNCS = FUNCTIONAL.full
BANNED_FUNCS = FUNCTIONAL.banned
