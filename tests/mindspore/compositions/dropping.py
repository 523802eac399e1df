"""Run under ``drynpu run``: dropout of mint, called and as a cell. ``dropping.py MODE OUT.pickle``."""

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
    def __init__(self) -> None:
        super().__init__()
        self.drop = mint.nn.Dropout(0.25)

    def construct(self, x: Any) -> Any:
        return self.drop(x * 1)


def main(mode: str, out: str) -> None:
    ms.set_context(mode=getattr(ms, f"{mode}_MODE"), device_target="Ascend")
    x = ms.Tensor(np.linspace(1, 2, 4000, dtype=np.float32).reshape(40, 100))
    found = {}
    for kind in (Called, InPlace, Cell):
        net = kind().set_train()
        value, gradient = ms.value_and_grad(net)(x)
        found[kind.__name__] = value.asnumpy(), gradient.asnumpy(), net.set_train(False)(x).asnumpy()
    Path(out).write_bytes(pickle.dumps((x.asnumpy(), found)))


if __name__ == "__main__":
    main(*sys.argv[1:])
