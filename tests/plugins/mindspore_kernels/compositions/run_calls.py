"""
Run under ``drynpu run``: every call of every family, with its gradients, each family in a step of one profile.

``run_calls.py CALLS.yaml MODE EVERY OUT.pickle`` takes the first of EVERY calls. OUT gets by family and call the result
and the gradients, or the error; the profile lies in the folder ``profiled``.
"""

from __future__ import annotations

import importlib
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import yaml
from mindspore.profiler import (
    ProfilerActivity,
    ProfilerLevel,
    _ExperimentalConfig,
    profile,
    schedule,
    tensorboard_trace_handler,
)

sys.path.insert(0, str(Path(__file__).parent))
from inputs import inputs

_HEAD = """
import mindspore as ms
import mindspore.mint.nn.functional as F
from mindspore import mint, nn, ops
from mindspore.ops.auto_generate import gen_ops_prim as prim
"""

_CELL = """
class Cell_{0}(nn.Cell):
    def __init__(self):
        super().__init__()
        self.cell = {1}

    def construct(self, {2}):
        return self.{3}


call_{0} = Cell_{0}()
"""


def main(calls: str, mode: str, every: str, out: str) -> None:
    ms.set_context(mode=getattr(ms, f"{mode}_MODE"), device_target="Ascend")
    sys.path.insert(0, str(Path.cwd()))
    families = yaml.safe_load(Path(calls).read_text())
    found = {}
    with profile(
        activities=[ProfilerActivity.CPU, ProfilerActivity.NPU],
        record_shapes=True,
        schedule=schedule(wait=0, warmup=0, active=len(families), repeat=1),
        on_trace_ready=tensorboard_trace_handler("profiled"),
        experimental_config=_ExperimentalConfig(profiler_level=ProfilerLevel.Level1),
    ) as profiler:
        for family, cases in families.items():
            chosen = [case for case in cases if mode in case.get("modes", [mode])][:: int(every)]
            found[family] = run_family(family, chosen)
            profiler.step()
    Path(out).write_bytes(pickle.dumps(found))


def run_family(family: str, cases: list[dict[str, Any]]) -> dict[str, Any]:
    """Return by call what it gave, or its error as text."""
    # For each family anew: the graph compiler takes `m * 1` for `m`, and a batch norm then changes it in place.
    values = {name: ms.Tensor(array) for name, array in inputs().items()}
    functions = written(family, cases, values)
    found: dict[str, Any] = {}
    for case, (function, names) in zip(cases, functions, strict=True):
        wanted = case.get("grad", [name for name in names if values[name].dtype == ms.float32])
        try:
            found[name_of(case)] = run(function, [values[name] for name in names], [names.index(n) for n in wanted])
        except Exception as error:  # noqa: BLE001 - the test shows it
            found[name_of(case)] = f"{type(error).__name__}: {error}"
    return found


def name_of(case: dict[str, Any]) -> str:
    """Return what a case is called in the results."""
    return f"{case['cell']}: {case['call']}" if "cell" in case else str(case["call"])


def written(family: str, cases: list[dict[str, Any]], values: dict[str, Any]) -> list[tuple[Any, list[str]]]:
    """Return a function or cell of every case, from a file, because GRAPH mode reads the source, and its parameters."""
    parts, parameters = [_HEAD], []
    for number, case in enumerate(cases):
        call = case["call"]
        names = list(dict.fromkeys(name for name in re.findall(r"(?<![\w.'])\w+", call) if name in values))
        function = f"def call_{number}({', '.join(names)}):\n    return {call}\n"
        if "cell" in case:
            function = _CELL.format(number, case["cell"], ", ".join(names), call)
        parts.append(function)
        parameters.append(names)
    Path(f"written_{family}.py").write_text("\n\n".join(parts))
    module = importlib.import_module(f"written_{family}")
    return [(getattr(module, f"call_{number}"), names) for number, names in enumerate(parameters)]


class Net(ms.nn.Cell):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def construct(self, *arguments: Any) -> Any:
        return self.function(*arguments)


class Weighted(ms.nn.Cell):
    """The sum of a result with fixed weights, so that its gradient is not the same everywhere."""

    def __init__(self, function: Any, weights: Any) -> None:
        super().__init__()
        self.function, self.weights = function, weights

    def construct(self, *arguments: Any) -> Any:
        return (self.function(*arguments) * self.weights).sum()


def run(function: Any, arguments: list[Any], positions: list[int]) -> tuple[Any, list[Any]]:
    result = Net(function)(*arguments)
    several = [part.asnumpy() for part in (result if isinstance(result, (tuple, list)) else [result])]
    gradients: list[Any] = []
    if positions:
        weights = np.cos(np.arange(several[0].size)).reshape(several[0].shape).astype(np.float32)
        found = ms.grad(Weighted(function, ms.Tensor(weights)), tuple(positions))(*arguments)
        gradients = [part.asnumpy() for part in (found if isinstance(found, tuple) else [found])]
    return several[0], gradients


if __name__ == "__main__":
    main(*sys.argv[1:])
