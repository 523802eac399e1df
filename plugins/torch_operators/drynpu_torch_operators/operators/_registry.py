"""Registration of operators with PyTorch's dispatcher: schema, CPU kernel, Meta kernel, gradient."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.autograd.function import once_differentiable

from drynpu.kernels import table_rows
from drynpu_torch.device import state
from drynpu_torch_operators.operators import errors
from drynpu_torch_operators.operators._call import Call
from drynpu_torch_operators.operators._operator import Compute, NpuOperator
from drynpu_torch_operators.operators._recording import is_recording, recorded, unrecorded

NAMESPACE: Final = "npu"


def schemas_by_name(text: str) -> dict[str, str]:
    """Return the schemas of a table by name with overload (``npu_apply_adam_w.out``); indented lines go on a row."""
    rows = (" ".join(row.split()) for row in table_rows(text))
    return {row.partition("(")[0]: row for row in rows}


def register_operator(library: torch.library.Library, schema: str, operator: NpuOperator) -> None:
    """Define an operator of the library's namespace and give it its kernels."""
    library.define(schema)  # type: ignore[no-untyped-call]
    name = schema.partition("(")[0]
    overload = overload_of(name)
    arguments = overload._schema.arguments
    bind = _refusing(_binder(arguments), name, operator.left_out)
    for key, kernel in (
        ("CPU", _cpu_kernel(operator, bind)),
        ("Meta", _meta_kernel(operator, bind)),
        *((("Autograd", _autograd_kernel(overload, operator, bind)),) if operator.gradient else ()),
    ):
        library.impl(name, kernel, key)  # type: ignore[no-untyped-call]


def overload_of(name: str) -> torch._ops.OpOverload:
    """Return the operator of ``npu`` by its name with overload."""
    base, _, overload = name.partition(".")
    return getattr(getattr(getattr(torch.ops, NAMESPACE), base), overload or "default")  # type: ignore[no-any-return]


_Bind = Callable[[tuple[Any, ...], Mapping[str, Any]], dict[str, Any]]


def _binder(arguments: list[torch._C.Argument]) -> _Bind:
    names = [argument.name for argument in arguments]
    defaults = {argument.name: argument.default_value for argument in arguments}

    def bind(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return all arguments by name; the dispatcher leaves out those that equal their defaults."""
        return {**defaults, **dict(zip(names, args, strict=False)), **kwargs}

    return bind


def _refusing(bind: _Bind, name: str, left_out: Sequence[str]) -> _Bind:
    """Return *bind* with an error for calls that give one of the arguments whose effect is not computed."""
    if not left_out:
        return bind
    defaults = {argument.name: argument.default_value for argument in overload_of(name)._schema.arguments}

    def bind_or_refuse(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        values = bind(args, kwargs)
        for argument in left_out:
            value = values[argument]
            if isinstance(value, (torch.Tensor, list)) or value != defaults[argument]:
                text = f"npu::{name}: drynpu does not compute the argument {argument}; leave it out"
                raise RuntimeError(errors.tagged(text, errors.NOT_SUPPORTED))
        return values

    return bind_or_refuse


def _chosen(compute: Compute) -> Callable[[Mapping[str, Any]], Any]:
    """
    Return *compute* as a function of all arguments of the schema.

    Its parameter ``call`` is all of them, ``input_`` the argument ``input``.
    """
    parameters: dict[str, str] = {}

    def run(arguments: Mapping[str, Any]) -> Any:
        # Not when the operator is registered: every `import torch_npu` would wait for 400 signatures.
        if not parameters:
            parameters.update({name: name.removesuffix("_") for name in inspect.signature(compute).parameters})
        if parameters.keys() == {"call"}:
            return compute(Call(arguments))
        return compute(**{parameter: arguments[name] for parameter, name in parameters.items()})

    return run


def _cpu_kernel(operator: NpuOperator, bind: _Bind) -> Callable[..., Any]:
    compute = _chosen(operator.compute)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        arguments = bind(args, kwargs)
        # Without a gradient of its own an operator of torch_npu has none, whatever its CPU implementation calls.
        with torch._C._AutoDispatchBelowAutograd():
            return _launching(operator, compute, arguments) if is_recording() else compute(arguments)

    return kernel


def _launching(operator: NpuOperator, compute: Callable[[Mapping[str, Any]], Any], arguments: Mapping[str, Any]) -> Any:
    """Return the results, after telling the recording of the kernels instead of what computes them here."""
    with unrecorded():
        results = compute(arguments)
        launches = list(operator.kernels(Call(arguments, _as_tuple(results))))
    with recorded():
        for launch in launches:
            launch.emit()
    return results


def _meta_kernel(operator: NpuOperator, bind: _Bind) -> Callable[..., Any]:
    compute = _chosen(operator.shapes or operator.compute)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        arguments = bind(args, kwargs)
        with torch._C._AutoDispatchBelowAutograd():
            # PyTorch's own tensors without values launch nothing; the npu's tensors may have none either. A kernel of
            # an operator that torch.compile traces would fix its sizes.
            launches = is_recording() and not state().computes and not _is_traced(arguments)
            return _launching(operator, compute, arguments) if launches else compute(arguments)

    return kernel


def _is_traced(arguments: Mapping[str, object]) -> bool:
    return any(isinstance(tensor, FakeTensor) for tensor in Call(arguments).inputs)


def _autograd_kernel(overload: torch._ops.OpOverload, operator: NpuOperator, bind: _Bind) -> Callable[..., Any]:
    arguments = overload._schema.arguments
    names = [argument.name for argument in arguments]
    positional = sum(not argument.kwarg_only for argument in arguments)
    gradient = operator.gradient
    assert gradient is not None

    def below(values: tuple[Any, ...]) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return overload(*values[:positional], **dict(zip(names[positional:], values[positional:], strict=True)))

    def forward(ctx: Any, *values: Any) -> Any:
        results = below(values)
        outputs = _as_tuple(results)
        plain = [None if isinstance(value, torch.Tensor) else value for value in values]
        kept = [outputs[key] if isinstance(key, int) else values[names.index(key)] for key in gradient.keeps]
        ctx.save_for_backward(*kept)
        ctx.plain = dict(zip(names, plain, strict=True))
        ctx.plain_outputs = tuple(None if isinstance(value, torch.Tensor) else value for value in outputs)
        others = [t for i, t in enumerate(outputs) if isinstance(t, torch.Tensor) and i not in gradient.outputs]
        ctx.mark_non_differentiable(*others)
        return results

    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        kept = dict(zip(gradient.keeps, ctx.saved_tensors, strict=True))
        inputs = {key: tensor for key, tensor in kept.items() if isinstance(key, str)}
        needed = frozenset(name for name, need in zip(names, ctx.needs_input_grad, strict=True) if need)
        results = tuple(kept.get(position, value) for position, value in enumerate(ctx.plain_outputs))
        gradients = gradient.compute(Call({**ctx.plain, **inputs}, results, needed), *grads)
        return tuple(gradients.get(name) if name in needed else None for name in names)

    base = overload._schema.name.partition("::")[2]
    title = "".join(word.capitalize() for word in base.split("_"))
    members = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    function: Any = type(title, (torch.autograd.Function,), members)

    def kernel(*args: Any, **kwargs: Any) -> Any:
        values = tuple(bind(args, kwargs).values())
        # A differentiable operator is one call on the device; here it dispatches itself again.
        with unrecorded() if is_recording() else contextlib.nullcontext():
            if torch.is_grad_enabled() and any(isinstance(v, torch.Tensor) and v.requires_grad for v in values):
                return function.apply(*values)
            return below(values)

    return kernel


def _as_tuple(results: Any) -> tuple[Any, ...]:
    return tuple(results) if isinstance(results, (tuple, list)) else (results,)
