"""Calls written by hand: tensors and values by position, bound to a neutral operator."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from drynpu.kernels import KernelPlan, Operator, Signature, TensorDesc, bind

Ask = Callable[..., "KernelPlan | None"]


@pytest.fixture
def ask() -> Ask:
    """Return a function from an operator, its spelling and the arguments of a call to the plan."""

    def plan(operator: Operator, spelling: str, *arguments: object) -> KernelPlan | None:
        tensors = tuple(value if isinstance(value, TensorDesc) else None for value in arguments)
        values = tuple(None if isinstance(value, TensorDesc) else value for value in arguments)
        return bind(operator, spelling)(Signature("op", tensors, values))

    return plan
