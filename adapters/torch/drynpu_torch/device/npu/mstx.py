"""
``torch_npu.npu.mstx``: marks and ranges of the script (torch_npu_profiler.md 1.10).

They are recorded while a profiler runs whose configuration asks for them (``mstx`` or ``msprof_tx``); at any other
time a call checks its arguments and returns.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from typing_extensions import Self

from drynpu.layouts.marks import DEFAULT_DOMAIN
from drynpu_torch.device._streams import Stream
from drynpu_torch.device.npu import _marking

F = TypeVar("F", bound=Callable[..., Any])


class annotate:  # noqa: N801 - the vendor's name
    """
    A range around a block (``with``) or around every call of a function (decorator).

    An empty message stands for the name of the function that is decorated.
    """

    def __init__(self, message: str = "", stream: Any = None, domain: str = DEFAULT_DOMAIN) -> None:
        self.message = message
        self.stream = stream
        self.domain = domain
        self._ids: list[int] = []

    def __enter__(self) -> Self:
        """Begin the range."""
        self._ids.append(mstx.range_start(self.message, self.stream, self.domain))
        return self

    def __exit__(self, *error: object) -> None:
        """End the range."""
        mstx.range_end(self._ids.pop(), self.domain)

    def __call__(self, function: F) -> F:
        """Return *function* with a range around every call."""
        message = self.message or function.__name__
        return mstx.mstx_range(message, self.stream, self.domain)(function)


class mstx:  # noqa: N801 - the vendor's name
    """
    The calls as static methods, so that ``mstx.mark("x")`` and the older ``mstx().mark("x")`` both work.

    With *stream*, a stream of the device, the mark is also seen on the device, behind the work issued before it.
    *domain* groups marks; a configuration can leave domains out. A bad argument is warned about and nothing happens.
    """

    annotate = annotate

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = DEFAULT_DOMAIN) -> None:
        """Mark an instant."""
        if not _valid("mark", message=message, domain=domain, stream=stream):
            return
        if stream:
            _marking._mark(message, *_numbers(stream), domain)
        else:
            _marking._mark_on_host(message, domain)

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = DEFAULT_DOMAIN) -> int:
        """Begin a range that any thread may end; return its id, 0 where it is not recorded."""
        if not _valid("range_start", message=message, domain=domain, stream=stream):
            return 0
        if stream:
            return _marking._range_start(message, *_numbers(stream), domain)
        return _marking._range_start_on_host(message, domain)

    @staticmethod
    def range_end(range_id: int, domain: str = DEFAULT_DOMAIN) -> None:
        """End the range of that id; 0 and ids that are not open are ignored."""
        if _valid("range_end", range_id=range_id, domain=domain):
            _marking._range_end(range_id, domain)

    @staticmethod
    def range_push(message: str, stream: Any = None, domain: str = DEFAULT_DOMAIN) -> int:
        """Begin a range inside the ranges of this thread and domain; return their number before, -1 if not recorded."""
        if not _valid("range_push", message=message, domain=domain, stream=stream):
            return -1
        if stream:
            return _marking._range_push(message, *_numbers(stream), domain)
        return _marking._range_push_on_host(message, domain)

    @staticmethod
    def range_pop(domain: str = DEFAULT_DOMAIN) -> int:
        """End the innermost range of this thread and domain; return how many are left, -1 if there is none."""
        return _marking._range_pop(domain) if _valid("range_pop", domain=domain) else -1

    @staticmethod
    def mstx_range(message: str, stream: object = None, domain: str = DEFAULT_DOMAIN) -> Callable[[F], F]:
        """Return a decorator that puts a range around every call of a function."""

        def decorate(function: F) -> F:
            @functools.wraps(function)
            def inner(*args: object, **kwargs: object) -> Any:
                range_id = mstx.range_start(message, stream, domain)
                try:
                    return function(*args, **kwargs)
                finally:
                    mstx.range_end(range_id, domain)

            return inner  # type: ignore[return-value]

        return decorate


_CHECKS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "message": (lambda value: bool(value) and isinstance(value, str), "message string"),
    "domain": (lambda value: bool(value) and isinstance(value, str), "domain string"),
    "stream": (lambda value: not value or isinstance(value, Stream), "stream"),
    "range_id": (lambda value: isinstance(value, int), "range id, which mstx.range_start returns"),
}
"""For each argument the test that the vendor makes, and what the warning asks for."""


def _valid(call: str, **arguments: object) -> bool:
    """Whether all arguments are good; a bad one is warned about."""
    for name, value in arguments.items():
        is_valid, noun = _CHECKS[name]
        if not is_valid(value):
            message = f"Invalid {name} for mstx.{call} function. Please provide a valid {noun}."
            warnings.warn(message, stacklevel=3)  # the script's line: past this function and the call
            return False
    return True


def _numbers(stream: Stream) -> tuple[int, int, int]:
    return stream.stream_id, stream.device_index, stream.device_type
