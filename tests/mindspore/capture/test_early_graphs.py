"""Graphs that were compiled before they were saved, and scripts that save graphs themselves."""

from __future__ import annotations

import pytest

from drynpu.compiling import find_compiler

pytestmark = pytest.mark.slow

NETWORK = """
import json
import os
import sys

import mindspore as ms
import numpy as np
from mindspore import nn

from drynpu import CaptureError
from drynpu_mindspore.capture import Capture


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(4, 3)

    def construct(self, x):
        return self.dense(x)


ms.set_device("CPU")
ms.set_context(mode=ms.GRAPH_MODE)
net, x = Net(), ms.Tensor(np.ones((2, 4), np.float32))
"""
SHOW = """
def show(captured):
    table = captured.operators
    calls = [table.signatures[row] for row in table.signature]
    print("calls=" + json.dumps([[c.name, [[t.dtype, t.shape] for t in c.tensors()]] for c in calls]))
    print("notes=" + json.dumps(captured.notes))
    print("unknown=" + json.dumps(captured.unknown))
"""
EARLY = f"""{NETWORK}{SHOW}
net(x).asnumpy()
capture = Capture()
capture.start()
try:
    capture.start()
except CaptureError as error:
    print("twice=" + json.dumps(str(error)))
net(x).asnumpy()
show(capture.stop())
try:
    capture.stop()
except CaptureError as error:
    print("stopped=" + json.dumps(str(error)))
"""
OWN = f"""{NETWORK}{SHOW}
capture = Capture()
capture.graphs.begin()
net(x).asnumpy()
capture.start()
net(x).asnumpy()
show(capture.stop())
capture.close()
print("files=" + json.dumps(len(os.listdir("graphs"))))
print("passes=" + json.dumps(os.environ.get("MS_DEV_DUMP_IR_PASSES")))
"""
LATER = f"""{NETWORK}{SHOW}
capture = Capture()
capture.graphs.begin()
ms.set_context(save_graphs=1, save_graphs_path="graphs")
net(x).asnumpy()
capture.start()
net(x).asnumpy()
show(capture.stop())
capture.close()
print("files=" + json.dumps(sorted(name.partition("_0")[0] for name in os.listdir("graphs") if name.endswith(".ir"))))
"""


@pytest.fixture(scope="module")
def early(scripts):
    return scripts(EARLY)


@pytest.mark.skipif(find_compiler() is None, reason="no C++ compiler")
def test_shapes_and_types_are_seen_where_no_graph_says_them(early):
    (first, *_) = early.printed("calls")
    assert first == ["MatMul", [["FLOAT", [2, 4]], ["FLOAT", [3, 4]]]]
    assert early.printed("unknown") == []


def test_without_a_compiler_shapes_are_known_and_types_are_not(scripts, tmp_path):
    run = scripts(EARLY, environment={"CXX": "no-such-compiler", "XDG_CACHE_HOME": str(tmp_path)})
    (first, *_) = run.printed("calls")
    assert first == ["MatMul", [["UNDEFINED", [2, 4]], ["UNDEFINED", [3, 4]]]]
    assert run.printed("unknown") == ["BiasAdd", "MatMul"]


def test_a_capture_runs_once_at_a_time(early):
    assert early.printed("twice") == "a capture of MindSpore is running already; stop it before another start"
    assert early.printed("stopped") == "no capture of MindSpore is running; start it before stop"


def test_graphs_that_the_script_saves_are_read_and_left(scripts):
    run = scripts(OWN, environment={"MS_DEV_SAVE_GRAPHS": "1", "MS_DEV_SAVE_GRAPHS_PATH": "graphs"})
    (first, *_) = run.printed("calls")
    assert first == ["MatMul", [["FLOAT", [2, 4]], ["FLOAT", [3, 4]]]]
    assert run.printed("notes") == run.printed("unknown") == []
    assert run.printed("files") > 50
    assert run.printed("passes") is None


def test_graphs_that_the_script_asks_for_later_are_read_and_left_too(scripts):
    run = scripts(LATER)
    (first, *_) = run.printed("calls")
    assert first == ["MatMul", [["FLOAT", [2, 4]], ["FLOAT", [3, 4]]]]
    assert "graph_build" in run.printed("files")
