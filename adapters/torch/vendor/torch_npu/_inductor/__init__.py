"""The facade of ``torch_npu._inductor``, imported for its effect; graphs run operator by operator."""

from __future__ import annotations
