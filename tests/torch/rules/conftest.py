"""What the tests of the rules share: record real calls under Kineto and lower them by the contract of plans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
import torch
from attrs import field, frozen
from torch._C._profiler import _ExperimentalConfig
from torch.autograd import (
    ProfilerActivity,
    ProfilerConfig,
    ProfilerState,
    _disable_profiler,
    _enable_profiler,
    _prepare_profiler,
)

from drynpu.kernels import KernelPlan, KernelSpec, Signature, build_rule_book
from drynpu_torch.rules import FALLBACKS, RULES, signature_from_kineto


@frozen
class Call:
    """One event with the events inside it."""

    name: str
    signature: Signature
    children: list[Call] = field(factory=list)


@frozen
class Launch:
    """A kernel and the operator that launched it."""

    operator: str
    kernel: KernelSpec


@frozen
class Recording:
    """Calls of one run and what they launch."""

    roots: list[Call]
    launches: list[Launch]
    unmapped: list[str]

    def of(self, operator: str) -> list[KernelSpec]:
        """Kernels launched by the operator of that name."""
        return [launch.kernel for launch in self.launches if launch.operator == operator]

    @property
    def types(self) -> Counter[str]:
        """Number of kernels by type."""
        return Counter(launch.kernel.op_type for launch in self.launches)

    @property
    def cube_flops(self) -> int:
        """Operations of the matrix unit."""
        return sum(launch.kernel.cube_flops for launch in self.launches)

    def called(self) -> set[str]:
        """Names of all events."""
        return {call.name for call in _walk(self.roots)}


def _walk(calls: list[Call]) -> Iterator[Call]:
    for call in calls:
        yield call
        yield from _walk(call.children)


def _record(run: Callable[[], object]) -> list[Call]:
    config = ProfilerConfig(ProfilerState.KINETO, True, False, False, False, False, _ExperimentalConfig(), "rules")
    activities = {ProfilerActivity.CPU}
    _prepare_profiler(config, activities, activity_filter={})
    _enable_profiler(config, activities)
    try:
        run()
    finally:
        events = _disable_profiler().events()
    return _nest(sorted(events, key=lambda e: (e.start_thread_id(), e.start_ns(), -e.end_ns())))


def _nest(events: list[object]) -> list[Call]:
    roots: list[Call] = []
    open_calls: list[tuple[int, int, Call]] = []
    for event in events:
        signature = signature_from_kineto(
            event.name(), event.structured_input_shapes(), event.dtypes(), event.concrete_inputs()
        )
        call, thread = Call(event.name(), signature), event.start_thread_id()
        while open_calls and (open_calls[-1][0] != thread or open_calls[-1][1] <= event.start_ns()):
            open_calls.pop()
        (open_calls[-1][2].children if open_calls else roots).append(call)
        open_calls.append((thread, event.end_ns(), call))
    return roots


def _lower(call: Call, plan_of: Callable[[Signature], KernelPlan], into: Recording) -> None:
    plan = plan_of(call.signature)
    if plan.mapped or plan.claims or not call.children or _computes_itself(call, plan_of):
        into.launches.extend(Launch(call.name, kernel) for kernel in plan.kernels)
        if not plan.mapped:
            into.unmapped.append(call.name)
        if plan.claims:
            return
    for child in call.children:
        _lower(child, plan_of, into)


def _computes_itself(call: Call, plan_of: Callable[[Signature], KernelPlan]) -> bool:
    """Whether a call without a rule made a tensor and called nothing that fills it."""
    below = [plan_of(inner.signature) for inner in _walk(call.children)]
    return any(plan.allocates for plan in below) and not any(plan.kernels and plan.mapped for plan in below)


@pytest.fixture
def record() -> Callable[[Callable[[], object]], Recording]:
    """Run something under Kineto and return what it launches."""

    def run_recorded(run: Callable[[], object]) -> Recording:
        torch.manual_seed(0)
        book = build_rule_book(RULES, fallbacks=FALLBACKS)
        result = Recording(_record(run), [], [])
        for root in result.roots:
            _lower(root, book.plan, result)
        return result

    return run_recorded
