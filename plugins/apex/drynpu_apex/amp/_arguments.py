"""Arguments of functions, converted to another floating type wherever they are tensors of the device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import torch

from drynpu_torch.device import known_device, state

Convert: TypeAlias = Callable[[torch.Tensor], torch.Tensor]


def is_on_device(tensor: torch.Tensor) -> bool:
    """Return whether *tensor* lies on an npu, as any may where the sink serves: results of operators do not say."""
    return state().library is None or known_device(tensor) is not None


def to_half(tensor: torch.Tensor) -> torch.Tensor:
    """Return *tensor* in float16 where it lies on the device."""
    return tensor.half() if tensor.dtype != torch.float16 and is_on_device(tensor) else tensor


def to_full(tensor: torch.Tensor) -> torch.Tensor:
    """Return *tensor* in float32 where it lies on the device."""
    return tensor.float() if tensor.dtype != torch.float32 and is_on_device(tensor) else tensor


def spoken(convert: Convert, function: str) -> Convert:
    """Return *convert*, which prints each conversion that it does for *function*."""
    text = "Float->Half" if convert is to_half else "Half->Float"

    def convert_and_print(tensor: torch.Tensor) -> torch.Tensor:
        result = convert(tensor)
        if result is not tensor:
            print(f"{text} ({function})")
        return result

    return convert_and_print


def is_floating(value: object) -> bool:
    """Return whether *value* is a floating tensor, or a tuple or list of nothing else."""
    if isinstance(value, (tuple, list)):
        return all(map(is_floating, value))
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def converted(convert: Convert, value: Any) -> Any:
    """Return *value* with *convert* applied to its tensors if it is floating; *value* itself otherwise."""
    if not is_floating(value):
        return value
    if isinstance(value, torch.Tensor):
        return convert(value)
    return type(value)([converted(convert, part) for part in value])


def converted_all(convert: Convert, arguments: Sequence[object], keywords: dict[str, Any]) -> tuple[list[Any], Any]:
    """Return positional and keyword arguments with *convert* applied to those that are floating."""
    return (
        [converted(convert, value) for value in arguments],
        {name: converted(convert, value) for name, value in keywords.items()},
    )


def floating_types(values: Iterable[Any]) -> set[torch.dtype]:
    """Return the types of the floating tensors among *values*, also in tuples and lists of nothing else."""
    types: set[torch.dtype] = set()
    for value in values:
        if not is_floating(value):
            continue
        if isinstance(value, torch.Tensor):
            types.add(value.dtype)
        else:
            types |= floating_types(value)
    return types


class Weights:
    """Converted parameters, kept until the backward pass is over, so that each is converted once."""

    def __init__(self) -> None:
        self.kept: dict[torch.Tensor, torch.Tensor] = {}

    def convert(self, convert: Convert, value: Any) -> Any:
        """Return a parameter in float32 converted, anew or as kept; any other value itself."""
        if isinstance(value, (tuple, list)) and value and all(map(_is_weight, value)):
            return type(value)([self.convert(convert, part) for part in value])
        if not _is_weight(value):
            return value
        before = self.kept.get(value)
        # Converted without gradients (in evaluation), it would cut the parameter off from a backward pass.
        if before is not None and (not torch.is_grad_enabled() or before.requires_grad == value.requires_grad):
            return before
        self.kept[value] = convert(value)
        return self.kept[value]


def _is_weight(value: object) -> bool:
    return isinstance(value, torch.nn.Parameter) and value.dtype == torch.float32
