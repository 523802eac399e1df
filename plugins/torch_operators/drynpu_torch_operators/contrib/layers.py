"""Layers that are composed of PyTorch's operators: shuffled channels, two-way LSTMs, slices of images, colours."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from drynpu_torch.device import npu
from drynpu_torch_operators.contrib._checks import deprecated, require
from drynpu_torch_operators.operators import errors


class _Shuffled(torch.autograd.Function):
    """Two halves of the channels, in turns; each result has the channels of one index."""

    @staticmethod
    def forward(ctx: Any, x1: Tensor, x2: Tensor, *index: Tensor) -> tuple[Tensor, ...]:
        ctx.parts = len(index)
        both = torch.cat([x1, x2], dim=1)
        return tuple(both.index_select(1, channels) for channels in index)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        grad = torch.cat(grads, 1) if len(grads) > 1 else grads[0]
        halves = [torch.arange(first, grad.shape[1], 2, device=grad.device) for first in (0, 1)]
        return *(grad.index_select(1, half) for half in halves), *[None] * ctx.parts


class ChannelShuffle(nn.Module):
    """The channels of two tensors in turns, as one tensor or, *split_shuffle*, as two."""

    def __init__(self, in_channels: int, groups: int = 2, split_shuffle: bool = True) -> None:
        super().__init__()
        self.split_shuffle = split_shuffle
        self.group_len = in_channels // groups
        order = torch.arange(in_channels).reshape(groups, self.group_len).t().flatten()
        self.out_channels = order
        self._parts = [order[: self.group_len], order[self.group_len :]] if split_shuffle else [order]

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Return the channels of *x1* and *x2* [batch, channels, ...] in turns."""
        if self._parts[0].device != x1.device:
            self._parts = [part.to(x1.device) for part in self._parts]
        if self.training:
            halves = _Shuffled.apply(x1, x2, *self._parts)  # type: ignore[no-untyped-call]
        else:
            both = torch.cat([x1, x2], dim=1)
            halves = tuple(both.index_select(1, part) for part in self._parts)
        return halves if self.split_shuffle else halves[0]  # type: ignore[no-any-return]


class BiLSTM(nn.Module):
    """An LSTM in both directions, as two of one direction: [length, batch, 2 * hidden_size]."""

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        deprecated("BiLSTM", "Please check the documentation for a replacement.")
        self.fw_rnn = nn.LSTM(input_size, hidden_size, bidirectional=False)
        self.bw_rnn = nn.LSTM(input_size, hidden_size, bidirectional=False)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the states of both directions for *inputs* [length, batch, input_size]."""
        back = torch.flip(self.bw_rnn(torch.flip(inputs, [0]))[0], [0])
        return torch.cat((self.fw_rnn(inputs)[0], back), 2)


class Conv(nn.Module):
    """Convolution, batch norm and leaky ReLU."""

    def __init__(
        self, c1: int, c2: int, k: int = 1, s: int = 1, p: int | None = None, g: int = 1, act: bool = True
    ) -> None:
        super().__init__()
        self.conv = nn.Conv2d(c1, c2, k, s, k // 2 if p is None else p, groups=g, bias=False)
        self.bn = nn.BatchNorm2d(c2)
        self.act = nn.LeakyReLU(0.1, inplace=True) if act else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's result."""
        return self.act(self.bn(self.conv(x)))  # type: ignore[no-any-return]

    def fuseforward(self, x: Tensor) -> Tensor:
        """Return the result without the norm."""
        return self.act(self.conv(x))  # type: ignore[no-any-return]


class Focus(nn.Module):
    """Convolution of every second row and column, the four choices side by side as channels."""

    def __init__(
        self, c1: int, c2: int, k: int = 1, s: int = 1, p: int | None = None, g: int = 1, act: bool = True
    ) -> None:
        super().__init__()
        self.conv = Conv(c1 * 4, c2, k, s, p, g, act)

    def forward(self, x: Tensor) -> Tensor:
        """Return the layer's result for *x* [batch, c1, height, width]."""
        parts = [x[..., row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.conv(torch.cat(parts, 1))  # type: ignore[no-any-return]


class Prefetcher:
    """Pairs of a loader on the device, each copied on a stream of its own while the one before is used."""

    def __init__(self, loader: Iterable[tuple[Tensor, Tensor]], stream: Any = None) -> None:
        self.loader: Iterator[tuple[Tensor, Tensor]] = iter(loader)
        self.stream = npu.Stream() if stream is None else stream
        self.next_input: Tensor | None = None
        self.next_target: Tensor | None = None
        self.preload()

    def preload(self) -> None:
        """Copy the next pair, or none after the last one."""
        self.next_input, self.next_target = next(self.loader, (None, None))
        if self.next_input is None or self.next_target is None:
            return
        with npu.stream(self.stream):
            self.next_input = self.next_input.to("npu", non_blocking=True)
            self.next_target = self.next_target.to("npu", non_blocking=True)

    def next(self) -> tuple[Tensor | None, Tensor | None]:
        """Return a pair, or ``(None, None)`` after the last one."""
        npu.current_stream().wait_stream(self.stream)
        pair = self.next_input, self.next_target
        if pair[1] is not None:
            self.preload()
        return pair


_Range = tuple[float, float] | list[float] | None


class FusedColorJitter(nn.Module):
    """
    Random brightness, contrast, saturation and hue of an image by one product and one sum.

    The matrix turns colours in the YIQ space: its constant part is the brightness of a colour, the others are weighted
    with the cosine and the sine of the turn.
    """

    _LUMA = np.array([0.299, 0.587, 0.114], np.float32)
    _COSINE = np.array([[0.701, -0.299, -0.300], [-0.587, 0.413, -0.588], [-0.114, -0.114, 0.886]], np.float32)
    _SINE = np.array([[0.168, -0.328, 1.250], [0.330, 0.035, -1.050], [-0.497, 0.292, -0.203]], np.float32)

    def __init__(self, brightness: Any = 0, contrast: Any = 0, saturation: Any = 0, hue: Any = 0) -> None:
        super().__init__()
        advice = "Please use torchvision.transforms.ColorJitter as a replacement."
        deprecated("module.FusedColorJitter", advice)
        self._limits = (hue, saturation, contrast, brightness)
        self.brightness = _limits(brightness, "brightness")
        self.contrast = _limits(contrast, "contrast")
        self.saturation = _limits(saturation, "saturation")
        self.hue = _limits(hue, "hue", center=0, bound=(-0.5, 0.5), clipped=False)

    def forward(self, img: Any) -> Any:
        """Return an image [height, width, channels] of NumPy or PIL with changed colours, of the type of *img*."""
        hue, saturation, contrast, brightness = (_drawn(limit, i > 0) for i, limit in enumerate(self._limits))
        angle = hue * 255.0 * math.pi / 180.0
        matrix = self._LUMA[:, None] + saturation * (math.cos(angle) * self._COSINE + math.sin(angle) * self._SINE)
        is_array = isinstance(img, np.ndarray)
        pixels = img if is_array else np.asarray(img, dtype=np.float32)
        text = f"Unknow format using.. Current shape is {pixels.shape}"
        require(pixels.shape[-1] in (1, 3, 4), text)
        colours = pixels.repeat(3, axis=-1) if pixels.shape[-1] == 1 else pixels[..., :3]
        changed = colours.reshape(-1, 3) @ (matrix * brightness * contrast) + (1.0 - contrast) * brightness * 127.5
        dtype = pixels.dtype if is_array else np.uint8
        result = changed.reshape(colours.shape).clip(0.0, 255.0).astype(dtype)
        return result if is_array else _image(result)

    def __repr__(self) -> str:
        names = ("brightness", "contrast", "saturation", "hue")
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)}' for name in names)})"


def _image(pixels: Any) -> Any:
    from PIL import Image

    return Image.fromarray(pixels)


def _drawn(limit: Any, around_one: bool) -> float:
    """Return a number around 0 or 1, by a limit or between two of them."""
    if isinstance(limit, Sequence):
        return random.uniform(*limit)
    first, last = (max(0.0, 1.0 - limit), 1.0 + limit) if around_one else (-limit, limit)
    return random.uniform(first, last)


def _limits(
    value: Any, name: str, center: float = 1, bound: tuple[float, float] = (0, math.inf), clipped: bool = True
) -> _Range:
    """Return the range that a limit or a pair gives, ``None`` where it changes nothing."""
    if isinstance(value, (int, float)):
        require(value >= 0, f"If {name} is a single number, it must be non negative.")
        first = center - float(value)
        limits = [max(first, 0.0) if clipped else first, center + float(value)]
    else:
        text = f"{name} should be a single number or a list/tuple with length 2."
        require(isinstance(value, (tuple, list)) and len(value) == 2, text, errors.TYPE, TypeError)
        require(bound[0] <= value[0] <= value[1] <= bound[1], f"{name} values should be between {bound}")
        limits = value
    return None if limits[0] == limits[1] == center else limits
