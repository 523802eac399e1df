"""Ranges that show the floating point operations of a call, for the vendor's analysis of utilisation."""

from __future__ import annotations

import contextlib
import functools
import importlib
import itertools
import logging
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from attrs import frozen

from drynpu import modules_with
from drynpu_torch.capture._patches import patched
from drynpu_torch.device.npu import mstx

_LOG = logging.getLogger(__name__)
_DOMAIN = "mfu_flops"


@frozen
class FlopFormula:
    """
    A function whose calls are counted, and the formula for one call.

    Attributes
    ----------
    path:
        The function as ``module:attribute``, where calls look it up; attributes of attributes are joined by dots.
    count:
        Takes the arguments of a call and returns its floating point operations. A call gets no range if it raises.
    """

    path: str
    count: Callable[..., Any]


def _mm(input: torch.Tensor, mat2: torch.Tensor, **_: object) -> int:  # noqa: A002 - PyTorch's name
    (m, k), n = input.shape, mat2.shape[1]
    return 2 * m * n * k


def _bmm(input: torch.Tensor, mat2: torch.Tensor, **_: object) -> int:  # noqa: A002 - PyTorch's name
    (batch, m, k), n = input.shape, mat2.shape[2]
    return 2 * batch * m * n * k


def _addmm(input: object, mat1: torch.Tensor, mat2: torch.Tensor, **_: object) -> int:  # noqa: A002, ARG001
    return _mm(mat1, mat2)


def _linear(input: torch.Tensor, weight: torch.Tensor, bias: object = None) -> int:  # noqa: A002, ARG001
    return 2 * math.prod(input.shape[:-1]) * math.prod(weight.shape)


def _matmul(input: torch.Tensor, other: torch.Tensor, **_: object) -> int:  # noqa: A002 - PyTorch's name
    # A vector is a matrix of one row on the left, of one column on the right.
    left = input.shape if input.dim() > 1 else (1, *input.shape)
    right = other.shape if other.dim() > 1 else (*other.shape, 1)
    return 2 * _broadcast(left[:-2], right[:-2]) * left[-2] * left[-1] * right[-1]


def _broadcast(left: Sequence[int], right: Sequence[int]) -> int:
    # Not torch.broadcast_shapes: its first call imports symbolic mathematics, in the middle of a recording.
    pairs = itertools.zip_longest(reversed(left), reversed(right), fillvalue=1)
    return math.prod(b if a == 1 else a for a, b in pairs)


DEFAULT_FORMULAS: Mapping[str, FlopFormula] = {
    "mm": FlopFormula("torch:mm", _mm),
    "bmm": FlopFormula("torch:bmm", _bmm),
    "matmul": FlopFormula("torch:matmul", _matmul),
    "linear": FlopFormula("torch.nn.functional:linear", _linear),
    "addmm": FlopFormula("torch:addmm", _addmm),
}
"""Functions that are always counted, by the name that the range shows (torch_npu_profiler.md 1.6)."""


@contextlib.contextmanager
def flop_ranges(formulas: Mapping[str, FlopFormula]) -> Iterator[None]:
    """
    Put a range ``<floating point operations>-<name>`` of domain ``mfu_flops`` around every call of the functions.

    A call inside such a call gets no range. Names that modules imported before (``from ... import linear``) count too.
    A function that cannot be found is left out with a warning in the log.
    """
    inside = _Inside()
    # All of them before the first patch, so that two formulas for one function both find the original.
    places = [place for name, formula in formulas.items() for place in _places(name, formula, inside)]
    with contextlib.ExitStack() as patches:
        for owner, attribute, wrapper in places:
            patches.enter_context(patched(owner, attribute, wrapper))
        yield


class _Inside(threading.local):
    """Whether this thread is in a counted call."""

    def __init__(self) -> None:
        self.now = False


def _places(name: str, formula: FlopFormula, inside: _Inside) -> list[tuple[Any, str, Callable[..., Any]]]:
    """Return the owners of the counted function, its name there, and the wrapper that counts."""
    module_name, _, path = formula.path.partition(":")
    *parents, attribute = path.split(".")
    try:
        owner = functools.reduce(getattr, parents, importlib.import_module(module_name))
        original = getattr(owner, attribute)
    except (ImportError, AttributeError, ValueError):
        _LOG.warning("Cannot resolve FLOPs target: %s", formula.path)
        return []
    wrapper = _in_range(name, formula.count, original, inside)
    same = [module for module in modules_with(attribute, original) if module is not owner]
    return [(place, attribute, wrapper) for place in (owner, *same)]


def _in_range(
    name: str, count: Callable[..., Any], function: Callable[..., Any], inside: _Inside
) -> Callable[..., Any]:
    @functools.wraps(function)
    def counted(*args: object, **kwargs: object) -> Any:
        if inside.now:
            return function(*args, **kwargs)
        inside.now, range_id = True, 0
        try:
            operations = _counted(name, count, args, kwargs)
            if operations is not None:
                range_id = mstx.range_start(f"{operations}-{name}", domain=_DOMAIN)
            return function(*args, **kwargs)
        finally:
            mstx.range_end(range_id, domain=_DOMAIN)
            inside.now = False

    return counted


def _counted(name: str, count: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    try:
        operations = count(*args, **kwargs)
        return operations if operations is not None and operations >= 0 else None
    except Exception:  # noqa: BLE001 - a formula may be the user's, and a wrong call raises by itself
        _LOG.warning("Failed to calculate FLOPs for %s", name, exc_info=True)
        return None
