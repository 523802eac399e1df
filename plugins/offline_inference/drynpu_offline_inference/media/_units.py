"""What all calls on images share: descriptions, channels, pictures in memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Final, TypeVar

from drynpu_acl.constants import ReturnCode
from drynpu_acl.runtime import Process
from drynpu_offline_inference.media._descriptions import (
    Border,
    Channel,
    Descriptions,
    Encoding,
    Picture,
    Rectangle,
    Scaling,
    StreamData,
)
from drynpu_offline_inference.media._pillow import MissingPillowError
from drynpu_offline_inference.media._pixels import Pixels, read_pixels, write_pixels

T = TypeVar("T")
_MOST_BATCH: Final = 256


class Units:
    """All descriptions that programs have made, and the pictures behind them in the memory of a runtime."""

    def __init__(self, runtime: Process) -> None:
        numbers = runtime.numbers
        self.pictures = Descriptions(Picture, numbers)
        self.batches = Descriptions(list[int], numbers)
        self.streams = Descriptions(StreamData, numbers)
        self.rectangles = Descriptions(Rectangle, numbers)
        self.scalings = Descriptions(Scaling, numbers)
        self.encodings = Descriptions(Encoding, numbers)
        self.borders = Descriptions(Border, numbers)
        self.channels = Descriptions(Channel, numbers)
        self.runtime, self._ids = runtime, count(0)

    def clear(self) -> None:
        """Forget all descriptions."""
        for kind in (self.pictures, self.batches, self.streams, self.rectangles, self.scalings, self.encodings):
            kind.handles.clear()
        self.borders.handles.clear()
        self.channels.handles.clear()

    def create_channel(self, handle: int) -> int:
        """Open a channel; opening it twice is an error."""
        channel = self.channels.handles.get(handle)
        if channel is None or channel.created:
            return ReturnCode.INVALID_PARAM
        channel.created, channel.channel_id = True, next(self._ids)
        return ReturnCode.SUCCESS

    def destroy_channel(self, handle: int) -> int:
        """Close a channel; its description stays."""
        channel = self.channels.handles.get(handle)
        if channel is None or not channel.created:
            return ReturnCode.INVALID_PARAM
        channel.created = False
        return ReturnCode.SUCCESS

    def create_batch(self, size: int) -> int:
        """Return the handle of a batch of descriptions, 0 for an empty or a too large one."""
        if not 0 < size <= _MOST_BATCH:
            return 0
        return self.batches.create([self.pictures.create() for _ in range(size)])

    def destroy_batch(self, handle: int) -> int:
        """Give up a batch with its descriptions."""
        for picture in self.batches.handles.get(handle) or ():
            self.pictures.destroy(picture)
        return self.batches.destroy(handle)

    def get_picture(self, handle: int, place: int) -> int:
        """Return the handle of a description of a batch, 0 where there is none."""
        batch = self.batches.handles.get(handle) or []
        return batch[place] if place < len(batch) else 0

    def set_border_value(self, handle: int, place: int, value: float) -> int:
        """Set the constant of a channel around an image."""
        border = self.borders.handles.get(handle)
        if border is None or place >= len(border.values):
            return ReturnCode.INVALID_PARAM
        border.values[place] = value
        return ReturnCode.SUCCESS

    def get_border_value(self, handle: int, place: int) -> float:
        """Return the constant of a channel around an image."""
        border = self.borders.handles.get(handle)
        return border.values[place] if border is not None and place < len(border.values) else 0.0

    def ready(self, channel: int, stream: int) -> int:
        """Return 0 where a channel is open and the stream is one."""
        channel_state = self.channels.handles.get(channel)
        if channel_state is None or not channel_state.created:
            return ReturnCode.INVALID_PARAM
        return int(self.runtime.devices.stream(stream)[0])

    def file(self, pointer: int, size: int) -> bytes:
        """Return the bytes at a pointer, none where they are not all known memory."""
        memory = self.runtime.memory.view(pointer, size)
        return b"" if memory is None else memory.tobytes()

    def read(self, picture: Picture) -> Pixels | None:
        """Return the pixels of a picture; ``None`` where its description does not hold."""
        layout = picture.layout
        if layout is None or not picture.width or not picture.height:
            self.runtime.complain(f"acl.media: pixel format {picture.format} is not simulated; 0 to 17 are")
            return None
        stride, rows = picture.room(layout)
        memory = self.runtime.memory.view(picture.data, layout.size(stride, rows))
        if memory is None or picture.size < len(memory) or stride < picture.width * layout.samples:
            self._complain_of_room(picture, layout.size(stride, rows))
            return None
        return read_pixels(memory, layout, picture.width, picture.height, stride, rows)

    def write(self, picture: Picture, pixels: Pixels, place: Rectangle | None = None) -> int:
        """Put pixels into a picture, at its beginning or in a rectangle of it."""
        layout = picture.layout
        if layout is None:
            self.runtime.complain(f"acl.media: pixel format {picture.format} is not simulated; 0 to 17 are")
            return ReturnCode.INVALID_PARAM
        stride, rows = picture.room(layout)
        memory = self.runtime.memory.view(picture.data, layout.size(stride, rows))
        width, height = pixels.size
        left, top = (0, 0) if place is None else (place.left, place.top)
        fits = stride >= (left + width) * layout.samples and rows >= top + height
        if memory is None or picture.size < len(memory) or not fits:
            self._complain_of_room(picture, layout.size(stride, rows))
            return ReturnCode.INVALID_PARAM
        # What lies around a part of the picture stays.
        whole = memory.copy()
        write_pixels(pixels, whole, layout, stride, rows, (left, top))
        if not self.runtime.memory.write(picture.data, whole):
            return ReturnCode.INVALID_PARAM
        picture.ret_code = 0
        return ReturnCode.SUCCESS

    def attempt(self, work: Callable[[], T | None], reason: str) -> tuple[int, T | None]:
        """Return ``(code, result)``; keep *reason* where there is none."""
        try:
            value = work()
        except MissingPillowError as error:
            self.runtime.complain(str(error), aloud=True)
            return ReturnCode.FAILURE, None
        if value is None:
            self.runtime.complain(f"acl.media: {reason}")
            return ReturnCode.FAILURE, None
        return ReturnCode.SUCCESS, value

    def _complain_of_room(self, picture: Picture, needed: int) -> None:
        self.runtime.complain(f"acl.media: the picture needs {needed} bytes at its pointer; its size is {picture.size}")
