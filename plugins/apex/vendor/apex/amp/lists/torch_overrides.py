"""The lists of ``torch``."""

from __future__ import annotations

from drynpu_apex.amp import TORCH

MODULE = TORCH.module
FP16_FUNCS = TORCH.half
FP32_FUNCS = TORCH.full
CASTS = TORCH.promoted
SEQUENCE_CASTS = TORCH.sequences
