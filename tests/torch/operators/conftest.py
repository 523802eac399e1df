"""What the tests of the operators share: run one, compare it with a formula and with Meta, and look at its kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch._C._profiler import _ExperimentalConfig  # noqa: E402
from torch.autograd import (  # noqa: E402
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    _disable_profiler,
    _enable_profiler,
    _prepare_profiler,
)
from torch.utils._pytree import tree_leaves, tree_map_only  # noqa: E402

from drynpu.kernels import KernelSpec, TensorDesc, build_rule_book  # noqa: E402
from drynpu_torch.device import install  # noqa: E402
from drynpu_torch.operators import register  # noqa: E402
from drynpu_torch.rules import FALLBACKS, RULES, signature_from_kineto  # noqa: E402

TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Largest difference to a formula in FP64, relative to the largest value: a few units in the last place."""


@pytest.fixture(scope="session", autouse=True)
def _operators() -> None:
    install()
    register()


@pytest.fixture
def kernels() -> Callable[..., list[KernelSpec]]:
    """Run something under Kineto and return the kernels that it launches, as the rules state them."""
    return _kernels


@pytest.fixture
def check() -> Callable[..., list[KernelSpec]]:
    """Compare a call with the results that a formula gives, and with Meta, and return its kernels."""
    return _check


def _kernels(run: Callable[[], object]) -> list[KernelSpec]:
    config = ProfilerConfig(ProfilerState.KINETO, True, False, False, False, False, _ExperimentalConfig(), "kernels")
    activities = {ProfilerActivity.CPU}
    _prepare_profiler(config, activities, activity_filter={})
    _enable_profiler(config, activities)
    try:
        run()
    finally:
        events = _disable_profiler().events()
    plan = build_rule_book(RULES, fallbacks=FALLBACKS).plan
    calls = [e for e in events if e.name().startswith(("npu_kernels::", "npu::"))]
    return [
        kernel
        for e in calls
        for kernel in plan(
            signature_from_kineto(e.name(), e.structured_input_shapes(), e.dtypes(), e.concrete_inputs())
        ).kernels
    ]


def _check(
    name: str, args: Sequence[Any], expected: Sequence[Any] | Any, *, tolerance: float | None = None, **kwargs: Any
) -> list[KernelSpec]:
    """
    Run an operator and return its kernels.

    Parameters
    ----------
    expected:
        One result or several: tensors, compared in FP64; dtypes with shapes, for results that mean nothing; or values.
    """
    operator = getattr(torch.ops.npu, name)
    found: list[Any] = []
    launched = _kernels(lambda: found.append(operator(*args, **kwargs)))
    results = _tuple(found[0])
    wanted = _tuple(expected)
    assert len(results) == len(wanted)
    for position, (result, want) in enumerate(zip(results, wanted, strict=True)):
        _compare(f"{name}[{position}]", result, want, tolerance)
    on_meta = tree_map_only(torch.Tensor, lambda t: t.to("meta"), (list(args), kwargs))
    shown = tree_leaves(_tuple(operator(*on_meta[0], **on_meta[1])))
    for position, (result, meta) in enumerate(zip(tree_leaves(results), shown, strict=True)):
        if isinstance(result, torch.Tensor):
            assert (result.shape, result.dtype) == (meta.shape, meta.dtype), f"{name}[{position}] on meta"
    return launched


def _compare(place: str, result: Any, want: Any, tolerance: float | None) -> None:
    if isinstance(want, (list, tuple)) and want and isinstance(want[0], torch.Tensor):
        for part, other in zip(result, want, strict=True):
            _compare(place, part, other, tolerance)
    elif isinstance(want, torch.Tensor):
        assert result.shape == want.shape, f"{place}: {tuple(result.shape)} is not {tuple(want.shape)}"
        if not result.dtype.is_floating_point:
            assert torch.equal(result.double(), want.double()), place
            return
        finite = want[want.isfinite()].double()  # with an infinite one the limit would let everything pass
        scale = finite.abs().max().clamp(min=1e-6).item() if finite.numel() else 1.0
        limit = (TOLERANCE.get(result.dtype, 0.07) if tolerance is None else tolerance) * scale
        torch.testing.assert_close(result.double(), want.double(), rtol=0, atol=limit, equal_nan=True, msg=place)
    elif isinstance(want, tuple):
        assert (result.dtype, tuple(result.shape)) == want, place
    else:
        assert result == want, place


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def shapes(tensors: Sequence[TensorDesc]) -> list[tuple[int, ...]]:
    """Return the shapes of tensors of a kernel."""
    return [t.shape for t in tensors]
