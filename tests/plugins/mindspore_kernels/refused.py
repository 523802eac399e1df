"""Run under ``drynpu run``: a call of a primitive that is not computed. ``refused.py MODE``."""

from __future__ import annotations

import sys
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn
from mindspore.ops.operations.math_ops import NPUGetFloatStatusV2

ms.set_context(mode=getattr(ms, f"{sys.argv[1]}_MODE"), device_target="Ascend")


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.status = NPUGetFloatStatusV2()

    def construct(self, x: Any) -> Any:
        return self.status(x)


print(Net()(ms.Tensor(np.zeros(8, np.int32))))
