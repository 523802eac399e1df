"""
Run every call of a file of docs/lists/mindspore-primitives: ``drynpu run run_primitive_calls.py CALLS.yaml OUT``.

All calls of all families run in PyNative mode under one profiler, except the family ``graphs``; these and one of
so many others run in GRAPH mode.
"""

from __future__ import annotations

import importlib
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import yaml
from mindspore import nn
from mindspore.profiler import profile, tensorboard_trace_handler

sys.path.insert(0, str(Path(__file__).parent))
from inputs import inputs

GRAPH_STEP = 6
"""Of so many calls one is compiled as well: compiling takes longer than all the rest."""
PYNATIVE = re.compile(
    r"ops\.(jet|derivative|linearize|CombinedNonMaxSuppression|HyperMap|MultitypeFuncGraph)\(|after_step|hooked|"
    r"set_train"
)
"""What is not compiled: what PyNative compiles, what makes parameters, hooks, what has constants that fail."""

_HEAD = """
import mindspore as ms
import mindspore.mint.nn.functional as F
import numpy as np
from mindspore import mint, nn, ops

from inputs import numbers
from primitive_helpers import *
"""


class Net(nn.Cell):
    """A function as a network, which GRAPH mode compiles."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def construct(self, *arguments: Any) -> Any:
        return self.function(*arguments)


def written(name: str, calls: list[str], known: dict[str, Any]) -> list[tuple[Any, list[str]]]:
    """Return a function of every call, from a file, because GRAPH mode reads the source, and its parameters."""
    parts, parameters = [_HEAD], []
    for number, call in enumerate(calls):
        names = list(dict.fromkeys(word for word in re.findall(r"(?<![\w.'])\w+", call) if word in known))
        parts.append(f"def call_{number}({', '.join(names)}):\n    return {call}\n")
        parameters.append(names)
    Path(f"{name}.py").write_text("\n\n".join(parts))
    module = importlib.import_module(name)
    return [(getattr(module, f"call_{number}"), names) for number, names in enumerate(parameters)]


def first(result: Any) -> Any:
    """Return the first of several results, as an array."""
    result = result[0] if isinstance(result, (tuple, list)) and isinstance(result[0], ms.Tensor) else result
    return result.asnumpy() if isinstance(result, ms.Tensor) else result


def value_of(function: Any, arrays: list[Any]) -> Any:
    """Return what a function gives for new tensors, because some calls change theirs, or the error that ended it."""
    try:
        return first(function(*map(ms.Tensor, arrays)))
    except Exception as error:  # noqa: BLE001 - the test shows it
        return f"{type(error).__name__}: {error}"


def main(path: str, out: str) -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
    sys.path.insert(0, str(Path.cwd()))
    known, families = inputs(), yaml.safe_load(Path(path).read_text())
    graphs = list(families.pop("graphs", {}))
    calls = [call for family in families.values() for call in family]
    found: dict[str, Any] = {}
    with profile(on_trace_ready=tensorboard_trace_handler("profiled")):
        for call, (function, names) in zip(calls, written("pynative", calls, known), strict=True):
            found[call] = value_of(function, [known[name] for name in names])
    ms.set_context(mode=ms.GRAPH_MODE)
    graphs += [call for call in calls if not PYNATIVE.search(call)][::GRAPH_STEP]
    # A graph takes parameters as arguments, and makes none.
    plain = [re.sub(r"parameter\((\w+)\)", r"\1", call) for call in graphs]
    for call, (function, names) in zip(graphs, written("graph", plain, known), strict=True):
        found[f"GRAPH {call}"] = value_of(Net(function) if names else function, [known[name] for name in names])
    Path(out).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
