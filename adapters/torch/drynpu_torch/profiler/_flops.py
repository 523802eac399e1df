"""Formulas that a script adds to ``with_flops`` (torch_npu_profiler.md 1.6)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import TypeVar

from drynpu_torch.capture import DEFAULT_FORMULAS, FlopFormula
from drynpu_torch.profiler._process import PROCESS

F = TypeVar("F", bound=Callable[..., object])

_LOG = logging.getLogger(__name__)


def register_npu_flop(
    target: str | None = None, op_name: str | None = None, *, is_default: bool = False
) -> Callable[[F], F]:
    """
    Return a decorator for a function that counts the floating point operations of *target*.

    The function takes the arguments of a call of *target*. It counts in recordings that are started later.

    Parameters
    ----------
    target:
        The function that is counted, as ``module:attribute``. Without it the decorated function replaces the formula
        of a name that is counted already, and is without effect for any other name.
    op_name:
        The name that the range shows; by default the part of *target* behind the colon, else the decorated function's.
    is_default:
        Gives way to a formula for the same name that was added without it.
    """

    def register(count: F) -> F:
        known = PROCESS.flop_formulas
        attribute = target.partition(":")[2] if target is not None and ":" in target else ""
        name = op_name if op_name is not None else attribute or count.__name__
        if is_default and name in known:
            return count
        if name in known:
            _LOG.error("Duplicate external FLOPs registration for %s. The later registration takes precedence.", name)
        replaced = known.get(name) or DEFAULT_FORMULAS.get(name)
        known[name] = FlopFormula(target or (replaced.path if replaced else ""), count)
        return count

    return register


def flop_formulas() -> Mapping[str, FlopFormula]:
    """Return the formulas of all functions that are counted, by the name that the range shows."""
    formulas = {**DEFAULT_FORMULAS, **PROCESS.flop_formulas}
    return {name: formula for name, formula in formulas.items() if formula.path}
