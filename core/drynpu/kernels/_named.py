"""A neutral operator and the names that a framework has for it: the rows of the tables that rules are made of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from attrs import frozen

from drynpu.kernels._types import KernelPlan

_OPTIONAL: Final = re.compile(r"\((\w+)\)")


@frozen
class Named:
    """
    A neutral operator, and what a framework calls it.

    Examples
    --------
    ``Named(matmul.product, "a b turn_a=transpose_a", "MatMul=MatMulV2 BatchMatMul*2")``: the operators ``MatMul`` and
    ``BatchMatMul`` are products. The kernel of ``MatMul`` has the type ``MatMulV2``.
    """

    operator: Callable[[Any], KernelPlan | None]
    """Takes the framework's calls, whose class is a subclass of :class:`drynpu.kernels.OperatorCall`."""
    arguments: str
    """Neutral names of the arguments; :meth:`drynpu.kernels.Binding.from_text` says how they are read."""
    names: str
    """
    The framework's names, each with ``=api:kernel`` where the kernel has another one (``=`` alone where the operator
    chooses the kernel) and ``*operations`` where the kernel does other work per element than its type says.
    ``(Resource)Assign`` is both ``Assign`` and ``ResourceAssign``.
    """

    def spellings(self) -> Iterator[tuple[str, str]]:
        """Yield each name, with the spelling of its binding."""
        for entry in self.names.split():
            name, renamed, kernel = entry.partition("=")
            name, times, count = name.partition("*")
            plain = _OPTIONAL.sub("", name)
            spelling = f"{kernel if renamed else plain + times + count}({self.arguments})"
            for variant in dict.fromkeys((plain, _OPTIONAL.sub(r"\1", name))):
                yield variant, spelling
