"""The facade of ``torch_npu.contrib.module.bidirectional_lstm``."""

from __future__ import annotations

from drynpu_torch_operators.contrib.layers import BiLSTM

__all__ = ["BiLSTM"]
