"""What PyNative compiles one by one: of several of the same shapes each launch has its own attributes."""

from __future__ import annotations

import pytest

from drynpu.compiling import find_compiler

pytestmark = pytest.mark.slow

SCRIPT = """
import json

import mindspore as ms
import numpy as np
from mindspore import nn, ops

from drynpu_mindspore.capture import Capture

ms.set_device("CPU")
ms.set_context(mode=ms.PYNATIVE_MODE)
capture = Capture()
capture.graphs.begin()
x, w = ms.Tensor(np.ones((2, 3, 8, 8), np.float32)), ms.Tensor(np.ones((4, 3, 3, 3), np.float32))
plain = ops.Conv2D(4, 3, pad_mode="pad", pad=1)
wide = ops.Conv2D(4, 3, pad_mode="pad", pad=2, dilation=2)
skew = ops.Conv2D(4, 3, pad_mode="pad", pad=(0, 2, 1, 1))
norm = nn.BatchNorm2d(3)


def run():
    for each in (wide, plain, skew, plain, wide):
        each(x, w).asnumpy()
    for train in (False, True):
        norm.set_train(train)
        norm(x)[0].asnumpy()


run()
capture.start()
run()
table = capture.stop().operators
found = [table.signatures[row] for row in table.signature]
kept = [dict(call.attributes[1]) for call in found if call.name == "Conv2D"]
print("conv=" + json.dumps([[each["dilation"][-1], each["pad_list"]] for each in kept]))
print("norm=" + json.dumps([call.attributes[2] for call in found if call.name == "BatchNorm"]))
"""
NO_COMPILER = {"CXX": "no-such-compiler"}


@pytest.mark.parametrize(
    "hooked", [pytest.param(True, marks=pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")), False]
)
def test_each_launch_has_the_attributes_that_it_was_compiled_with(scripts, tmp_path, hooked):
    run = scripts(SCRIPT, environment={} if hooked else {**NO_COMPILER, "XDG_CACHE_HOME": str(tmp_path)})
    plain, wide, skew = [1, [1, 1, 1, 1]], [2, [2, 2, 2, 2]], [1, [0, 2, 1, 1]]
    assert run.printed("conv") == [wide, plain, skew, plain, wide]
    # Training, epsilon and momentum are the sixth to eighth argument.
    assert [each[5:8] for each in run.printed("norm")] == [[False, 1e-05, 0.1], [True, 1e-05, 0.1]]
