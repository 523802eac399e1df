"""The lists of ``torch.Tensor``."""

from __future__ import annotations

from drynpu_apex.amp import TENSOR

MODULE = TENSOR.module
FP16_FUNCS = TENSOR.half
FP32_FUNCS = TENSOR.full
CASTS = TENSOR.promoted
SEQUENCE_CASTS = TENSOR.sequences
