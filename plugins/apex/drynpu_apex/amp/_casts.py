"""Optimization level O1: the casts around functions of PyTorch and of the user."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

from drynpu_apex.amp._arguments import Convert, to_full, to_half
from drynpu_apex.amp._lists import FUNCTIONAL, TENSOR, TORCH
from drynpu_apex.amp._state import AMP
from drynpu_apex.amp._wrappers import (
    Handle,
    cast_recurrent,
    casting,
    matching,
    promoting,
    promoting_sequence,
    refusing_half,
    refusing_half_self,
)

_CASTS: Final[dict[tuple[int, str], tuple[Any, Convert]]] = {}
_PROMOTIONS: Final[dict[tuple[int, str], Any]] = {}


def half_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return *fn* computed in float16 while the casts of level O1 are on."""
    return _decorated(fn, lambda handle: casting(fn, to_half, handle, name=fn.__name__))


def float_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return *fn* computed in float32 while the casts of level O1 are on."""
    return _decorated(fn, lambda handle: casting(fn, to_full, handle, name=fn.__name__))


def promote_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return *fn* computed in the widest type of its arguments while the casts of level O1 are on."""
    return _decorated(fn, lambda handle: promoting(fn, handle, name=fn.__name__))


def register_half_function(module: object, name: str) -> None:
    """Let ``initialize`` at level O1 compute the function *name* of *module* in float16."""
    _CASTS[_registered(module, name)] = (module, to_half)


def register_float_function(module: object, name: str) -> None:
    """Let ``initialize`` at level O1 compute the function *name* of *module* in float32."""
    _CASTS[_registered(module, name)] = (module, to_full)


def register_promote_function(module: object, name: str) -> None:
    """Let ``initialize`` at level O1 compute the function *name* of *module* in the widest type of its arguments."""
    _PROMOTIONS[_registered(module, name)] = module


def init(
    enabled: bool = True,
    loss_scale: float | str = "dynamic",
    enable_caching: bool = True,
    verbose: bool = False,
    allow_banned: bool = False,
    user_cast_preferred: bool | None = None,
) -> Handle:
    """
    Put the casts of level O1 in place and return their handle.

    Parameters
    ----------
    enabled:
        False changes nothing, and the handle is not active.
    loss_scale:
        Not read; ``initialize`` makes the loss scalers.
    enable_caching:
        Whether weights are converted once for each backward pass.
    verbose:
        Whether each conversion is printed.
    allow_banned:
        Whether functions that refuse float16 compute in float32 instead.
    user_cast_preferred:
        Whether functions that the user registered are left out of the vendor's lists.
    """
    del loss_scale
    if not enabled:
        return Handle(is_active=False)
    handle = Handle(verbose=verbose, has_cache=enable_caching)
    registered = _cast_registered(handle)
    for lists in (FUNCTIONAL, TORCH, TENSOR):
        for names, convert in ((lists.half, to_half), (lists.full, to_full)):
            for name in names:
                if not (user_cast_preferred and (id(lists.module), name) in registered):
                    _cast(handle, lists.module, name, convert)
    for lists in (TORCH, TENSOR):
        for name in lists.promoted:
            handle.replace(lists.module, name, functools.partial(promoting, handle=handle, name=name))
        for name in lists.sequences:
            handle.replace(lists.module, name, functools.partial(promoting_sequence, handle=handle, name=name))
    _guard_in_place(handle)
    cast_recurrent(handle)
    for name, message in FUNCTIONAL.banned:
        if allow_banned:
            _cast(handle, FUNCTIONAL.module, name, to_full)
        else:
            handle.replace(FUNCTIONAL.module, name, functools.partial(refusing_half, message=message))
    AMP.handle = handle
    return handle


def _decorated(function: Callable[..., Any], wrap: Callable[[Handle], Callable[..., Any]]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*arguments: object, **keywords: object) -> Any:
        handle = getattr(AMP, "handle", None)
        if handle is None or not handle.is_active():
            return function(*arguments, **keywords)
        return wrap(handle)(*arguments, **keywords)

    return call


def _registered(module: object, name: str) -> tuple[int, str]:
    if not hasattr(module, name):
        raise ValueError(f"No function named {name} in module {module}.")
    return id(module), name


def _cast_registered(handle: Handle) -> set[tuple[int, str]]:
    """Replace what the user registered, once, and return which functions these are."""
    casts = set(_CASTS)
    for (_, name), (module, convert) in _CASTS.items():
        _cast(handle, module, name, convert)
    for (_, name), module in _PROMOTIONS.items():
        handle.replace(module, name, functools.partial(promoting, handle=handle, name=name))
    _CASTS.clear()
    _PROMOTIONS.clear()
    return casts


def _cast(handle: Handle, module: object, name: str, convert: Convert) -> None:
    handle.replace(module, name, functools.partial(casting, convert=convert, handle=handle, name=name))


def _guard_in_place(handle: Handle) -> None:
    """An in-place operation cannot change its tensor's type: refuse what float32 needs, match the rest."""
    for name in TORCH.full:
        message = f"Cannot call in-place function {name}_ with fp16 arguments."
        handle.replace(TORCH.module, f"{name}_", functools.partial(refusing_half, message=message))
    for name in TENSOR.full:
        handle.replace(TENSOR.module, f"{name}_", functools.partial(refusing_half_self, name=f"{name}_"))
    for name in (*TENSOR.half, *TENSOR.promoted):
        handle.replace(TENSOR.module, f"{name}_", functools.partial(matching, handle=handle, name=f"{name}_"))
