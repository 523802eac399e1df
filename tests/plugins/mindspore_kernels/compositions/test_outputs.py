"""Operators that print or write files: what they print and write is what a script gave them, in both modes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.slow

SCRIPT = """
import sys

import mindspore as ms
import numpy as np
from mindspore import nn, ops

ms.set_context(mode=getattr(ms, f"{sys.argv[1]}_MODE"), device_target="Ascend")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.show, self.dump, self.dump_input = ops.Print(), ops.TensorDump(), ops.TensorDump("in")
        self.scalar, self.tensor = ops.ScalarSummary(), ops.TensorSummary()
        self.histogram, self.image = ops.HistogramSummary(), ops.ImageSummary()

    def construct(self, x):
        self.show("shown", x)
        ops.print_("function", 2 * x)
        self.dump("whole.npy", x)
        self.dump_input("folder/numbers", (3 * x).int())
        ops.tensordump("short", x.bfloat16())
        self.scalar("total", x.sum())
        self.tensor("numbers", x)
        self.histogram("spread", x)
        self.image("picture", x.reshape(1, 1, 2, 3))
        return x + 1


class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.gradient = ops.DumpGradient()

    def construct(self, x):
        y = self.gradient("gradient", 2 * x, "out")
        return (y * y).sum()


network, x = Net(), ms.Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
with ms.SummaryRecord("summary", network=network) as record:
    print("RESULT", network(x).sum())
    record.record(1)
print("GRADIENT", ms.grad(Loss())(x).sum())
ms.runtime.synchronize()
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("mode", ["PYNATIVE", "GRAPH"])
def test_what_operators_print_and_write(mode: str, scripts: Any, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    done = scripts.simulated(SCRIPT, mode, folder=tmp_path)

    assert "RESULT 21.0" in done.stdout
    assert "GRADIENT 120.0" in done.stdout
    shown, function = done.stdout.split("shown")[1].split("function")
    assert [float(each) for each in _numbers(shown)] == list(range(6))
    assert [float(each) for each in _numbers(function)[:6]] == list(range(0, 12, 2))
    files = {
        path.relative_to(tmp_path).as_posix().rpartition("_")[0]: np.load(path) for path in tmp_path.rglob("*.npy")
    }
    # PyNative mode is MindSpore's own, which does not name the side that is dumped.
    whole = "folder/numbers_int32" if mode == "PYNATIVE" else "folder/numbers_in_int32"
    assert sorted(files) == sorted(["whole_float32", whole, "short_bfloat16", "gradient_float32"])
    np.testing.assert_array_equal(files["whole_float32"], X)
    np.testing.assert_array_equal(files[whole], 3 * X.astype(np.int32))
    np.testing.assert_array_equal(files["short_bfloat16"], X)
    np.testing.assert_array_equal(files["gradient_float32"], 4 * X)
    (events,) = (tmp_path / "summary").iterdir()
    text = events.read_bytes()
    assert all(name in text for name in (b"total", b"numbers", b"spread", b"picture"))


def _numbers(text: str) -> list[str]:
    """Return what looks like a floating point number."""
    return [word for word in text.replace("[", " ").replace("]", " ").replace(",", " ").split() if "e+" in word]
