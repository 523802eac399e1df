"""Run under ``drynpu run``: gradients of DynamicRNN and DynamicGRUV2; ``run_recurrent.py MODE OUT.pickle``."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path
from typing import Any

import mindspore as ms
from mindspore import ops
from mindspore.profiler import profile, tensorboard_trace_handler

sys.path.insert(0, str(Path(__file__).parent))
from inputs import inputs, numbers

SHARES = numbers((2, 4, 3), 9)
"""Weights of the results in the sum that is differentiated."""


def arguments() -> dict[str, list[Any]]:
    """Return the arguments of each layer by the name of its class and its order of gates, without the lengths."""
    x = inputs()["cube"]
    gru = [x, *(numbers(shape, place) for place, shape in enumerate([(6, 9), (3, 9), (9,), (9,), (4, 3)]))]
    rnn = [x, *(numbers(shape, place) for place, shape in enumerate([(9, 12), (12,), (1, 4, 3), (1, 4, 3)]))]
    return {"DynamicRNN": rnn, "DynamicGRUV2 rzh": gru, "DynamicGRUV2 zrh": gru}


def gradients(name: str, tensors: list[Any]) -> list[Any]:
    """Return the gradient of a weighted sum of all steps and of what the last step leaves, for every argument."""
    kind, *order = name.split()
    layer = getattr(ops, kind)(**({"gate_order": order[0]} if order else {}))
    state, before = (1, 5) if order else (2, 3)

    def total(*parts: Any) -> Any:
        found = layer(*parts[:before], None, *parts[before:])
        return (found[0].float() * ms.Tensor(SHARES)).sum() + found[state][-1].float().sum()

    return [each.asnumpy() for each in ops.grad(total, tuple(range(len(tensors))))(*tensors)]


def main(mode: str, out: str) -> None:
    ms.set_context(mode=getattr(ms, f"{mode}_MODE"), device_target="Ascend")
    found = {}
    with profile(on_trace_ready=tensorboard_trace_handler("profiled")):
        for name, arrays in arguments().items():
            # Of a GRU the biases and the state may be float32; all else has to be float16.
            wide = 3 if "GRU" in name else len(arrays)
            tensors = [
                ms.Tensor(each) if place >= wide else ms.Tensor(each).half() for place, each in enumerate(arrays)
            ]
            found[name] = gradients(name, tensors)
    Path(out).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
