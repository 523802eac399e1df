"""Colours in other terms than red, green and blue."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np


def _hue(x: Any) -> Any:
    """Return hue, saturation and value; a grey has the hue 0, black the saturation 0."""
    red, green, blue = np.moveaxis(x, -1, 0)
    value = x.max(-1)
    spread = value - x.min(-1)
    saturation = np.where(value > 0, spread / value, 0)
    sixth = 1 / (6 * spread)
    turns = [sixth * (green - blue), sixth * (blue - red) + 1 / 3, sixth * (red - green) + 2 / 3]
    hue = np.where(spread > 0, np.select([red == value, green == value], turns[:2], turns[2]), 0)
    return np.stack([np.where(hue < 0, hue + 1, hue), saturation, value], -1)


COLOURS: Final[Mapping[str, Any]] = MappingProxyType({"RGBToHSV": _hue})
"""By primitive, as MindSpore's documentation of it defines it."""
