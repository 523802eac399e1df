"""``npu_dynamic_rnn``: recurrent layers."""

from __future__ import annotations

from drynpu_tf1_contrib.npu_recurrent import (
    DYNAMIC_RNN_BIDIRECTION,
    DYNAMIC_RNN_UNIDIRECTION,
    DynamicAUGRU,
    DynamicGRUV2,
    DynamicRNN,
)

__all__ = [
    "DYNAMIC_RNN_BIDIRECTION",
    "DYNAMIC_RNN_UNIDIRECTION",
    "DynamicAUGRU",
    "DynamicGRUV2",
    "DynamicRNN",
]
