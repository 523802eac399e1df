"""What the tests of the operators share: run one, compare it with a formula and with Meta, and look at its kernels."""

from __future__ import annotations

from collections import Counter
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
from drynpu_torch.deferred_operators import register_operators  # noqa: E402
from drynpu_torch.install import install  # noqa: E402
from drynpu_torch.rules import FALLBACKS, RULES, signature_from_kineto  # noqa: E402
from drynpu_torch_operators.operators import _registry, _table  # noqa: E402

COMPARED: Counter[str] = Counter()
"""How often each overload was compared."""
IN_GRADCHECK: set[str] = set()
"""Overloads that ran inside of a check of gradients by differences."""
BY_VALUES = frozenset({"npu_paged_cache_load"})
"""Overloads of which values say how long the results are."""
_depth = [0]


def _outline(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")


def _facts(results: Any) -> list[Any]:
    """Return shape and type of the tensors, and the types of what else is returned."""
    leaves = tree_leaves(list(results) if isinstance(results, (tuple, list)) else [results])
    return [(tuple(x.shape), x.dtype) if isinstance(x, torch.Tensor) else type(x) for x in leaves]


def _compared(name: str, kernel: Callable[..., Any], on_meta: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        outlined = tree_map_only(torch.Tensor, _outline, (args, kwargs))  # first, for the call may change its arguments
        results = kernel(*args, **kwargs)
        if name not in BY_VALUES:
            assert _facts(on_meta(*outlined[0], **outlined[1])) == _facts(results), f"{name} on meta"
        COMPARED[name] += 1
        if _depth[0]:
            IN_GRADCHECK.add(name)
        return results

    return run


def compare_all() -> None:
    """Let every operator that is registered from now on be compared with its Meta kernel, at each call of a test."""
    register, cpu_kernel = _table.register_operator, _registry._cpu_kernel

    def register_compared(library: torch.library.Library, schema: str, operator: Any) -> None:
        name = schema.partition("(")[0]

        def compared(operator: Any, bind: Any) -> Callable[..., Any]:
            return _compared(name, cpu_kernel(operator, bind), _registry._meta_kernel(operator, bind))

        _registry._cpu_kernel = compared
        try:
            register(library, schema, operator)
        finally:
            _registry._cpu_kernel = cpu_kernel

    _table.register_operator = register_compared
    check = torch.autograd.gradcheck

    def gradcheck(*args: Any, **kwargs: Any) -> bool:
        _depth[0] += 1
        try:
            return check(*args, **kwargs)
        finally:
            _depth[0] -= 1

    torch.autograd.gradcheck = gradcheck


compare_all()

TOLERANCE = {torch.float64: 1e-5, torch.float32: 1e-5, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}
"""Largest difference to a formula in FP64, relative to the largest value: a few units in the last place."""


@pytest.fixture(scope="session", autouse=True)
def _operators() -> None:
    install()
    register_operators()


@pytest.fixture
def compared() -> tuple[set[str], set[str]]:
    """Return the overloads that tests have called so far, and those that ran in a check of gradients."""
    return set(COMPARED), IN_GRADCHECK


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
