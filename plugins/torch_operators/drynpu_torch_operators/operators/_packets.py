"""Operator objects that take the lists of results that callers of torch_npu give (``out=[a, b]``)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from drynpu_torch_operators.operators._registry import NAMESPACE, overload_of


class OutForm:
    """
    The overload ``out`` of an operator: takes its results by name, or as one list or tuple in the order of the schema.

    PyTorch itself takes them by name alone.
    """

    def __init__(self, overload: torch._ops.OpOverload) -> None:
        self._overload = overload
        self._names = [argument.name for argument in overload._schema.arguments if argument.is_out]

    def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is not None:
            results = out if isinstance(out, Sequence) else [out]
            kwargs |= dict(zip(self._names, results, strict=True))
        return self._overload(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._overload, name)


class OperatorWithOut:
    """An operator object like an object of ``torch.ops``; a call with ``out=`` calls its overload ``out``."""

    def __init__(self, operators: torch._ops.OpOverloadPacket) -> None:
        self._operators = operators
        self.__name__ = operators.__name__
        self.out = OutForm(operators.out)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.out(*args, **kwargs) if kwargs.get("out") is not None else self._operators(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._operators, name)


def packet(base: str, overloads: Sequence[str]) -> Any:
    """Return the operator object of a name, which has these *overloads*."""
    operators = getattr(getattr(torch.ops, NAMESPACE), base)
    with_out = [name for name in overloads if name.endswith(".out")]
    results = [a.name for name in with_out for a in overload_of(name)._schema.arguments if a.is_out]
    return OperatorWithOut(operators) if with_out and results != ["out"] else operators
