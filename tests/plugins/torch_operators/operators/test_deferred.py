"""Operators that the first lookup in ``torch.ops.npu`` finds, beside an ordinary namespace's."""

from __future__ import annotations

from typing import Any

import pytest

WRITES = """
import inspect, pickle
import torch, torch_npu

packets = [torch.ops.npu.npu_rms_norm, torch.ops.npu.npu_swiglu, torch.ops.aten.mm]
for packet in packets:
    overload = packet.default
    for each in (packet, overload):
        namespace = str(overload).split(".")[0]
        print(type(each).__name__, each.__module__ == f"torch._ops.{namespace}", each.__name__ in repr(each),
              inspect.getmodule(each) is None)


class Model(torch.nn.Module):
    def forward(self, x, weight):
        return torch.ops.npu.npu_rms_norm(x, weight)[0] + torch.ops.npu.npu_swiglu(torch.ops.aten.mm(x, x))


graph = torch.fx.symbolic_trace(Model())
print(graph.code)
with open("graph.pickle", "wb") as stream:
    pickle.dump(graph, stream)
"""
READS = """
import pickle
import torch, torch_npu

with open("graph.pickle", "rb") as stream:
    graph = pickle.load(stream)
print(graph.code)
"""


@pytest.fixture(scope="module")
def starts(scripts: Any) -> tuple[Any, Any]:
    first = scripts(WRITES)
    return first, scripts(READS, folder=first.folder)


def test_they_say_what_ordinary_operators_say(starts: tuple[Any, Any]) -> None:
    lines = starts[0].stdout.splitlines()[:6]
    assert lines[:2] == lines[2:4] == lines[4:6]
    assert [line.split()[1] for line in lines] == ["True"] * 6


def test_a_second_start_reads_the_graph_of_the_first(starts: tuple[Any, Any]) -> None:
    first, second = starts
    assert "torch.ops.npu.npu_rms_norm(" in second.stdout
    assert "drynpu" not in first.stdout + second.stdout
