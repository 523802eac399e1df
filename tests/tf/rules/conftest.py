"""What tests of rules share: plans of calls, nodes of small graphs, and what scripts executed."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from drynpu.kernels import KernelPlan, RuleBook, TensorDesc, build_rule_book, node_signature
from drynpu_tf.rules import FALLBACKS, RULES, GraphNode, tensor_desc


@pytest.fixture(scope="session")
def book() -> RuleBook:
    """Return the rule book of the adapter."""
    return build_rule_book(RULES, fallbacks=FALLBACKS)


def describe(tensor: Any) -> TensorDesc | None:
    """Return a tensor: dims of FP32, or ``(dims, dtype)``, or None."""
    if tensor is None:
        return None
    dims, dtype = tensor if len(tensor) == 2 and isinstance(tensor[1], str) else (tensor, "float32")
    return tensor_desc(tuple(dims), dtype)


@pytest.fixture(scope="session")
def plan(book: RuleBook) -> Callable[..., KernelPlan]:
    """Return a function from a call (dims or ``(dims, dtype)`` per tensor) to its plan."""

    def of(op: str, inputs: Sequence[Any], outputs: Sequence[Any] = (), node: str = "", **attrs: Any) -> KernelPlan:
        made = [describe(t) for t in outputs]
        return book.plan(node_signature(op, [describe(t) for t in inputs], made, attrs, node=node))

    return of


class Graph:
    """A graph written down node by node; a node's outputs are what its name stands for in inputs (``"conv"``)."""

    def __init__(self) -> None:
        self.nodes: list[GraphNode] = []
        self._made: dict[tuple[str, int], TensorDesc | None] = {}

    def add(self, name: str, op: str, inputs: Sequence[Any], *outputs: Any, **attrs: Any) -> str:
        """Add a node and return its name."""
        places = tuple((text, 0) if isinstance(text, str) else text for text in inputs)
        made = [describe(t) for t in outputs]
        self._made |= {(name, slot): tensor for slot, tensor in enumerate(made)}
        call = node_signature(op, [self._made.get(place) for place in places], made, attrs, node=name)
        self.nodes.append(GraphNode(name, places, call))
        return name


@pytest.fixture
def graph() -> Graph:
    """Return an empty graph."""
    return Graph()


@pytest.fixture(scope="session")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return what the scripts of ``workloads.py`` executed: types by group, nodes of every session run."""
    if importlib.util.find_spec("tensorflow") is None:
        pytest.skip("needs TensorFlow")
    out = tmp_path_factory.mktemp("executed") / "types.json"
    quiet = {"TF_ENABLE_ONEDNN_OPTS": "0", "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("workloads.py")), str(out)],
        env={**os.environ, **quiet, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(out.read_text())
    return found


@pytest.fixture(scope="session")
def graphs(executed: dict[str, Any]) -> list[list[GraphNode]]:
    """Return the nodes of every session run, as a capture would hand them over."""
    return [_graph_nodes(nodes) for nodes in executed["graphs"]]


def _graph_nodes(nodes: list[dict[str, Any]]) -> list[GraphNode]:
    made = {
        (node["name"], slot): tensor_desc(tuple(out[1]), out[0])
        for node in nodes
        for slot, out in enumerate(node["outputs"])
        if out
    }
    found = []
    for node in nodes:
        places = tuple((producer, slot) for producer, slot in node["inputs"])
        outputs = [made.get((node["name"], slot)) for slot in range(len(node["outputs"]))]
        inputs = [made.get(place) for place in places]
        found.append(
            GraphNode(
                node["name"], places, node_signature(node["op"], inputs, outputs, node["attrs"], node=node["name"])
            )
        )
    return found
