"""Functions of torch_npu that consist of its operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import torch

from drynpu_torch_operators.operators.dropout import dropout_with_byte_mask, npu_dropout_gen_mask


class Composite:
    """An operator object that calls other operators; it has one overload."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    @property
    def default(self) -> Composite:
        """The only overload."""
        return self


def npu_fused_attention_score(*args: Any, **kwargs: Any) -> torch.Tensor:
    """Return the first result of ``npu_fused_attention_score_fwd``."""
    return torch.ops.npu.npu_fused_attention_score_fwd(*args, **kwargs)[0]  # type: ignore[no-any-return]


COMPOSITES: Final[Mapping[str, Composite]] = {
    function.__name__: Composite(function)
    for function in (dropout_with_byte_mask, npu_dropout_gen_mask, npu_fused_attention_score)
}
"""Composites by the names that torch_npu exports."""
