"""``make_graphed_callables``: modules and functions whose forward and backward passes are graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from attrs import define, field
from torch.utils._pytree import TreeSpec, tree_flatten, tree_unflatten

from drynpu_torch.device.npu import Stream, StreamContext, is_autocast_enabled, synchronize
from drynpu_torch_graphs._graphs import NPUGraph, graph, graph_pool_handle

__all__ = ["make_graphed_callables"]


def make_graphed_callables(
    callables: Any,
    sample_args: Any,
    num_warmup_iters: int = 3,
    allow_unused_input: bool = False,
    pool: tuple[int, int] | None = None,
) -> Any:
    """
    Return *callables* (one, or a tuple) so that their passes are replayed graphs.

    Modules are returned themselves, with another ``forward``; functions are wrapped. *sample_args* are the tensors of
    one call, or a tuple of such tuples. Each callable runs *num_warmup_iters* times before it is captured.

    Raises
    ------
    RuntimeError
        Autocast caches, a module has hooks or trainable buffers, or a sample is no tensor.
    """
    if is_autocast_enabled() and torch.is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set `cache_enabled=False`."
        )
    several = isinstance(callables, tuple)
    functions, samples = (callables, sample_args) if several else ((callables,), (sample_args,))
    parts = [_Part.checked(function, args) for function, args in zip(functions, samples, strict=True)]
    synchronize()
    with StreamContext(Stream()):
        for part in parts:
            part.warm_up(num_warmup_iters, unused=allow_unused_input)
    synchronize()
    handle = graph_pool_handle() if pool is None else pool
    for part in parts:
        part.capture_forward(handle)
    for part in reversed(parts):
        part.capture_backward(handle, unused=allow_unused_input)
    results = tuple(part.callable() for part in parts)
    return results if several else results[0]


@define(eq=False)
class _Part:
    """One callable: its samples, flat, the tensors that it may have gradients of, and its two graphs."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    samples: tuple[torch.Tensor, ...]
    parameters: tuple[torch.nn.Parameter, ...]
    forward: NPUGraph = field(factory=NPUGraph)
    backward: NPUGraph = field(factory=NPUGraph)
    outputs: tuple[torch.Tensor, ...] = ()
    spec: TreeSpec | None = None
    grad_outputs: tuple[torch.Tensor | None, ...] = ()
    grad_inputs: tuple[torch.Tensor | None, ...] = ()

    @classmethod
    def checked(cls, function: Callable[..., Any], args: Any) -> _Part:
        """Return the part of one callable, whose samples and module have been checked."""
        parameters: tuple[torch.nn.Parameter, ...] = ()
        if isinstance(function, torch.nn.Module):
            _check_module(function)
            parameters = tuple(function.parameters())
        samples = tuple(tree_flatten(tuple(args))[0])
        if not all(isinstance(each, torch.Tensor) for each in samples):
            raise RuntimeError(
                "In the beta API, sample_args for each callable must contain only Tensors. Other types are not allowed."
            )
        return cls(function, tuple(args), samples, parameters)

    @property
    def surface(self) -> tuple[torch.Tensor, ...]:
        """All tensors that go in: the samples and the parameters."""
        return self.samples + self.parameters

    def warm_up(self, count: int, *, unused: bool) -> None:
        """Run forward and backward passes."""
        for _ in range(count):
            outputs = [each for each in tree_flatten(self.function(*self.args))[0] if each.requires_grad]
            self._gradients(outputs, [torch.zeros_like(each) for each in outputs], unused=unused)

    def capture_forward(self, pool: tuple[int, int]) -> None:
        """Capture the forward pass."""
        with graph(self.forward, pool=pool):
            outputs = self.function(*self.args)
        flat, self.spec = tree_flatten(outputs)
        self.outputs = tuple(flat)

    def capture_backward(self, pool: tuple[int, int], *, unused: bool) -> None:
        """Capture the backward pass, which takes its gradients from tensors that stay where they are."""
        self.grad_outputs = tuple(torch.zeros_like(each) if each.requires_grad else None for each in self.outputs)
        wanted = [each for each in self.outputs if each.requires_grad]
        gradients: Sequence[torch.Tensor | None] = ()
        if wanted:
            with graph(self.backward, pool=pool):
                gradients = self._gradients(
                    wanted, [each for each in self.grad_outputs if each is not None], unused=unused
                )
        left = iter(gradients)
        self.grad_inputs = tuple(next(left, None) if each.requires_grad else None for each in self.surface)

    def _gradients(
        self, outputs: Sequence[torch.Tensor], gradients: Sequence[torch.Tensor], *, unused: bool
    ) -> Sequence[torch.Tensor | None]:
        inputs = [each for each in self.surface if each.requires_grad]
        if not outputs:
            return ()
        return torch.autograd.grad(outputs, inputs, gradients, only_inputs=True, allow_unused=unused)

    def callable(self) -> Any:
        """Return the module with its ``forward`` replaced, or a function in the place of the function."""
        replayed = _replayed(self)
        module = self.function
        if not isinstance(module, torch.nn.Module):
            return replayed
        training, original = module.training, module.forward

        def forward(*args: object) -> Any:
            return replayed(*args) if module.training == training else original(*args)

        module.forward = forward
        return module


def _replayed(part: _Part) -> Callable[..., Any]:
    class Graphed(torch.autograd.Function):
        """One node of autograd: both of its passes are replays."""

        @staticmethod
        def forward(ctx: object, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """Copy the inputs to where the graph reads them, and replay."""
            del ctx
            for static, tensor in zip(part.samples, inputs, strict=False):
                if static.data_ptr() != tensor.data_ptr():
                    static.copy_(tensor)
            part.forward.replay()
            return tuple(each.detach() for each in part.outputs)

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx: object, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
            """Copy the gradients to where the graph reads them, and replay."""
            del ctx
            for static, gradient in zip(part.grad_outputs, gradients, strict=True):
                if static is not None and static.data_ptr() != gradient.data_ptr():
                    static.copy_(gradient)
            part.backward.replay()
            return tuple(None if each is None else each.detach() for each in part.grad_inputs)

    def functionalized(*args: object) -> Any:
        results = Graphed.apply(*tree_flatten(args)[0], *part.parameters)  # type: ignore[no-untyped-call]
        assert part.spec is not None
        return tree_unflatten(results, part.spec)

    return functionalized


def _check_module(module: torch.nn.Module) -> None:
    if module._backward_hooks or module._forward_hooks or module._forward_pre_hooks:
        raise RuntimeError(
            "Modules must not have hooks registered at the time they are passed. However, registering hooks on modules "
            "after passing them through make_graphed_callables is allowed."
        )
    if any(each.requires_grad for each in module.buffers()):
        raise RuntimeError(
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only parameters may be "
            "trainable. All buffers must have ``requires_grad=False``."
        )
