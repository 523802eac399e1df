"""Tensors that a graph writes into files; in PyNative mode MindSpore writes them itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from drynpu_mindspore_kernels.compositions._bfloat import BFLOAT16_BITS, widen

_NUMBERS = itertools.count()
"""Of the files that a process writes, whatever they are called."""


def _write(name: Any, x: Any, *rest: Any, input_output: str = "out") -> None:
    """Write a tensor under its name, the side that is dumped if it is the reader's, its type and a number."""
    del rest
    kind = "bfloat16" if x.dtype == BFLOAT16_BITS else str(x.dtype)
    side = "" if input_output == "out" else f"_{input_output}"
    np.save(f"{str(name).removesuffix('.npy')}{side}_{kind}_{next(_NUMBERS)}.npy", widen(x))


DUMPS: Final[Mapping[str, Any]] = MappingProxyType({"TensorDump": _write})
"""By primitive, as MindSpore's documentation of it names the files."""
