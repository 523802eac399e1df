"""
Run by every rank, under ``drynpu run``: batch norms with statistics of all ranks, in both modes.

``shared_statistics.py FOLDER``; writes what each rank gets into a file. The loss of a rank is the sum of what the norm
returns times ``weights``.
"""

from __future__ import annotations

import sys
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import mint, nn
from mindspore.communication import get_rank, init
from mindspore.profiler import ProfilerLevel, _ExperimentalConfig, profile, tensorboard_trace_handler

ms.set_context(mode=ms.PYNATIVE_MODE, device_target="Ascend")
init()
rank = get_rank()
results: dict[str, Any] = {}


def drawn(seed: int, *shape: int) -> Any:
    return ms.Tensor(np.random.default_rng(seed).normal(size=shape).astype(np.float32))


class Loss(nn.Cell):
    """Keeps what the norm returned beside the loss."""

    def __init__(self, norm: Any) -> None:
        super().__init__()
        self.norm = norm

    def construct(self, x: Any, weights: Any) -> Any:
        found = self.norm(x)
        return (found * weights).sum(), found


def keep(name: str, norm: Any, shape: tuple[int, ...]) -> None:
    """Run a step of the norm forward and backward, and keep the results, the gradients and the moving statistics."""
    norm.set_train()
    weight, bias, mean, variance = (
        (norm.gamma, norm.beta, norm.moving_mean, norm.moving_variance)
        if hasattr(norm, "gamma")
        else (norm.weight, norm.bias, norm.running_mean, norm.running_var)
    )
    weight.set_data(drawn(7, 3))
    bias.set_data(drawn(8, 3))
    step = ms.value_and_grad(Loss(norm), 0, [weight, bias], has_aux=True)
    (_, found), (dx, (dweight, dbias)) = step(drawn(rank, *shape), drawn(10 + rank, *shape))
    values = {"y": found, "dx": dx, "dweight": dweight, "dbias": dbias, "mean": mean, "variance": variance}
    results.update({f"{name} {part}": value.asnumpy() for part, value in values.items()})


for mode, number in (("pynative", ms.PYNATIVE_MODE), ("graph", ms.GRAPH_MODE)):
    ms.set_context(mode=number)
    config = _ExperimentalConfig(profiler_level=ProfilerLevel.Level1)
    with profile(on_trace_ready=tensorboard_trace_handler(f"{sys.argv[1]}/{mode}"), experimental_config=config):
        keep(f"{mode} image", nn.SyncBatchNorm(3), (2, 3, 4, 5))
    keep(f"{mode} rows", nn.SyncBatchNorm(3, eps=1e-3, momentum=0.7), (4, 3))
    if mode == "pynative":  # mint's is written for PyNative
        keep("mint", mint.nn.SyncBatchNorm(3), (2 + rank, 3, 4, 5))
np.savez(f"{sys.argv[1]}/rank{rank}.npz", **results)
