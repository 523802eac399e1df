"""The kind of core that an operator's main kernel needs, which is known before any shape is."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from drynpu.kernels._types import TaskType
from drynpu.kernels.ops import attention, conv, creation, matmul, recurrent

_PRODUCTS: Final = (
    *(matmul.product, matmul.stacked_product, matmul.vector_product, matmul.dense, matmul.einsum),
    *(conv.convolution, conv.input_gradient, conv.weight_gradient),
)
_MIXED: Final = (
    *(attention.fused_attention, attention.attention_gradient),
    *(recurrent.stacked_lstm, recurrent.stacked_lstm_gradient),
    *(recurrent.lstm_layer, recurrent.lstm_layer_gradient),
    *(recurrent.gru_layer, recurrent.gru_layer_gradient),
)
_ENGINES: Final[Mapping[Any, TaskType]] = MappingProxyType(
    dict.fromkeys(_PRODUCTS, TaskType.AI_CORE)
    | dict.fromkeys(_MIXED, TaskType.MIX_AIC)
    | {creation.make_on_cpu: TaskType.AI_CPU}
)


def engine_of(operator: Any) -> TaskType:
    """Return the task type of the main kernel of a neutral *operator*, a function of this package."""
    return _ENGINES.get(inspect.unwrap(operator), TaskType.AI_VECTOR_CORE)
