"""What programs describe before they call: pictures, rectangles, scaling, borders, encoding, channels, streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from attrs import define, field

from drynpu_acl.constants import ReturnCode
from drynpu_acl.handles import Handles
from drynpu_offline_inference.media._files import MOST_QUALITY
from drynpu_offline_inference.media._formats import LAYOUTS, ROW_PAIR, Layout

T = TypeVar("T")


@define(eq=False)
class Picture:
    """An image in memory (acldvppPicDesc); strides are bytes of a row and rows, 0 for the least of the device."""

    data: int = 0
    size: int = 0
    format: int = 0
    width: int = 0
    height: int = 0
    width_stride: int = 0
    height_stride: int = 0
    ret_code: int = 0

    @property
    def layout(self) -> Layout | None:
        """How its pixels lie; ``None`` for a format that is not simulated."""
        return LAYOUTS.get(self.format)

    def room(self, layout: Layout) -> tuple[int, int]:
        """Return the bytes of a row, and rows, in memory."""
        rows = self.height_stride or -(-self.height // ROW_PAIR) * ROW_PAIR
        return self.width_stride or layout.stride(self.width), rows


@define(eq=False)
class StreamData:
    """Bytes of a video (acldvppStreamDesc), which programs also use to describe single images."""

    data: int = 0
    size: int = 0
    format: int = 0
    timestamp: int = 0
    ret_code: int = 0
    eos: int = 0


@define(eq=False)
class Rectangle:
    """A part of an image (acldvppRoiConfig); right and bottom belong to it."""

    left: int = 0
    right: int = 0
    top: int = 0
    bottom: int = 0

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self.right - self.left + 1, self.bottom - self.top + 1


@define(eq=False)
class Scaling:
    """How images are scaled (acldvppResizeConfig)."""

    interpolation: int = 0


@define(eq=False)
class Encoding:
    """How images are encoded (acldvppJpegeConfig): 0 and 100 are the best of the levels."""

    level: int = MOST_QUALITY


@define(eq=False)
class Border:
    """What is put around an image (acldvppBorderConfig): a constant for each of three or four channels."""

    border_type: int = 0
    top: int = 0
    bottom: int = 0
    left: int = 0
    right: int = 0
    values: list[float] = field(factory=lambda: [0.0] * 4)


@define(eq=False)
class Channel:
    """What an image goes through (acldvppChannelDesc)."""

    channel_id: int = 0
    mode: int = 0
    created: bool = False


class Descriptions(Generic[T]):
    """All descriptions of one kind, with functions that change and return their fields."""

    def __init__(self, kind: Callable[..., T], numbers: Iterator[int]) -> None:
        self._kind = kind
        self.handles: Handles[T] = Handles(numbers)

    def create(self, *values: object) -> int:
        """Return the handle of a new description with these first fields."""
        return self.handles.add(self._kind(*values))

    def destroy(self, handle: int) -> int:
        """Give one up; a null handle is a missing parameter, as any other that is none."""
        return ReturnCode.INVALID_PARAM if self.handles.remove(handle) is None else ReturnCode.SUCCESS

    def setter(self, *names: str) -> Callable[..., int]:
        """Return a function of a handle and values that sets these fields, and returns the code."""

        def change(handle: int, *values: object) -> int:
            description = self.handles.get(handle)
            if description is None:
                return ReturnCode.INVALID_PARAM
            for name, value in zip(names, values, strict=True):
                setattr(description, name, value)
            return ReturnCode.SUCCESS

        return change

    def getter(self, name: str) -> Callable[[int], Any]:
        """Return a function of a handle that returns this field, 0 for a wrong handle."""

        def read(handle: int) -> Any:
            return getattr(self.handles.get(handle), name, 0)

        return read

    def all_of(self, handles: Sequence[int]) -> list[T] | None:
        """Return the descriptions of these handles; ``None`` if one is wrong."""
        descriptions = [self.handles.get(handle) for handle in handles]
        return (
            None if any(each is None for each in descriptions) else [each for each in descriptions if each is not None]
        )
