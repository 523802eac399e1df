"""Functions and methods of PyTorch, replaced by ones that convert their arguments first."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import torch
from attrs import define, field

from drynpu_apex.amp._arguments import (
    Convert,
    Weights,
    converted,
    converted_all,
    floating_types,
    spoken,
    to_full,
    to_half,
)

_MIXED = {torch.float16, torch.float32}
_RECURRENT = ("rnn_relu", "rnn_tanh", "gru", "lstm")


@define(eq=False)
class Handle:
    """The casts of optimization level O1: what is replaced, and whether the casts are on."""

    verbose: bool = False
    has_cache: bool = True
    _is_active: bool = True
    _replaced: list[tuple[Any, str, Any]] = field(factory=list)
    weights: Weights = field(factory=Weights)

    def is_active(self) -> bool:
        """Return whether the casts are on."""
        return self._is_active

    @contextmanager
    def _disable_casts(self) -> Iterator[None]:
        before, self._is_active = self._is_active, False
        try:
            yield
        finally:
            self._is_active = before

    def _clear_cache(self) -> None:
        self.weights.kept.clear()

    def _deactivate(self) -> None:
        """Put back what was replaced."""
        for place, name, function in reversed(self._replaced):
            _put(place, name, function)
        self._replaced.clear()

    def replace(self, place: object, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put ``wrap(function)`` in the place of the function *name* of *place*, if it is there."""
        function = place.get(name) if isinstance(place, dict) else getattr(place, name, None)
        if function is None:
            return
        self.put(place, name, functools.wraps(function)(wrap(function)))

    def put(self, place: object, name: str, value: object) -> None:
        """Put *value* under *name* into a module, class or dictionary that has the name."""
        self._replaced.append((place, name, place[name] if isinstance(place, dict) else getattr(place, name)))
        _put(place, name, value)


def _put(place: object, name: str, function: object) -> None:
    if isinstance(place, dict):
        place[name] = function
    else:
        setattr(place, name, function)


def casting(function: Callable[..., Any], convert: Convert, handle: Handle, *, name: str = "") -> Callable[..., Any]:
    """Return *function* with its arguments converted; weights that become half are kept until the backward pass."""
    keeps = convert is to_half and handle.has_cache
    convert = spoken(convert, name) if handle.verbose else convert
    weights = handle.weights

    def call(*arguments: object, **keywords: object) -> Any:
        if not handle.is_active():
            return function(*arguments, **keywords)
        if keeps:
            arguments = tuple(weights.convert(convert, value) for value in arguments)
            keywords = {key: weights.convert(convert, value) for key, value in keywords.items()}
        places, named = converted_all(convert, arguments, keywords)
        return function(*places, **named)

    return call


def promoting(function: Callable[..., Any], handle: Handle, *, name: str = "") -> Callable[..., Any]:
    """Return *function* with float16 beside float32 converted to float32."""
    convert = spoken(to_full, name) if handle.verbose else to_full

    def call(*arguments: object, **keywords: object) -> Any:
        if not handle.is_active():
            return function(*arguments, **keywords)
        types = floating_types((*arguments, *keywords.values()))
        if len(types) <= 1:
            return function(*arguments, **keywords)
        if types != _MIXED:
            raise NotImplementedError(f"Do not know how to handle these types to promote: {types}")
        places, named = converted_all(convert, arguments, keywords)
        return function(*places, **named)

    return call


def promoting_sequence(function: Callable[..., Any], handle: Handle, *, name: str = "") -> Callable[..., Any]:
    """Return *function* with the tensors of its first argument converted to float32 where they differ."""
    convert = spoken(to_full, name) if handle.verbose else to_full

    def call(tensors: Any, *arguments: Any, **keywords: Any) -> Any:
        if handle.is_active() and {tensor.dtype for tensor in tensors} == _MIXED:
            tensors = [converted(convert, tensor) for tensor in tensors]
        return function(tensors, *arguments, **keywords)

    return call


def matching(function: Callable[..., Any], handle: Handle, *, name: str = "") -> Callable[..., Any]:
    """Return an in-place method with its arguments converted to the type of the tensor that it changes."""
    kinds = {torch.float16: to_half, torch.float32: to_full}

    def call(tensor: torch.Tensor, *arguments: object, **keywords: object) -> Any:
        kind = kinds.get(tensor.dtype)
        if kind is None or not handle.is_active():
            return function(tensor, *arguments, **keywords)
        convert = spoken(kind, name) if handle.verbose else kind
        places, named = converted_all(convert, arguments, keywords)
        return function(tensor, *places, **named)

    return call


def refusing_half(function: Callable[..., Any], message: str) -> Callable[..., Any]:
    """Return *function*, which raises a ``NotImplementedError`` with *message* if an argument is float16."""

    def call(*arguments: object, **keywords: object) -> Any:
        if torch.float16 in floating_types((*arguments, *keywords.values())):
            raise NotImplementedError(message)
        return function(*arguments, **keywords)

    return call


def refusing_half_self(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return an in-place method that float16 tensors do not have; other arguments become float32."""

    def call(tensor: torch.Tensor, *arguments: object, **keywords: object) -> Any:
        if tensor.dtype == torch.float16:
            raise NotImplementedError(f"Cannot call in-place method {name} on fp16 Tensors.")
        places, named = converted_all(to_full, arguments, keywords)
        return function(tensor, *places, **named)

    return call


def cast_recurrent(handle: Handle) -> None:
    """Let recurrent layers and cells compute in float16, weights and states included."""
    layers: Any = torch.nn.modules.rnn
    names = [*_RECURRENT, *(f"{name}_cell" for name in _RECURRENT)]
    shim = SimpleNamespace(**{name: getattr(layers._VF, name) for name in names})
    handle.put(layers, "_VF", shim)
    for name in _RECURRENT:
        in_table = name.upper() in layers._rnn_impls
        place, key = (layers._rnn_impls, name.upper()) if in_table else (shim, name)
        handle.replace(place, key, functools.partial(_casting_layer, handle=handle, name=name))
        cell = f"{name}_cell"
        handle.replace(shim, cell, functools.partial(casting, convert=to_half, handle=handle, name=cell))


def _casting_layer(function: Callable[..., Any], handle: Handle, name: str) -> Callable[..., Any]:
    """Return the kernel of a layer in float16; its weights are not kept, as there are many to a layer."""
    convert = spoken(to_half, name) if handle.verbose else to_half

    def call(*arguments: object) -> Any:
        if not handle.is_active():
            return function(*arguments)
        return function(*(converted(convert, value) for value in arguments))

    return call
