"""Launches of MindSpore's primitives as rules read them."""

from __future__ import annotations

from typing import Any

from drynpu.kernels import NO_DATA, KernelPlan, Operator, OperatorCall, TensorDesc
from drynpu_mindspore.rules._work import unknown_shapes


class LaunchCall(OperatorCall):
    """
    A launch whose signature :func:`drynpu_mindspore.rules.signature` made; of others only inputs are known.

    MindSpore launches its kernels one by one (jit level O0, PyNative), so a kernel bears GE's operator type as its name
    (mindspore_profiler.md 12.2: ``.../MatMul-op0/MatMulV2``); the scope is in the name of the launch.
    """

    guesses = False

    @property
    def outputs(self) -> tuple[TensorDesc, ...]:
        """What the launch returns, in order; empty when that is not known."""
        found = self._part(0)
        return found if isinstance(found, tuple) else ()

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes by name."""
        found = self._part(1)
        return dict(found) if isinstance(found, tuple) else {}

    @property
    def arguments(self) -> tuple[object, ...]:
        """Values of the arguments that are no tensors, by position."""
        found = self._part(2)
        return found if isinstance(found, tuple) else ()

    def answer(self, operator: Operator) -> KernelPlan | None:
        """
        Return what *operator* makes of this launch.

        A launch of which shapes or types are not known is shown under its kernel's type without tensors and without
        work: nothing is guessed. The plan is marked as unmapped, so that the recording's metadata counts it.
        """
        known = all(t.dtype != NO_DATA for t in (*self.signature.tensors(), *self.outputs))
        found = operator(self) if known else None
        return unknown_shapes(self.binding.kernel) if found is None else found

    def _part(self, position: int) -> object:
        parts = self.signature.attributes
        return parts[position] if position < len(parts) else None
