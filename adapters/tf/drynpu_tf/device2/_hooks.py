"""Hooks on TensorFlow while a device is the default one: functions, and the tracer that they are recorded by."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from drynpu_tf.device2._device_capture import DeviceCapture, lending_session
from drynpu_tf.inside import has

_ORIGINAL = "_drynpu_original"
_COMPILED = ("jit_compile", "experimental_compile")


def npu_compat_function(func: Callable[..., Any] | None = None, *args: object, **kwargs: object) -> Any:
    """Make a ``tf.function`` that is not compiled by XLA: the graph engine takes it as it is."""
    from drynpu_tf.inside import polymorphic_function

    make = getattr(polymorphic_function.function, _ORIGINAL, polymorphic_function.function)
    for name in _COMPILED:
        if kwargs.get(name):
            kwargs[name] = False
    return make(func, *args, **kwargs) if func is not None else make(*args, **kwargs)


# N26, docs/tricks.md
def install(recorder: DeviceCapture | None) -> None:
    """
    Put the hooks in place; hooks that are there already serve *recorder* from now on.

    Without one nothing is recorded, and functions run as they are.
    """
    if not has(("polymorphic_function",), "functions run as they are, also those that XLA compiles"):
        return
    import tensorflow as tf

    from drynpu_tf.inside import polymorphic_function

    # Once: what stands in its place carries the original, however often a device is opened.
    plain = polymorphic_function.function
    if not hasattr(plain, _ORIGINAL):
        replacement = functools.wraps(plain)(functools.partial(npu_compat_function))
        setattr(replacement, _ORIGINAL, plain)
        for module in (polymorphic_function, tf, tf.compat.v2):
            module.function = replacement
    if recorder is None:
        return
    # Operators as the script wrote them: one operator, one kernel (tf_adapters.md 6).
    tf.config.optimizer.set_experimental_options({"remapping": False})
    kind = polymorphic_function.Function
    original = getattr(kind.__call__, _ORIGINAL, kind.__call__)

    @functools.wraps(original)
    def __call__(self: Any, *values: object, **named: object) -> Any:  # noqa: N807 - the method of that name
        return recorder.call(original, self, *values, **named)

    setattr(__call__, _ORIGINAL, original)
    kind.__call__ = __call__
    from drynpu_tf.inside import pywrap_profiler

    session = pywrap_profiler.ProfilerSession
    pywrap_profiler.ProfilerSession = lending_session(getattr(session, "__wrapped__", session), recorder)
