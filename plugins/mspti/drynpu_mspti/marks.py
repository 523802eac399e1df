"""The functions of ``mstx``: marks that any framework's recording keeps."""

from __future__ import annotations

import sys
from typing import Protocol

_DOMAIN = "default"


def mark(message: str, stream: object = None, domain: str = _DOMAIN) -> None:
    """Mark an instant; with *stream*, an object of the framework or the number of its stream, on the device, too."""
    marks = _marks()
    if marks is not None:
        marks.mark(message, _stream(stream), domain)


def range_start(message: str, stream: object = None, domain: str = _DOMAIN) -> int:
    """Begin a range; return its id, 0 where no profiler records marks."""
    marks = _marks()
    return 0 if marks is None else int(marks.range_start(message, _stream(stream), domain) or 0)


def range_end(rangeId: int, domain: str = _DOMAIN) -> None:  # noqa: N803 - the vendor's name
    """End a range."""
    marks = _marks()
    if marks is not None:
        marks.range_end(rangeId, domain)


def get_tool_id() -> int:
    """Return 0: no tool of the vendor's listens."""
    return 0


class _Marks(Protocol):
    """The marks of a framework."""

    def mark(self, message: str, stream: object, domain: str, /) -> None: ...

    def range_start(self, message: str, stream: object, domain: str, /) -> int | None: ...

    def range_end(self, range_id: int, domain: str, /) -> None: ...


def _marks() -> _Marks | None:
    """Return the marks of the framework that the script uses, None for neither PyTorch nor MindSpore."""
    torch_npu, profiler = sys.modules.get("torch_npu"), sys.modules.get("mindspore.profiler")
    marks: _Marks | None = getattr(profiler, "mstx", None) if torch_npu is None else torch_npu.npu.mstx
    return marks


def _stream(stream: object) -> object:
    """Return the stream of PyTorch that a number stands for; other objects as they are, 0 as no stream."""
    torch_npu = sys.modules.get("torch_npu")
    if not isinstance(stream, int) or torch_npu is None:
        return stream or None
    streams = (torch_npu.npu.current_stream(), torch_npu.npu.default_stream())
    return next((each for each in streams if each.npu_stream == stream), None)
