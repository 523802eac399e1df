"""
``torch_npu._C._mstx``: marks and ranges whose arguments have been checked, with streams as their numbers.

``torch.npu.mstx`` calls these functions by their names here, as the vendor does, so that a program that puts
others in their places sees every call.
"""

from __future__ import annotations

import torch

from drynpu_torch.device._state import state

_NOT_STARTED, _NOT_PUSHED = 0, -1
"""What is returned where no recording keeps marks."""


def _stream(stream_id: int, device_index: int, device_type: int) -> torch.Stream:
    return torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type)


def _mark(message: str, stream_id: int, device_index: int, device_type: int, domain: str) -> None:
    marks = state().script_marks
    if marks is not None:
        marks.mark(message, _stream(stream_id, device_index, device_type), domain)


def _mark_on_host(message: str, domain: str) -> None:
    marks = state().script_marks
    if marks is not None:
        marks.mark(message, None, domain)


def _range_start(message: str, stream_id: int, device_index: int, device_type: int, domain: str) -> int:
    marks = state().script_marks
    stream = _stream(stream_id, device_index, device_type)
    return _NOT_STARTED if marks is None else marks.start(message, stream, domain)


def _range_start_on_host(message: str, domain: str) -> int:
    marks = state().script_marks
    return _NOT_STARTED if marks is None else marks.start(message, None, domain)


def _range_end(range_id: int, domain: str) -> None:
    marks = state().script_marks
    if marks is not None:
        marks.end(range_id, domain)


def _range_push(message: str, stream_id: int, device_index: int, device_type: int, domain: str) -> int:
    marks = state().script_marks
    stream = _stream(stream_id, device_index, device_type)
    return _NOT_PUSHED if marks is None else marks.push(message, stream, domain)


def _range_push_on_host(message: str, domain: str) -> int:
    marks = state().script_marks
    return _NOT_PUSHED if marks is None else marks.push(message, None, domain)


def _range_pop(domain: str) -> int:
    marks = state().script_marks
    return _NOT_PUSHED if marks is None else marks.pop(domain)
