"""The rule book: which kernels one call of an operator launches."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from types import MappingProxyType
from typing import TypeAlias

from attrs import evolve

from drynpu.kernels._types import Copy, KernelPlan, KernelSpec, Placement, Signature, TaskType, TensorDesc

Rule: TypeAlias = Callable[[Signature], "KernelPlan | None"]
"""Returns the plan of a signature, or ``None`` when it has no answer for it."""

_NOTHING = KernelPlan()


UNMAPPED_SUFFIX = "_Unmapped"
"""Ends the name of the generic kernel that stands for an operator without a rule."""


class RuleBook:
    """
    Maps operator signatures to kernel plans, each distinct signature once.

    Parameters
    ----------
    rules:
        Operator name as the framework spells it -> rule.
    fallbacks:
        Asked in order when no rule of that name answers.
    no_kernel:
        Names of operators that launch nothing (views) and whose children launch nothing either.
    """

    def __init__(
        self,
        rules: Mapping[str, Rule],
        *,
        fallbacks: Iterable[Rule] = (),
        no_kernel: Collection[str] = (),
    ) -> None:
        self._rules: Mapping[str, Rule] = MappingProxyType(dict(rules))
        self._fallbacks = tuple(fallbacks)
        self._no_kernel = frozenset(no_kernel)
        self._plans: dict[object, KernelPlan] = {}

    def plan(self, signature: Signature) -> KernelPlan:
        """
        Return what one call of *signature* does on the device.

        An operator on the host launches nothing, nor does one that is captured; a copy between host and device is a
        copy, whatever its name; what is a part of a graph does the same as without one, but no call launches it and the
        host does not wait for it;
        otherwise the rule of that name answers, then the fallbacks, then :func:`unmapped_plan`.
        """
        key = signature.key
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._work_out(signature)
        return plan

    def _work_out(self, signature: Signature) -> KernelPlan:
        if signature.placement in {Placement.HOST, Placement.CAPTURED}:
            return _NOTHING
        if signature.placement in {Placement.TO_DEVICE, Placement.TO_HOST}:
            return copy_plan(signature)
        if signature.placement is Placement.GRAPH:
            alone = self.plan(evolve(signature, placement=Placement.DEVICE))
            return evolve(alone, in_graph=True, synchronizes=False)
        if signature.name in self._no_kernel:
            return _NOTHING
        named = self._rules.get(signature.name)
        candidates: tuple[Rule, ...] = self._fallbacks if named is None else (named, *self._fallbacks)
        for rule in candidates:
            plan = rule(signature)
            if plan is not None:
                return plan
        return unmapped_plan(signature)


def build_rule_book(
    *rule_sets: Mapping[str, Rule], fallbacks: Iterable[Rule] = (), no_kernel: Collection[str] = ()
) -> RuleBook:
    """Join *rule_sets* into one book; where two have the same operator, the later one wins."""
    rules = {name: rule for rule_set in rule_sets for name, rule in rule_set.items()}
    return RuleBook(rules, fallbacks=fallbacks, no_kernel=no_kernel)


def join_rules(families: Iterable[Mapping[str, Rule]]) -> dict[str, Rule]:
    """
    Return the rules of several tables as one.

    Raises
    ------
    ValueError
        An operator has a rule in more than one of them.
    """
    rules: dict[str, Rule] = {}
    for family in families:
        twice = rules.keys() & family.keys()
        if twice:
            raise ValueError(f"more than one rule for {', '.join(sorted(twice))}")
        rules |= family
    return rules


def copy_plan(signature: Signature) -> KernelPlan:
    """
    Return the plan of a copy between host and device; one to the host waits for the stream.

    The bytes are counted at the source: the second tensor where the operator writes into its first
    (``aten::copy_``), else the first.
    """
    tensors = signature.tensors()
    in_place = len(tensors) > 1 and signature.name.endswith("_") and not signature.name.endswith("__")
    source = tensors[1 if in_place else 0] if tensors else None
    to_host = signature.placement is Placement.TO_HOST
    kernel = copy_kernel(source, Copy.DEVICE_TO_HOST if to_host else Copy.HOST_TO_DEVICE)
    return KernelPlan(api="aclrtMemcpyAsync", kernels=(kernel,), synchronizes=to_host)


def copy_kernel(source: TensorDesc | None, direction: Copy) -> KernelSpec:
    """Return the copy of *source*, of which nothing may be known, by the DMA engines."""
    tensors, size = ((source,), source.size_bytes) if source else ((), 0)
    return KernelSpec(
        name=TaskType.MEMCPY.value,
        op_type=TaskType.MEMCPY.value,
        task_type=TaskType.MEMCPY,
        inputs=tensors,
        outputs=tensors,
        bytes_read=size,
        bytes_written=size,
        copy=direction,
    )


def unmapped_plan(signature: Signature) -> KernelPlan:
    """
    Return the stand-in for an operator without a rule: one vector kernel over all its tensors.

    It reads every input and writes one output of their broadcast shape, in the type of the largest input; where
    the shapes do not broadcast nothing is said about the output. It claims no children: an operator without a
    rule that called others should be left to them.
    """
    inputs = signature.tensors()
    shape = broadcast_shape([t.shape for t in inputs]) if inputs else None
    largest = max(inputs, key=lambda t: t.elements, default=None)
    outputs = (TensorDesc(shape, largest.dtype),) if shape is not None and largest else ()
    name = _camel_case(signature.name)
    kernel = KernelSpec(
        name=f"aclnn{name}_{name}{UNMAPPED_SUFFIX}",
        op_type=name,
        task_type=TaskType.AI_VECTOR_CORE,
        inputs=inputs,
        outputs=outputs,
        vector_ops=max((t.elements for t in (*inputs, *outputs)), default=0),
        bytes_read=sum(t.size_bytes for t in inputs),
        bytes_written=sum(t.size_bytes for t in outputs),
        mapped=False,
    )
    return KernelPlan(api=f"aclnn{name}", kernels=(kernel,), claims=False, mapped=False)


def opaque_plan(signature: Signature) -> KernelPlan:
    """Return the stand-in for an operator without a rule that computes itself, whatever it calls while it does."""
    return evolve(unmapped_plan(signature), claims=True)


def _camel_case(name: str) -> str:
    """Return ``FooBar`` for ``aten::foo_bar``, ``_foo_bar_`` and ``my_ns::FooBar``."""
    words = re.findall(r"[^\W_]+", name.rpartition("::")[2])
    return "".join(word[0].upper() + word[1:] for word in words) or "Unnamed"


def broadcast_shape(shapes: Iterable[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Return the shape that *shapes* broadcast to (right-aligned, 1 stretches), ``None`` if they do not."""
    result: tuple[int, ...] = ()
    for shape in shapes:
        longest = max(len(result), len(shape))
        pairs = zip((1,) * (longest - len(result)) + result, (1,) * (longest - len(shape)) + shape, strict=True)
        joined: list[int] = []
        for a, b in pairs:
            if a != b and 1 not in (a, b):
                return None
            joined.append(b if a == 1 else a)
        result = tuple(joined)
    return result
