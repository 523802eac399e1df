"""Run under ``drynpu run``: dropout of mint and nn, called and as a cell. ``dropping.py MODE OUT.pickle``."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import mindspore.mint.nn.functional as F
import numpy as np
from mindspore import mint, nn


class Called(nn.Cell):
    def construct(self, x: Any) -> Any:
        return F.dropout(x * 1, 0.25)


class InPlace(nn.Cell):
    def construct(self, x: Any) -> Any:
        return F.dropout(x * 1, 0.25, True, True)


class Cell(nn.Cell):
    def __init__(self, drop: Any) -> None:
        super().__init__()
        self.drop = drop

    def construct(self, x: Any) -> Any:
        return self.drop(x * 1)


CELLS = {
    "mint.nn.Dropout": (lambda: mint.nn.Dropout(0.25), (40, 100)),
    "mint.nn.Dropout2d": (lambda: mint.nn.Dropout2d(0.25), (40, 50, 2, 1)),
    "nn.Dropout": (lambda: nn.Dropout(p=0.25), (40, 100)),
    "nn.Dropout keep_prob": (lambda: nn.Dropout(keep_prob=0.75), (40, 100)),
    "nn.Dropout1d": (lambda: nn.Dropout1d(0.25), (40, 50, 2)),
    "nn.Dropout2d": (lambda: nn.Dropout2d(0.25), (40, 50, 2, 1)),
    "nn.Dropout3d": (lambda: nn.Dropout3d(0.25), (40, 50, 1, 2, 1)),
}
"""Cells that drop a quarter, and the shape of what they get: 4000 elements, or 2000 channels of two."""


def main(mode: str, out: str) -> None:
    ms.set_context(mode=getattr(ms, f"{mode}_MODE"), device_target="Ascend")
    numbers = np.linspace(1, 2, 4000, dtype=np.float32)
    nets = [(kind.__name__, kind(), (40, 100)) for kind in (Called, InPlace)]
    nets += [(name, Cell(build()), shape) for name, (build, shape) in CELLS.items()]
    found = {}
    for name, cell, shape in nets:
        x, net = ms.Tensor(numbers.reshape(shape)), cell.set_train()
        value, gradient = ms.value_and_grad(net)(x)
        found[name] = x.asnumpy(), value.asnumpy(), gradient.asnumpy(), net.set_train(False)(x).asnumpy()
    Path(out).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
